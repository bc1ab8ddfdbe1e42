"""export: results in the formats of other tools."""

from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.exports import export
from sandbox.cli.common.options import chosen
from sandbox.cli.registry import About

ABOUT = About(group="results", after="query", needs_engine=False)


def command(
    format_: Annotated[
        str | None,
        typer.Option("--format", help="csv, parquet, benchstat or github-action-benchmark."),
    ] = None,
    result: Annotated[str | None, chosen("Result (latest), or all.", completion.result)] = None,
    metric: Annotated[
        str | None, typer.Option(help="Metrics for github-action-benchmark (the first primary).")
    ] = None,
    out: Annotated[str | None, typer.Option(help="File to write (standard output).")] = None,
) -> int:
    """Export results to other tools: csv, parquet, benchstat, github-action-benchmark."""
    return export(format_, result, metric, out)
