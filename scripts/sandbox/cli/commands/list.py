"""list: the available workloads, matrices, repros, settings, faults, actions, drivers, image
versions and results.
"""

from typing import Annotated

import typer

from sandbox.cli.common.lists import LISTS, show_list
from sandbox.cli.common.options import Json, either, place
from sandbox.cli.registry import About

ABOUT = About(group="look first", after="profiles", needs_engine=False)


def command(
    which: Annotated[
        str | None,
        place(
            "WHAT",
            "workloads, matrices, repros, settings, faults, actions, drivers, versions, results.",
            lambda incomplete: [each for each in LISTS if each.startswith(incomplete)],
        ),
    ] = None,
    what: Annotated[
        str | None,
        typer.Option(
            help="Workloads, matrices, repros, settings, faults, actions, drivers, versions or"
            " results."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List workloads, matrices, repros, settings, faults, drivers, versions, results."""
    show_list(either(which, what, "WHAT"), json)
