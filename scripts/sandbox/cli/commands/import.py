"""import: a draft of a repro from what somebody sent: a test, a dump, configuration, a report."""
# ruff: noqa: N999  (named after the command)

from typing import Annotated

import typer

from sandbox.cli.common import options
from sandbox.cli.common.importing import import_
from sandbox.cli.registry import About

ABOUT = About(group="look first", after="help", needs_engine=False)


def command(
    source: Annotated[str | None, options.place("FROM", "File or folder, or - for stdin.")] = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="A .test file, a folder, compose.yaml, my.cnf, SHOW VARIABLES, pt-summary or"
            " report; - for standard input.",
        ),
    ] = None,
    out: Annotated[str | None, typer.Option(help="File of the draft (<name>.yaml).")] = None,
    json: options.Json = False,
) -> int:
    """Write a draft of a repro from a test, a dump, a configuration or a report."""
    return import_(options.either(source, from_, "FROM"), out, json)
