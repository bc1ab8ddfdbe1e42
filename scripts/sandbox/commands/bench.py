"""bench: one measurement of a running stack, shown second by second and saved as a record."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sandbox import console
from sandbox.commands.common import completion
from sandbox.commands.common.live_line import LiveLine
from sandbox.commands.common.options import Json, Name, Via
from sandbox.places import RESULTS
from sandbox.results.record import Record
from sandbox.run.bench import EXIT_CODES, bench
from sandbox.run.state import BenchRequest
from sandbox.stack.engine import Docker
from sandbox.stack.snapshots.background import measuring
from sandbox.stack.stack import find_stack
from sandbox.workloads.common.model import Progress, make_parameters, refuse_unused
from sandbox.workloads.common.resolve import parse_options, resolve_workload

HELP = ("figures", 1)


@dataclass(frozen=True)
class BenchOptions:
    """The options of `bench` as typed; None: the default."""

    workload: str
    options: Sequence[str]
    given: Mapping[str, object]
    via: str | None
    seed: int | None
    as_json: bool
    schema: str | None = None
    """On an external server, instead of the schema in its address."""


def run(name: str | None, options: BenchOptions) -> int:
    """Measures, prints the table or the record, and returns the exit code.

    Raises SandboxError (exit 2) for an unknown workload or parameter.
    """
    with console.ProgressDisplay("bench") as progress:
        stack = find_stack(name, progress, Docker())
    given = {name: value for name, value in options.given.items() if value is not None}
    parameters = make_parameters(**given)
    workload = resolve_workload(options.workload, parse_options(options.options))
    refuse_unused(workload.workload, given, workload.name)
    request = BenchRequest(workload, parameters, options.via, options.seed, tuple(sys.argv), schema=options.schema)
    line = LiveLine()
    with measuring(lambda text: line(Progress("snapshot", text))):
        record, result = bench(stack, request, RESULTS, line)
    _print(record, result.path, options.as_json)
    return int(EXIT_CODES[record.status])


def _print(record: Record, path: Path, as_json: bool) -> None:
    folder = f"{path.relative_to(RESULTS.parent)}/runs/{record.cell}.{record.block}"
    if as_json:
        print(record.model_dump_json(indent=2))
        return
    from rich.console import Console

    from sandbox.report.bench_table import bench_table, bench_text

    if sys.stdout.isatty():
        Console(highlight=False).print(bench_table(record, folder))
    else:
        print(bench_text(record, folder), end="")


def command(
    name: Name = None,
    workload: Annotated[
        str, typer.Option(help="Workload, such as tpcc, or a path: .lua, .sql.", autocompletion=completion.workload)
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
        "threads": threads,
        "seconds": seconds,
        "warmup_s": warmup,
        "tables": tables,
        "rows_per_table": rows,
        "distribution": dist,
        "rate_per_s": rate,
    }
    return run(name, BenchOptions(workload, options or [], given, via, seed, json, schema))
