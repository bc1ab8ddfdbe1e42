"""bench: one measurement of a running stack, shown second by second and saved as a record."""

from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.measuring import BenchLine, bench_request
from sandbox.cli.common.options import Json, Name, Via, chosen
from sandbox.cli.common.running import quiet_stack
from sandbox.cli.common.showing import show_run
from sandbox.cli.console import ProgressDisplay
from sandbox.cli.registry import About
from sandbox.core.paths import RESULTS
from sandbox.load.common.workload import Progress
from sandbox.measure.bench import EXIT_CODES, bench
from sandbox.measure.run import BenchRequest
from sandbox.report.bench import bench_document
from sandbox.report.charts.layout import RunData
from sandbox.stack.snapshots.background import measuring

ABOUT = About(group="measure", recorded=True)


def run(name: str | None, request: BenchRequest, as_json: bool) -> int:
    """Measures a stack, prints the table or the record, and returns the exit code."""
    with BenchLine("bench") as line, measuring(lambda text: line(Progress("snapshot", text))):
        with ProgressDisplay("bench") as progress:
            stack = quiet_stack(name, progress)  # once its snapshot is taken, which a change would make void
        record, result = bench(stack, request, RESULTS, line)
    show_run(as_json, record, result.path, bench_document(RunData(record)))
    return int(EXIT_CODES[record.status])


def command(
    name: Name = None,
    workload: Annotated[
        str, chosen("Workload, such as tpcc, or a path: .lua, .sql.", completion.workload)
    ] = "oltp_read_write",
    options: Annotated[list[str] | None, typer.Option(help="Workload options: 'warehouses=2 items=1000'.")] = None,
    threads: Annotated[int | None, typer.Option(help="Client threads (8).")] = None,
    seconds: Annotated[int | None, typer.Option(help="Measured seconds (30).")] = None,
    warmup: Annotated[int | None, typer.Option(help="Seconds of warm-up, discarded (5).")] = None,
    tables: Annotated[int | None, typer.Option(help="Tables (4).")] = None,
    rows: Annotated[int | None, typer.Option(help="Rows per table (100000).")] = None,
    dist: Annotated[str | None, typer.Option(help="Key distribution (uniform).")] = None,
    rate: Annotated[int | None, typer.Option(help="Transactions per second (unlimited).")] = None,
    via: Via = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the load (random).")] = None,
    schema: Annotated[str | None, typer.Option(help="Schema on an external server (that of EXTERNAL).")] = None,
    json: Json = False,
) -> int:
    """Measure a stack once and save a record in results/."""
    given = {
        "threads": threads, "seconds": seconds, "warmup_s": warmup,
        "tables": tables, "rows_per_table": rows, "distribution": dist, "rate_per_s": rate,
    }  # fmt: skip
    return run(name, bench_request(workload, options or (), given, via=via, seed=seed, schema=schema), json)
