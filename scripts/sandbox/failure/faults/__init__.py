"""Faults of a node, one file each: `inject` and `heal`; its name is its file's."""
