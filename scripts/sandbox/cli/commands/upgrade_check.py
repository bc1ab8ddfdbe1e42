"""upgrade-check: a log's statements on two versions side by side, and what differs."""

import sys
from typing import Annotated

import typer

from sandbox.cli.common import options
from sandbox.cli.common.upgrading import check_upgrade, question_of
from sandbox.cli.registry import About

ABOUT = About(group="measure", after="shrink", recorded=True)


def command(
    log: Annotated[
        str | None, typer.Option(help="Slow log, general log or SQL file; also .gz.")
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", help="The server that is there: mariadb@10.11.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(help="The server that is to come: mariadb@11.8.")
    ] = None,
    dump: Annotated[
        str | None, typer.Option(help="The data that the log works on: .sql, .sql.gz.")
    ] = None,
    cnf: Annotated[
        str | None, typer.Option(help="The server's my.cnf: which of its lines are refused.")
    ] = None,
    json: options.Json = False,
) -> int:
    """Run a log on two versions side by side; say what differs."""
    question = question_of(log, from_, to, dump, cnf)
    return check_upgrade(question, json, command=tuple(sys.argv))
