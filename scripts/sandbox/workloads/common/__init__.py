"""What workloads share: their shape, their registry, SQL and load run from the client node."""
