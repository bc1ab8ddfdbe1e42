"""When a difference is believed: the rules of statistics.md, as functions over plain numbers."""
