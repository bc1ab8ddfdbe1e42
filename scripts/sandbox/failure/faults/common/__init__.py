"""Means that faults share: the firewall, traffic control, the node's processes, its own disk."""
