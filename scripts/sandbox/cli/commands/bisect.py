"""bisect: finds between which versions, by which settings or with which commit a bug came."""

import sys
from typing import Annotated

import typer

from sandbox.cli.common import options
from sandbox.cli.common.bisecting import BisectRequest, bisect
from sandbox.cli.registry import About

ABOUT = About(group="measure", after="repro", recorded=True)


def command(
    which: options.ReproByPlace = None,
    repro: options.Repro = None,
    good: Annotated[
        str | None,
        typer.Option(help="Version without the bug; variables or a my.cnf; a commit."),
    ] = None,
    bad: Annotated[str | None, typer.Option(help="The same with the bug.")] = None,
    over: Annotated[str, typer.Option(help="versions, settings or commits.")] = "versions",
    profile: options.ProfileOfRepro = None,
    set_: options.SetOfRepro = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Repeats of GOOD and of BAD (5).")
    ] = None,
    repo: Annotated[
        str | None, typer.Option(help="Source tree under git, for OVER=commits.")
    ] = None,
    build: Annotated[str | None, typer.Option(help="Shell command that builds the tree.")] = None,
    binary: Annotated[
        str | None, typer.Option(help="Path in the tree of the server that was built.")
    ] = None,
    new: options.NewRepro = False,
    json: options.Json = False,
) -> int:
    """Find the version, setting or commit that makes a bug come or go."""
    request = BisectRequest(
        options.either(which, repro, "REPRO"), good, bad, over, profile, set_ or (), repeat,
        tuple(sys.argv), new, repo, build, binary,
    )  # fmt: skip
    return bisect(request, json)
