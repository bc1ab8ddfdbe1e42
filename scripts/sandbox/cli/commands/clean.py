"""clean: removes every stack and snapshot of this checkout, or of every checkout."""

import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from sandbox.cli.common.options import KeepLogs
from sandbox.cli.common.viewing import removed_text
from sandbox.cli.console import ProgressDisplay
from sandbox.cli.registry import About
from sandbox.core.errors import counted
from sandbox.core.paths import CHECKOUT, RESULTS
from sandbox.stack import lifecycle
from sandbox.stack.engine import Docker
from sandbox.stack.naming import stack_name
from sandbox.stack.snapshots import store

ABOUT = About(group="stacks", after="down")


def command(
    all_: Annotated[
        bool, typer.Option("--all", help="Include every checkout on this engine.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    keep_logs: KeepLogs = False,
) -> None:
    """Remove every stack and snapshot of this checkout; asks first on a terminal."""
    docker = Docker()
    projects = lifecycle.of_checkout(all_, docker)
    if (
        sys.stdin.isatty()
        and not yes
        and not _agreed(projects, store.count(docker, None if all_ else str(CHECKOUT)))
    ):
        return
    with ProgressDisplay("clean") as progress:
        for removed in lifecycle.clean(projects, progress, docker, RESULTS if keep_logs else None):
            progress.line(removed_text(removed))
        gone, others = store.forget_all(docker, None if all_ else str(CHECKOUT))
        if gone:
            progress.line(f"removed {counted(gone, 'snapshot')}")
        if others:
            progress.line(
                f"snapshots of other checkouts are kept: {others} (make clean ALL=1 removes them"
                " too)"
            )


def _agreed(projects: Mapping[str, str], snapshots: int) -> bool:
    """Lists what would be removed, and asks for confirmation."""
    if not (projects or snapshots):
        print("nothing to remove")
        return False
    for project, checkout in projects.items():
        print(f"stack '{stack_name(project, checkout)}' of {checkout}")
    print(counted(snapshots, "snapshot"))
    return typer.confirm("remove all of it?")
