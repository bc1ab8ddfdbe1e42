"""pack: a repro as one Compose file that runs without this tool, and a bug report."""

from typing import Annotated

import typer

from sandbox.cli.common import options
from sandbox.cli.common.packing import pack
from sandbox.cli.registry import About

ABOUT = About(group="results", after="export", needs_engine=False)


def command(
    which: options.ReproByPlace = None,
    repro: options.Repro = None,
    versions: Annotated[
        str | None,
        typer.Option(help="Versions: 10.5,10.11.18 (the newest that has the bug)."),
    ] = None,
    profile: options.ProfileOfRepro = None,
    set_: options.SetOfRepro = None,
    local: Annotated[
        bool, typer.Option("--local", help="Name images of this engine, not published ones.")
    ] = False,
    to: Annotated[
        str | None, typer.Option(help="Folder to write to (results/packs/<repro>-<version>).")
    ] = None,
    json: options.Json = False,
) -> int:
    """Write a repro as one Compose file for anybody with Docker, and a bug report."""
    word = options.either(which, repro, "REPRO")
    return pack(word, versions, profile, set_ or (), to, json, local=local)
