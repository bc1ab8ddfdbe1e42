"""bisect: finds the two neighbouring versions between which a bug came or went."""

import sys
from typing import Annotated

import typer

from sandbox.cli.common import options
from sandbox.cli.common.bisecting import bisect
from sandbox.cli.registry import About

ABOUT = About(group="measure", after="repro", recorded=True)


def command(
    which: options.ReproByPlace = None,
    repro: options.Repro = None,
    good: Annotated[str | None, typer.Option(help="Version that does not have the bug.")] = None,
    bad: Annotated[str | None, typer.Option(help="Version that has it.")] = None,
    profile: options.ProfileOfRepro = None,
    set_: options.SetOfRepro = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Repeats of GOOD and of BAD (5).")
    ] = None,
    json: options.Json = False,
) -> int:
    """Find the two neighbouring versions between which a bug came or went."""
    word = options.either(which, repro, "REPRO")
    return bisect(
        word, good, bad, profile, set_ or (), json, repeat=repeat, command=tuple(sys.argv)
    )
