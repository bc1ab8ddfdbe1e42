"""Load that runs in the client node: shipped there as source, so it imports nothing of ours outside its own folder."""
