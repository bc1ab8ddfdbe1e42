"""clean: every stack and snapshot of this checkout, or of every checkout, is gone."""

from typing import Annotated

import typer

from sandbox.commands.common.viewing import removed_text
from sandbox.console import Progress
from sandbox.library import CHECKOUT
from sandbox.stack import remove
from sandbox.stack.engine import Docker
from sandbox.stack.snapshots import shelf

HELP = ("a stack", 11)


def command(all_: Annotated[bool, typer.Option("--all", help="Of every checkout on this engine.")] = False) -> None:
    """Remove every stack and snapshot of this checkout."""
    docker = Docker()
    with Progress("clean") as progress:
        for removed in remove.clean(all_, progress, docker):
            progress.line(removed_text(removed))
        gone, others = shelf.forget_all(docker, None if all_ else str(CHECKOUT))
        if gone:
            progress.line(f"removed {gone} snapshot{'s' if gone > 1 else ''}")
        if others:
            progress.line(f"snapshots of other checkouts stay: {others} (make clean ALL=1 removes them too)")
