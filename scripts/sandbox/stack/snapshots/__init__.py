"""Snapshots: the data directories of a formed stack, kept as a volume of their own and restored into a new one."""
