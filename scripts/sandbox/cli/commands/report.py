"""report: a result as an HTML page, a Markdown summary, and its charts as images."""

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.find_result import find_result, read_manifest, unreadable
from sandbox.cli.common.options import chosen, either, place
from sandbox.cli.registry import About, as_typed
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.files import write_atomically
from sandbox.core.paths import RESULTS
from sandbox.judge.calibration import noise_of
from sandbox.judge.compare import Judged, judge_matrix
from sandbox.judge.open_trials import by_log_rank
from sandbox.measure.machine import read_calibration
from sandbox.measure.trial.cluster import cluster_samples, load_seconds
from sandbox.measure.trial.prober_log import read_probe_log
from sandbox.measure.trial.series import TrialSeries, series_of
from sandbox.record.manifest import Manifest, MatrixPart
from sandbox.record.record import Record
from sandbox.record.server_series import server_series
from sandbox.record.store import ResultFolder
from sandbox.report.bench_view import bench_markdown
from sandbox.report.charts.layout import RunData
from sandbox.report.charts.matrix import bench_figures, matrix_figures
from sandbox.report.charts.svg import Figure, picture
from sandbox.report.charts.trial import single_trial_figures, trial_figures
from sandbox.report.page import Page, bench_page, html, matrix_page, trial_page
from sandbox.report.trial_cells import of_trials, worst_trials
from sandbox.report.trial_view import trial_markdown
from sandbox.report.verdict_table import summary

ABOUT = About(group="results", needs_engine=False)


def write_report(result: ResultFolder, charts: bool = False) -> list[Path]:
    """Writes ``report.html``, ``summary.md`` and, if asked for, ``charts/``; returns their paths.

    Raises SandboxError: exit 2 for a manifest or a record that cannot be read, exit 4 if no run is usable.
    """
    manifest, runs = read_manifest(result), read_runs(result)
    if manifest.matrix is None:
        return _write_bench(result, manifest, runs, charts)
    judged = judge(result, manifest.matrix, runs)
    return write_matrix(result, manifest, manifest.matrix, runs, judged, charts)


def read_runs(result: ResultFolder) -> list[RunData]:
    """Every run of a result, in order. Raises SandboxError (exit 2) for the first that cannot be read."""
    return [_read_run(result, entry.run) for entry in read_manifest(result).runs]


def _read_run(result: ResultFolder, name: str) -> RunData:
    try:
        record = result.record(name)
        # A trial's samples are drawn with its probe; a workload that ends with its work lasts longer than its seconds.
        seconds = 0 if record.trial else math.ceil(record.metrics.measured_s or record.workload.seconds)
        servers = server_series(result.samples(record), seconds) if seconds else {}
        return RunData(record, result.seconds(record), servers, result.raw_files(record))
    except (OSError, ValueError) as problem:  # a ValidationError is a ValueError
        raise unreadable(f"{result.path.name}/runs/{name} cannot be read", problem) from problem


def judge(result: ResultFolder, part: MatrixPart, runs: Sequence[RunData]) -> Judged:
    """The verdicts, by the noise that was known when the matrix ended, so that a report is reproducible.

    Raises SandboxError (exit 4) if no run is usable.
    """
    records = [run.record for run in runs]
    if not any(run.good for run in runs):
        reason = next((record.reason for record in records if record.reason), "no run was made")
        what = f"no run of the matrix {part.name} is usable"
        raise SandboxError(what, reason, f"try: ls {result.path}", ExitCode.ENVIRONMENT)
    steady = {run.name: () if run.record.trial else run.seconds.get("tps", ()) for run in runs}  # a fault is no noise
    noise = noise_of(part, records, read_calibration())
    judged = judge_matrix(part, records, lambda record: steady[f"{record.cell}.{record.block}"], noise)
    return by_log_rank(judged, part, records)


def write_matrix(
    result: ResultFolder,
    manifest: Manifest,
    part: MatrixPart,
    runs: Sequence[RunData],
    judged: Judged,
    charts: bool = False,
) -> list[Path]:
    """Writes page, summary and pictures of a judged matrix."""
    figures, records = matrix_figures(part, judged, runs), [run.record for run in runs]
    if of_trials(records):
        figures = [*trial_figures(part, runs, trial_series(result, worst_trials(part, records))), *figures]
    page = matrix_page(part, judged, runs, figures, manifest.command, _when(manifest, runs))
    return _write(result, page, summary(part, judged, records, manifest.command), figures if charts else [])


def _write_bench(result: ResultFolder, manifest: Manifest, runs: Sequence[RunData], charts: bool) -> list[Path]:
    if not runs:
        known = "its manifest lists no record"
        raise SandboxError(f"{result.path.name} has no run", known, f"try: ls {result.path}", ExitCode.ENVIRONMENT)
    run = runs[-1]
    figures = bench_figures(run)
    if run.record.trial is not None:
        figures = [*single_trial_figures(run, trial_series(result, [run.record])), *figures]
        page = trial_page(run, figures, manifest.command, _when(manifest, runs))
        return _write(result, page, trial_markdown(run.record, manifest.command), figures if charts else [])
    page = bench_page(run, figures, manifest.command, _when(manifest, runs))
    return _write(result, page, bench_markdown(run.record, manifest.command), figures if charts else [])


def trial_series(result: ResultFolder, records: Iterable[Record]) -> dict[str, TrialSeries]:
    """By run, what the probe saw; one log at a time is in memory. A log that is gone or cut short is noted."""
    found = {}
    for record in records:
        name, trial = f"{record.cell}.{record.block}", record.trial
        if trial is None or trial.end_ms is None or "probe" not in record.files:
            continue
        try:
            with (result.run_path(record) / record.files["probe"]).open(encoding="utf-8") as lines:
                log = read_probe_log(lines)
        except (OSError, ValueError) as problem:
            print(f"report  runs/{name}: not drawn in time: {problem}", file=sys.stderr, flush=True)
            continue
        t0_ms = trial.end_ms if trial.t0_ms is None else trial.t0_ms
        samples = cluster_samples(result.samples(record), log.began_utc_s)
        load = load_seconds(result.samples(record, "load_seconds"))
        series = series_of(log, 1000 * t0_ms, 1000 * trial.end_ms, samples, load)
        found[name] = series if trial.figures and trial.figures.lag else replace(series, lag_ms={})
    return found


def _write(result: ResultFolder, page: Page, markdown: str, pictures: Sequence[Figure]) -> list[Path]:
    """Writes page and summary, and each picture as SVG and as PNG at twice its size."""
    written = [result.path / "report.html", result.path / "summary.md"]
    write_atomically(written[0], html(replace(page, again=[as_typed(each) for each in page.again])))
    write_atomically(written[1], as_typed(markdown))
    if not pictures:
        return written
    import vl_convert

    folder = result.path / "charts"
    folder.mkdir(exist_ok=True)
    for figure in pictures:
        svg = picture(figure)
        for ending, content in (("svg", svg.encode()), ("png", bytes(vl_convert.svg_to_png(svg, scale=2)))):
            written.append(folder / f"{figure.name}.{ending}")
            written[-1].write_bytes(content)
        print(f"report  {figure.name}", file=sys.stderr, flush=True)
    return written


def _when(manifest: Manifest, runs: Sequence[RunData]) -> str:
    """Start, end and number of runs."""
    moments = [f"{moment:%Y-%m-%d %H:%M:%S}" for moment in (manifest.started_utc, manifest.ended_utc) if moment]
    bad = sum(run.record.status != "ok" for run in runs)
    text = f"{' to '.join(moments)} UTC"
    text += f"; {len(runs)} runs" if len(runs) > 1 else ""
    text += f", {bad} of them not ok" if bad else ""
    return text if manifest.ended_utc else f"{text}; NOT ENDED: more runs may follow"


def command(
    which: Annotated[str | None, place("RESULT", "Result: its folder or name (latest).", completion.result)] = None,
    result: Annotated[str | None, chosen("Result: its folder or name (latest).", completion.result)] = None,
    charts: Annotated[bool, typer.Option("--charts", help="Write charts/*.svg and *.png too.")] = False,
) -> None:
    """Write report.html and summary.md of a result."""
    for path in write_report(find_result(either(which, result, "RESULT"), RESULTS, "report"), charts):
        print(path)
