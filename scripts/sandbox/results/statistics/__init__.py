"""When a difference is believed: the rules of docs/statistics.md, as functions over plain numbers."""
