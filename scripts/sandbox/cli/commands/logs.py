"""logs: prints the logs of the nodes, or saves them as files."""

from pathlib import Path
from typing import Annotated

import typer

from sandbox.cli.common.options import Name, Node
from sandbox.cli.console import ProgressDisplay
from sandbox.cli.registry import About
from sandbox.core.errors import SandboxError, counted
from sandbox.stack.engine import Docker
from sandbox.stack.logs import print_logs, save_logs
from sandbox.stack.stack import find_stack

ABOUT = About(group="stacks", after="exec")


def command(
    name: Name = None,
    node: Node = None,
    tail: Annotated[
        int | None, typer.Option(min=0, help="Only the last lines of each node.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Follow until Ctrl-C.")] = False,
    save: Annotated[str | None, typer.Option(help="Folder to save every log in, whole.")] = None,
) -> int:
    """Print the log of a node, or of all nodes; or save them as files."""
    if save and (follow or tail is not None):
        what = f"SAVE={save} does not go with {'FOLLOW=1' if follow else f'TAIL={tail}'}"
        raise SandboxError(
            what, "whole logs are saved, as they are now", f"try: make logs SAVE={save}"
        )
    with ProgressDisplay("logs") as progress:
        stack = find_stack(name, progress, Docker())
        if not save:
            return print_logs(stack, node, follow, tail=tail)
        chosen = [stack.container(node)] if node else stack.members
        saved = save_logs(stack.docker, chosen, stack.client.image, Path(save))
        progress.line(f"saved {counted(len(saved), 'file')} in {save}")
        return 0
