"""matrix: runs every combination of a matrix file in randomized blocks, and reports which
differences are real.
"""

from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.matrices import run_and_judge, show_plan
from sandbox.cli.common.options import Json, chosen, either, place
from sandbox.cli.registry import About
from sandbox.matrix.file import adjusted, matrix_path, read_matrix
from sandbox.matrix.levels import with_levels, with_scale
from sandbox.matrix.resolve import resolve_file
from sandbox.matrix.resolved import ResolvedMatrix

ABOUT = About(group="measure", after="trial", recorded=True)


def command(
    which: Annotated[
        str | None, place("MATRIX", "Matrix, such as quick, or a path.", completion.matrix)
    ] = None,
    matrix: Annotated[
        str | None, chosen("Matrix, such as quick, or a path.", completion.matrix)
    ] = None,
    seconds: Annotated[int | None, typer.Option(help="Measured seconds per run.")] = None,
    warmup: Annotated[
        int | None, typer.Option(help="Seconds of warm-up before each run, discarded.")
    ] = None,
    blocks: Annotated[
        int | None, typer.Option(help="Blocks (as many as a single difference needs).")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="Trials of each cell with a fault: the same as BLOCKS.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="Levels to run: 'threads=1,64 rewriter=on'.")
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(help="Levels instead of the file's, or += more: 'threads=1..256'."),
    ] = None,
    scale: Annotated[
        str | None, typer.Option(help="Rows, threads and length for a larger machine: server.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=1, help="Seed of order and load (random).")
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show cells, time and power; run nothing.")
    ] = False,
    new: Annotated[
        bool, typer.Option("--new", help="Start from scratch instead of resuming.")
    ] = False,
    json: Json = False,
) -> int:
    """Run a matrix of factors and report which differences are real."""
    path = matrix_path(either(which, matrix, "MATRIX"))
    numbers = {"seconds": seconds, "warmup": warmup, "blocks": blocks, "trials": trials}
    file = read_matrix(path)

    def at(scale: str | None) -> ResolvedMatrix:
        asked = adjusted(with_levels(with_scale(file, scale), levels), numbers)
        return resolve_file(asked, path, only, seed=seed, afresh=new)

    resolved = at(scale)
    if plan:
        return show_plan(resolved, json, at)
    return run_and_judge(resolved, json)
