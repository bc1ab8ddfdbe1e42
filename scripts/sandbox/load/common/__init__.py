"""Shared by workloads: their interface, their registry, SQL and load run from the client node."""
