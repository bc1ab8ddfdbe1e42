"""What each command does: reads files, asks the engine, calls the layers; `cli.py` only declares them."""
