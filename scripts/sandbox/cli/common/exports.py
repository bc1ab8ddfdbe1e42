"""Results in the formats of other tools, printed or written to a file."""

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from sandbox.cli.common.results import find_result, metrics_in, print_broken, read_manifest, side_of
from sandbox.core.errors import ExitCode, SandboxError, did_you_mean
from sandbox.core.paths import RESULTS, write_atomically
from sandbox.judge.past_results import history_of
from sandbox.measure.machine import read_calibration
from sandbox.record.index import open_index, open_one
from sandbox.record.metrics import METRICS
from sandbox.record.store import ResultFolder, all_results
from sandbox.report.exports import benchstat_lines, entries, tool_of
from sandbox.report.query_table import query_csv

ALL = "all"
FORMATS = ("csv", "parquet", "benchstat", "github-action-benchmark")
_RUNS = "SELECT * FROM runs ORDER BY started_utc, result, run_id"


def export(
    format_: str | None,
    result: str | None = None,
    metric: str | None = None,
    out: str | None = None,
    results: Path = RESULTS,
) -> int:
    """Writes to standard output, or to OUT; returns the exit code. Raises SandboxError (exit 2) for
    invalid options.
    """
    _refuse_invalid(format_, result, metric, out)
    found = (
        all_results(results)
        if result == ALL
        else [find_result(result, results, f"export FORMAT={format_}")]
    )
    if format_ in ("benchstat", "github-action-benchmark"):
        found = _with_metrics(found, str(format_))
    if format_ == "benchstat":
        _print(_benchstat(found), out)
    elif format_ == "github-action-benchmark":
        _github(found[0], metric, out)
    else:
        index = open_index(results) if result == ALL else open_one(found[0].path)
        print_broken(index.broken)
        with index.connection as connection:
            if format_ == "parquet" and out:
                _write(out, partial(index.write_parquet, _RUNS))
            else:
                cursor = connection.execute(_RUNS)
                _print(
                    query_csv([each[0] for each in cursor.description or ()], cursor.fetchall()),
                    out,
                )
    return int(ExitCode.OK)


def _refuse_invalid(
    format_: str | None, result: str | None, metric: str | None, out: str | None
) -> None:
    if format_ not in FORMATS:
        what = f"there is no format '{format_}'" if format_ else "export needs FORMAT="
        raise SandboxError(
            what,
            did_you_mean(format_ or "", FORMATS),
            "try: make export FORMAT=csv OUT=results.csv",
        )
    if metric and format_ != "github-action-benchmark":
        known = f"{format_} has every metric; METRIC is for github-action-benchmark"
        raise SandboxError(
            "METRIC is not valid for this format", known, f"try: make export FORMAT={format_}"
        )
    if format_ == "parquet" and not out:
        step = "try: make export FORMAT=parquet OUT=results.parquet"
        raise SandboxError(
            "parquet needs OUT=", "it is binary, not text for a terminal or a pipe", step
        )
    if format_ == "github-action-benchmark" and result == ALL:
        known = "the action keeps the history itself, one commit at a time"
        step = "try: make export FORMAT=github-action-benchmark RESULT=latest"
        raise SandboxError("github-action-benchmark takes one result", known, step)


def _with_metrics(folders: Sequence[ResultFolder], format_: str) -> list[ResultFolder]:
    """The results but repros. Raises SandboxError (exit 2) where there is nothing else."""
    found = [each for each in folders if read_manifest(each).kind != "repro"]
    if folders and not found:
        known = f"{format_} has metrics; csv and parquet have its repeats"
        step = "try: make query SQL='select repro, version, verdict from repros'"
        raise SandboxError("a repro has verdicts, and no metrics", known, step)
    return found


def _benchstat(folders: Sequence[ResultFolder]) -> str:
    sides = [side_of(folder, read_manifest(folder)) for folder in folders]
    if not any(record.counts for side in sides for record in side.records):
        raise _empty(folders)
    return "\n".join(benchstat_lines(sides)) + "\n"


def _github(folder: ResultFolder, metric: str | None, out: str | None) -> None:
    side = side_of(folder, read_manifest(folder))
    metrics = metrics_in(metric, "try: make export FORMAT=github-action-benchmark METRIC=tps")
    higher = [METRICS[name].higher_is_better for name in side.metrics]
    metrics = metrics or [
        name for name, each in zip(side.metrics, higher, strict=True) if each == higher[0]
    ]
    tool = tool_of(metrics)
    if tool is None:
        known = "one file is either customBiggerIsBetter or customSmallerIsBetter"
        step = f"try: make export FORMAT=github-action-benchmark METRIC={metrics[0]}"
        raise SandboxError(
            f"not all of {', '.join(metrics)} are better in the same direction", known, step
        )
    part = side.manifest.matrix
    title = part.name if part else f"{side.manifest.kind} of {side.manifest.profile}"
    found = entries(title, history_of([side], metrics, {}, read_calibration()).series)
    if not found:
        raise _empty([folder])
    _print(json.dumps(found, indent=2, ensure_ascii=False) + "\n", out)
    others = [name for name in side.metrics if name not in metrics]
    more = (
        f"; METRIC={','.join(others)} exports the others to another file"
        if others and not metric
        else ""
    )
    print(f"export  {', '.join(metrics)}: set the action's tool to {tool}{more}", file=sys.stderr)


def _print(text: str, out: str | None) -> None:
    if out:
        _write(out, lambda path: write_atomically(path, text))
    else:
        print(text, end="")


def _write(out: str, write: Callable[[Path], object]) -> None:
    """Writes OUT, and says so. Raises SandboxError (exit 2) if it cannot be written."""
    try:
        write(Path(out))
    except OSError as problem:  # it names the temporary file next to OUT; only its reason matters
        folder, reason = Path(out).parent, problem.strerror or str(problem)
        known = reason if folder.is_dir() else f"there is no folder {folder}"
        step = "try: make export FORMAT=csv OUT=results.csv"
        raise SandboxError(f"OUT={out} cannot be written", known, step) from None
    print(f"export  written to {out}", file=sys.stderr)


def _empty(folders: Sequence[ResultFolder]) -> SandboxError:
    known = f"searched {len(folders)} results" if len(folders) != 1 else f"see: {folders[0].path}"
    return SandboxError(
        "no run was ok", known, "try: make query SQL='select run_id, reason from runs'"
    )
