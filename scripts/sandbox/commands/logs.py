"""logs: prints the logs of the nodes."""

from typing import Annotated

import typer

from sandbox.commands.common.options import Name, Node
from sandbox.console import ProgressDisplay
from sandbox.stack.access import logs as print_logs
from sandbox.stack.engine import Docker
from sandbox.stack.stack import find_stack

HELP = ("a stack", 6)


def command(
    name: Name = None,
    node: Node = None,
    tail: Annotated[int | None, typer.Option(min=0, help="Only the last lines of each node.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Follow until Ctrl-C.")] = False,
) -> int:
    """Print the log of a node, or of all nodes."""
    with ProgressDisplay("logs") as progress:
        return print_logs(find_stack(name, progress, Docker()), node, follow, tail=tail)
