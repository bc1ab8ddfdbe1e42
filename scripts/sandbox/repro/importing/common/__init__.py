"""What the readers share."""
