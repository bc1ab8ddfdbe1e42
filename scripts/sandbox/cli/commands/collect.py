"""collect: the evidence of a running stack in one archive, for a bug report or a ticket."""

from typing import Annotated

import typer

from sandbox.cli.common.collecting import collect_evidence
from sandbox.cli.common.options import Json, Name
from sandbox.cli.registry import About

ABOUT = About(group="stacks", after="logs")


def command(
    name: Name = None,
    nodes: Annotated[
        str | None, typer.Option(help="Nodes: galera1,galera2 (all of the stack).")
    ] = None,
    stacks: Annotated[
        int, typer.Option(min=0, max=1, help="0: without the stacks of threads.")
    ] = 1,
    core: Annotated[
        bool, typer.Option("--core", help="Cores too: each program stands still for seconds.")
    ] = False,
    out: Annotated[
        str | None, typer.Option(help="Archive to write (results/…-evidence-NAME.tar.zst).")
    ] = None,
    json: Json = False,
) -> None:
    """Collect logs, states, locks and thread stacks of every node into one archive."""
    collect_evidence(name, nodes, with_stacks=bool(stacks), core=core, out=out, as_json=json)
