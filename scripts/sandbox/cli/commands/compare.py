"""compare: two results of different times, commits or machines, unpaired; reports that, and what
else differs.
"""

from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.options import Json, either, place
from sandbox.cli.common.over_time import compare
from sandbox.cli.registry import About

ABOUT = About(group="results", after="report", needs_engine=False)


def command(
    was: Annotated[str | None, place("A", "The earlier result.", completion.result)] = None,
    now: Annotated[str | None, place("B", "The later result.", completion.result)] = None,
    a: Annotated[
        str | None,
        typer.Option("--a", help="Result: a name in results/, a part of one, latest, a path."),
    ] = None,
    b: Annotated[str | None, typer.Option("--b", help="Result to compare with A.")] = None,
    gate: Annotated[
        bool, typer.Option("--gate", help="Exit with 1 if worse, 3 if it cannot be judged.")
    ] = False,
    json: Json = False,
) -> int:
    """Compare two results of different times, commits or machines, unpaired."""
    return compare(either(was, a, "A"), either(now, b, "B"), gate, json)
