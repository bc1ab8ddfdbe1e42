"""bench: one measurement of a running stack, told second by second, left as a record."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox import console
from sandbox.library import CHECKOUT
from sandbox.results.record import Record
from sandbox.run.bench import EXIT_CODES, bench
from sandbox.run.state import BenchRequest
from sandbox.stack.engine import Docker
from sandbox.stack.find import find_stack
from sandbox.stack.keeping import measuring
from sandbox.workloads.common.model import Event, Progress, Second, make_parameters, refuse_unused
from sandbox.workloads.common.resolve import parse_options, resolve_workload

RESULTS = CHECKOUT / "results"


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
    """Of an external server, instead of that of its address."""


def run_bench(name: str | None, options: BenchOptions) -> int:
    """Measures, prints the table or the record, and returns the exit code.

    Raises SandboxError (exit 2) for a workload or parameter that there is none of.
    """
    with console.Progress("bench") as progress:
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
    folder = f"{path.relative_to(CHECKOUT)}/runs/{record.cell}.{record.block}"
    if as_json:
        print(record.model_dump_json(indent=2))
        return
    from rich.console import Console

    from sandbox.report.bench_table import bench_table, bench_text

    if sys.stdout.isatty():
        Console(highlight=False).print(bench_table(record, folder))
    else:
        print(bench_text(record, folder), end="")


class LiveLine:
    """Tells events on standard error: in a terminal the seconds overwrite one line, elsewhere each has its own."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._open = False

    def __call__(self, event: Event) -> None:
        """Shows one event."""
        if isinstance(event, Progress):
            self._close()
            text = event.step if event.text == "begins" else f"{event.step}: {event.text}"
            print(f"bench  {text}", file=sys.stderr, flush=True)
            return
        text = second_text(event)
        if self._terminal:
            print(f"\r{fitted(text)}", end="", file=sys.stderr, flush=True)
            self._open = True
        else:
            print(text, file=sys.stderr, flush=True)

    def _close(self) -> None:
        if self._open:
            print(file=sys.stderr)
            self._open = False


def fitted(text: str) -> str:
    """A line that moves, as wide as the terminal less the last column, where some begin a new line."""
    width = shutil.get_terminal_size((99, 24)).columns - 1
    return f"{text[:width]:<{width}}"


def second_text(event: Second) -> str:
    """One second of load in one line."""
    p95 = "-" if event.p95_ms is None else f"{event.p95_ms:.1f}"
    return (
        f"{event.phase:>8} {event.second:4d} s  threads {event.threads}  tps {event.tps:,.0f}  qps {event.qps:,.0f}  "
        f"p95 {p95} ms  conflicts/s {event.conflicts_per_s:.1f}  errors {event.errors}"
    )
