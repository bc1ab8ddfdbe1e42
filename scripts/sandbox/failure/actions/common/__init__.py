"""What actions share: their interface and registry, and the statements of asynchronous replication."""
