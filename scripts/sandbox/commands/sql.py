"""sql: a SQL client on a node or the entry point."""

from sandbox.commands.common.options import Name, Node, Via
from sandbox.commands.common.viewing import quiet_stack
from sandbox.console import Progress
from sandbox.stack import access

HELP = ("a stack", 3)


def command(name: Name = None, node: Node = None, via: Via = None) -> int:
    """Open a SQL client on a node or the entry point; reads statements from a pipe."""
    with Progress("sql") as progress:
        return access.sql(quiet_stack(name, progress), node or via, progress)
