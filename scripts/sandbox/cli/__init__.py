"""The command line: one file a command in `commands/`, what they share in `common/`."""
