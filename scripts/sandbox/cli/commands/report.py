"""report: a result as an HTML page, a Markdown summary, JSON data, and its charts as images."""

from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.options import Json, chosen, either, place
from sandbox.cli.common.reports import show_report
from sandbox.cli.common.results import find_result
from sandbox.cli.registry import About
from sandbox.core.paths import RESULTS

ABOUT = About(group="results", needs_engine=False)


def command(
    which: Annotated[
        str | None, place("RESULT", "Result: its folder or name (latest).", completion.result)
    ] = None,
    result: Annotated[
        str | None, chosen("Result: its folder or name (latest).", completion.result)
    ] = None,
    charts: Annotated[
        bool, typer.Option("--charts", help="Write charts/*.svg and *.png too.")
    ] = False,
    json: Json = False,
) -> None:
    """Write report.html and summary.md of a result."""
    found = find_result(either(which, result, "RESULT"), RESULTS, "report")
    show_report(found, charts, json)
