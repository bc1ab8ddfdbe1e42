"""Means that actions share: taking turns, failed joins, statements of asynchronous replication."""
