"""shrink: leaves out of a repro what its bug does not need, as long as it shows."""

import sys
from typing import Annotated

import typer

from sandbox.cli.common import options
from sandbox.cli.common.shrinking import shrink
from sandbox.cli.registry import About

ABOUT = About(group="measure", after="bisect", recorded=True)


def command(
    which: options.ReproByPlace = None,
    repro: options.Repro = None,
    profile: options.ProfileOfRepro = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Repeats of the whole repro at first (5).")
    ] = None,
    new: options.NewRepro = False,
    json: options.Json = False,
) -> int:
    """Leave out of a repro what its bug does not need."""
    word = options.either(which, repro, "REPRO")
    return shrink(word, profile, json, repeat=repeat, command=tuple(sys.argv), afresh=new)
