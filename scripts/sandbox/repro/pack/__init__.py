"""A repro as one Compose file that runs without this tool."""
