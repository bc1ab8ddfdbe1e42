"""What a run leaves: the record, and the store that keeps it."""
