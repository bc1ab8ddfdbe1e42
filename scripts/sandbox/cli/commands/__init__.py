"""The commands: each reads files, asks the engine and calls the layers; `cli.py` only dispatches to
them.
"""
