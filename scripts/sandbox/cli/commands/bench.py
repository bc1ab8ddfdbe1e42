"""bench: one measurement of a running stack, shown second by second and saved as a record."""

import sys
from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.measuring import load_asked, measured, show_run
from sandbox.cli.common.options import Json, Name, Via, chosen
from sandbox.cli.registry import About
from sandbox.measure.bench import BenchRequest, bench
from sandbox.measure.execute import EXIT_CODES
from sandbox.report.bench import bench_document
from sandbox.report.charts.layout import RunData

ABOUT = About(group="measure", recorded=True)


def command(
    name: Name = None,
    workload: Annotated[
        str, chosen("Workload, such as tpcc, or a path: .lua, .sql.", completion.workload)
    ] = "oltp_read_write",
    options: Annotated[
        list[str] | None, typer.Option(help="Workload options: 'warehouses=2 items=1000'.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Client threads (8).")] = None,
    seconds: Annotated[int | None, typer.Option(help="Measured seconds (30).")] = None,
    warmup: Annotated[int | None, typer.Option(help="Seconds of warm-up, discarded (5).")] = None,
    tables: Annotated[int | None, typer.Option(help="Tables (4).")] = None,
    rows: Annotated[int | None, typer.Option(help="Rows per table (100000).")] = None,
    dist: Annotated[str | None, typer.Option(help="Key distribution (uniform).")] = None,
    rate: Annotated[int | None, typer.Option(help="Transactions per second (unlimited).")] = None,
    via: Via = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the load (random).")] = None,
    schema: Annotated[
        str | None, typer.Option(help="Schema on an external server (that of EXTERNAL).")
    ] = None,
    json: Json = False,
) -> int:
    """Measure a stack once and save a record in results/."""
    given = {
        "threads": threads, "seconds": seconds, "warmup_s": warmup,
        "tables": tables, "rows_per_table": rows, "distribution": dist, "rate_per_s": rate,
    }  # fmt: skip
    load, parameters = load_asked(workload, options or (), given)
    request = BenchRequest(load, parameters, via, seed, tuple(sys.argv), schema=schema)
    record, result = measured("bench", name, bench, request)
    show_run(json, record, result.path, bench_document(RunData(record)))
    return int(EXIT_CODES[record.status])
