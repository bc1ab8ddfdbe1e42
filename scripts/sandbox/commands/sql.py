"""sql: a SQL client on a node or the entry point, or statements on every server."""

from typing import Annotated

import typer

from sandbox.commands.common.options import Name, Node, Via
from sandbox.commands.common.viewing import quiet_stack
from sandbox.console import ProgressDisplay
from sandbox.errors import SandboxError
from sandbox.stack import access

HELP = ("a stack", 3)


def command(
    name: Name = None,
    node: Node = None,
    via: Via = None,
    execute: Annotated[str | None, typer.Option("--execute", "-e", help="Statements to run, not a client.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Run on every server, one after the other.")] = False,
) -> int:
    """Open a SQL client on a node or the entry point; reads statements from a pipe."""
    if all_ and not execute:
        raise SandboxError("--all needs statements", "they run on every server", "try: sandbox sql --all -e 'select 1'")
    with ProgressDisplay("sql") as progress:
        stack = quiet_stack(name, progress)
        if all_ and execute:
            return access.sql_on_all(stack, execute)
        return access.sql(stack, node or via, progress, execute)
