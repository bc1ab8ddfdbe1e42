"""exec: runs a command in a node."""

import shlex
from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.options import Name, Node, either, place
from sandbox.cli.common.running import quiet_stack
from sandbox.cli.console import ProgressDisplay
from sandbox.cli.registry import About
from sandbox.core.errors import SandboxError
from sandbox.stack.stack import execute

ABOUT = About(group="stacks", after="shell")

_EXAMPLE = "try: sandbox exec mysql1 -- ls /var/lib/mysql"


def command(
    where: Annotated[str | None, place("NODE", "Node, such as galera1.", completion.node)] = None,
    words: Annotated[list[str] | None, place("-- COMMAND", "The command.")] = None,
    name: Name = None,
    node: Node = None,
    run: Annotated[
        str | None, typer.Option(help="The command as one string, split as a shell would.")
    ] = None,
) -> int:
    """Run a command in a node."""
    node, argv = either(where, node, "NODE"), [*(words or ()), *_split(run or "")]
    if not node or not argv:
        what = f"no {'command' if node else 'NODE'} was given"
        raise SandboxError(what, "exec takes a node and a command", _EXAMPLE)
    with ProgressDisplay("exec") as progress:
        return execute(quiet_stack(name, progress), node, argv)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as problem:
        raise SandboxError(f"RUN={text} cannot be read", str(problem), _EXAMPLE) from problem
