"""The command line, as ``python -m sandbox.cli``."""

from sandbox.cli.main import main

main()
