"""repro: carries out what a bug report describes, in one version or many, and says what came."""

import sys
from typing import Annotated

import typer

from sandbox.cli.common import options
from sandbox.cli.common.repros import carry_out, show_plan
from sandbox.cli.registry import About

ABOUT = About(group="measure", after="calibrate", recorded=True)


def command(
    which: options.ReproByPlace = None,
    repro: options.Repro = None,
    versions: Annotated[
        str | None, typer.Option(help="Versions: 10.5,10.11.18 (all that are available here).")
    ] = None,
    profile: options.ProfileOfRepro = None,
    set_: options.SetOfRepro = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Repeats in each version (the file's).")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Restore the stack for each repeat.")
    ] = False,
    seed: Annotated[int | None, typer.Option(min=1, help="Seed of what is drawn (random).")] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show steps and versions; run nothing.")
    ] = False,
    new: options.NewRepro = False,
    json: options.Json = False,
) -> int:
    """Carry out a bug report's steps in some versions; say where the bug is."""
    word = options.either(which, repro, "REPRO")
    if plan:
        return show_plan(word, versions, profile, set_ or (), json)
    return carry_out(
        word, versions, profile, set_ or (), json,
        repeat=repeat, fresh=fresh, seed=seed, command=tuple(sys.argv), afresh=new,
    )  # fmt: skip
