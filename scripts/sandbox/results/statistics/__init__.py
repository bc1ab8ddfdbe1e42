"""When to believe a difference: the rules of docs/statistics.md, as functions over plain numbers."""
