"""query: read-only SQL over all results of this checkout."""

from typing import Annotated

import typer

from sandbox.cli.common.options import Json
from sandbox.cli.common.queries import query
from sandbox.cli.registry import About

ABOUT = About(group="results", after="history", needs_engine=False)


def command(
    statement: Annotated[
        str | None,
        typer.Argument(help="SQL, such as: select cell, avg(tps) from runs group by cell"),
    ] = None,
    sql: Annotated[str | None, typer.Option(help="The statement as an option.")] = None,
    json: Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> int:
    """Query all results in SQL (DuckDB); without a statement, list the views."""
    return query(sql or statement, json, csv)
