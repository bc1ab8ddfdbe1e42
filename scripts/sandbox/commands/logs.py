"""logs: what the nodes have logged."""

from typing import Annotated

import typer

from sandbox.commands.common.options import Name, Node
from sandbox.console import ProgressDisplay
from sandbox.stack.engine import Docker
from sandbox.stack.find import find_stack
from sandbox.stack.logs import logs as print_logs

HELP = ("a stack", 6)


def command(
    name: Name = None,
    node: Node = None,
    tail: Annotated[int | None, typer.Option(min=0, help="The last lines of each node only.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Until Ctrl-C.")] = False,
) -> int:
    """Print the log of a node, or of all."""
    with ProgressDisplay("logs") as progress:
        return print_logs(find_stack(name, progress, Docker()), node, follow, tail=tail)
