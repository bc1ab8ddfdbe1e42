"""history: all results of one matrix, bench or trial over time, and where they changed for good."""

from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.options import Json, chosen
from sandbox.cli.common.over_time import history
from sandbox.cli.registry import About

ABOUT = About(group="results", after="compare", needs_engine=False)


def command(
    matrix: Annotated[
        str | None, chosen("Results of this matrix (that of the newest result).", completion.matrix)
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Benches of this profile.")] = None,
    workload: Annotated[
        str | None, chosen("Benches with this workload.", completion.workload)
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Metrics, such as tps,latency_p99_ms (the primary ones).")
    ] = None,
    only: Annotated[str | None, typer.Option(help="Levels to show: 'threads=1,64'.")] = None,
    json: Json = False,
) -> int:
    """Show one matrix or bench over time, and where it changed for good."""
    return history(matrix, profile, workload, metric, only, json)
