"""Snapshots: the data directories of a formed stack, kept in a separate volume and restored into a
new stack.
"""
