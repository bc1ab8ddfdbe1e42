"""export: results in the formats of other tools."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sandbox.commands.common import completion
from sandbox.commands.common.find_result import find_result, metrics_in, read_manifest, side_of
from sandbox.commands.query import print_broken
from sandbox.errors import ExitCode, SandboxError, did_you_mean
from sandbox.places import RESULTS
from sandbox.report.exports import benchstat_lines, entries, tool_of
from sandbox.report.query_table import query_csv
from sandbox.results.history import history_of
from sandbox.results.index import OpenIndex, open_index, open_one
from sandbox.results.statistics.metrics import METRICS
from sandbox.results.store import ResultFolder, all_results, write_atomically
from sandbox.run.machine import read_calibration

HELP = ("results", 5)

ALL = "all"
_RUNS = "SELECT * FROM runs ORDER BY started_utc, result, run_id"


@dataclass(frozen=True)
class ExportOptions:
    """The options of `export` as typed."""

    format: str | None
    result: str | None = None
    metric: str | None = None
    out: str | None = None


def run(options: ExportOptions, results: Path = RESULTS) -> int:
    """Writes to standard output, or to OUT; returns the exit code. Raises SandboxError (exit 2) for invalid options."""
    formats: dict[str, Callable[[ExportOptions, Path], None]] = {
        "csv": _csv, "parquet": _parquet, "benchstat": _benchstat, "github-action-benchmark": _github,
    }  # fmt: skip
    if options.format not in formats:
        what = f"there is no format '{options.format}'" if options.format else "export needs FORMAT="
        known = did_you_mean(options.format or "", formats)
        raise SandboxError(what, known, "try: make export FORMAT=csv OUT=results.csv")
    if options.metric and options.format != "github-action-benchmark":
        known = f"{options.format} has every metric; METRIC is for github-action-benchmark"
        raise SandboxError("METRIC is not valid for this format", known, f"try: make export FORMAT={options.format}")
    formats[options.format](options, results)
    return int(ExitCode.OK)


def _csv(options: ExportOptions, results: Path) -> None:
    """The view ``runs``: one row per run; lists and maps as JSON."""
    index = _index(options, results)
    with index.connection as connection:
        cursor = connection.execute(_RUNS)
        _write(query_csv([each[0] for each in cursor.description or ()], cursor.fetchall()), options)


def _parquet(options: ExportOptions, results: Path) -> None:
    """The view ``runs`` with its column types."""
    if not options.out:
        step = "try: make export FORMAT=parquet OUT=results.parquet"
        raise SandboxError("parquet needs OUT=", "it is binary, not text for a terminal or a pipe", step)
    index = _index(options, results)
    with index.connection:
        try:
            index.write_parquet(_RUNS, Path(options.out))
        except OSError as problem:
            raise _unwritable(options.out, problem) from None
    _print_written(options.out)


def _index(options: ExportOptions, results: Path) -> OpenIndex:
    index = open_index(results) if options.result == ALL else open_one(_found(options, results).path)
    print_broken(index.broken)
    return index


def _benchstat(options: ExportOptions, results: Path) -> None:
    folders = all_results(results) if options.result == ALL else [_found(options, results)]
    sides = [side_of(folder, read_manifest(folder)) for folder in folders]
    if not any(record.counts for side in sides for record in side.records):
        raise _empty(folders)
    _write("\n".join(benchstat_lines(sides)) + "\n", options)


def _github(options: ExportOptions, results: Path) -> None:
    if options.result == ALL:
        known = "the action keeps the history itself, one commit at a time"
        step = "try: make export FORMAT=github-action-benchmark RESULT=latest"
        raise SandboxError("github-action-benchmark takes one result", known, step)
    folder = _found(options, results)
    side = side_of(folder, read_manifest(folder))
    metrics = metrics_in(options.metric, "try: make export FORMAT=github-action-benchmark METRIC=tps")
    higher = [METRICS[name].higher_is_better for name in side.metrics]
    metrics = metrics or [name for name, each in zip(side.metrics, higher, strict=True) if each == higher[0]]
    tool = tool_of(metrics)
    if tool is None:
        known = "one file is either customBiggerIsBetter or customSmallerIsBetter"
        step = f"try: make export FORMAT=github-action-benchmark METRIC={metrics[0]}"
        raise SandboxError(f"not all of {', '.join(metrics)} are better in the same direction", known, step)
    part = side.manifest.matrix
    title = part.name if part else f"bench of {side.manifest.profile}"
    found = entries(title, history_of([side], metrics, {}, read_calibration()).series)
    if not found:
        raise _empty([folder])
    _write(json.dumps(found, indent=2, ensure_ascii=False) + "\n", options)
    others = [name for name in side.metrics if name not in metrics]
    more = f"; METRIC={','.join(others)} exports the others to another file" if others and not options.metric else ""
    print(f"export  {', '.join(metrics)}: set the action's tool to {tool}{more}", file=sys.stderr)


def _found(options: ExportOptions, results: Path) -> ResultFolder:
    return find_result(options.result, results, f"export FORMAT={options.format}")


def _write(text: str, options: ExportOptions) -> None:
    if not options.out:
        print(text, end="")
        return
    try:
        write_atomically(Path(options.out), text)
    except OSError as problem:
        raise _unwritable(options.out, problem) from None
    _print_written(options.out)


def _unwritable(out: str, problem: OSError) -> SandboxError:
    """``problem`` names the temporary file next to OUT; only its reason matters."""
    folder, reason = Path(out).parent, problem.strerror or str(problem)
    known = reason if folder.is_dir() else f"there is no folder {folder}"
    return SandboxError(f"OUT={out} cannot be written", known, "try: make export FORMAT=csv OUT=results.csv")


def _empty(folders: Sequence[ResultFolder]) -> SandboxError:
    known = f"searched {len(folders)} results" if len(folders) != 1 else f"see: {folders[0].path}"
    return SandboxError("no run was ok", known, "try: make query SQL='select run_id, reason from runs'")


def _print_written(out: str) -> None:
    print(f"export  written to {out}", file=sys.stderr)


def command(
    format_: Annotated[
        str | None, typer.Option("--format", help="csv, parquet, benchstat or github-action-benchmark.")
    ] = None,
    result: Annotated[
        str | None, typer.Option(help="Result (latest), or all.", autocompletion=completion.result)
    ] = None,
    metric: Annotated[str | None, typer.Option(help="Metrics for github-action-benchmark (the first primary).")] = None,
    out: Annotated[str | None, typer.Option(help="File to write (standard output).")] = None,
) -> int:
    """Export results to other tools: csv, parquet, benchstat, github-action-benchmark."""
    return run(ExportOptions(format_, result, metric, out))
