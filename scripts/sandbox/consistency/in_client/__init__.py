"""Programs that run in the client node, shipped as text."""
