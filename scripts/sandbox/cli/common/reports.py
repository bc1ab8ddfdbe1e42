"""Reads a result, judges it, and writes its HTML page, its Markdown summary, and its charts as
images.
"""

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sandbox.cli.common.results import read_manifest, unreadable
from sandbox.cli.common.showing import show
from sandbox.cli.console import as_typed
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.paths import write_atomically
from sandbox.judge.calibration import noise_of
from sandbox.judge.compare import Judged
from sandbox.judge.matrix import judge_matrix
from sandbox.judge.open_trials import by_log_rank
from sandbox.measure.machine import read_calibration
from sandbox.measure.trial.prober_log import read_prober_log
from sandbox.measure.trial.series import TrialSeries, cluster_samples, load_seconds, series_of
from sandbox.record.manifest import Manifest, MatrixPart, RepeatsPart
from sandbox.record.record import Record
from sandbox.record.server_series import server_series
from sandbox.record.store import ResultFolder
from sandbox.report.bench import bench_document
from sandbox.report.charts.layout import RunData
from sandbox.report.charts.matrix import bench_figures, matrix_figures
from sandbox.report.charts.trial import single_trial_figures, trial_figures
from sandbox.report.document import Document, charts_of, with_lines
from sandbox.report.matrix import matrix_document
from sandbox.report.render import html, json, markdown
from sandbox.report.repeats import counted, repeats_document
from sandbox.report.repro import repro_document, search_document
from sandbox.report.trial import trial_document
from sandbox.report.trial_cells import median_trial, of_trials, worst_trials
from sandbox.report.upgrade import upgrade_document


def show_report(result: ResultFolder, charts: bool, as_json: bool) -> None:
    """Writes the report of a result, and prints which files it has; as JSON data also everything
    that is in them.
    """
    document = document_of(result)
    written = [str(path) for path in write_document(result, document, charts)]
    show(as_json, {**json.data(with_lines(document, as_typed)), "files": written}, written)


def document_of(result: ResultFolder) -> Document:
    """What is said about a result, whatever its kind.

    Raises SandboxError: exit 2 for a manifest or a record that cannot be read, exit 4 if no run is
    usable.
    """
    manifest, runs = read_manifest(result), read_runs(result)
    if manifest.matrix is None:
        return _document_of_run(result, manifest, runs)
    judged = judge(result, manifest.matrix, runs)
    return document_of_matrix(result, manifest, manifest.matrix, runs, judged)


def read_runs(result: ResultFolder) -> list[RunData]:
    """Every run of a result, in order. Raises SandboxError (exit 2) for the first that cannot be
    read.
    """
    return [_read_run(result, entry.run) for entry in read_manifest(result).runs]


def _read_run(result: ResultFolder, name: str) -> RunData:
    try:
        record = result.record(name)
        # A trial's samples are drawn with its prober; a workload that ends with its work lasts
        # longer than its seconds.
        seconds = (
            0 if record.trial else math.ceil(record.metrics.measured_s or record.workload.seconds)
        )
        servers = server_series(result.samples(record), seconds) if seconds else {}
        return RunData(record, result.seconds(record), servers, result.raw_files(record))
    except (OSError, ValueError) as problem:  # a ValidationError is a ValueError
        raise unreadable(f"{result.path.name}/runs/{name} cannot be read", problem) from problem


def judge(result: ResultFolder, part: MatrixPart, runs: Sequence[RunData]) -> Judged:
    """The verdicts, by the noise that was known when the matrix ended, so that a report is
    reproducible.

    Raises SandboxError (exit 4) if no run is usable.
    """
    records = [run.record for run in runs]
    if not any(run.good for run in runs):
        reason = next((record.reason for record in records if record.reason), "no run was made")
        what = f"no run of the matrix {part.name} is usable"
        raise SandboxError(what, reason, f"try: ls {result.path}", ExitCode.ENVIRONMENT)
    # A fault is no noise.
    steady = {run.name: () if run.record.trial else run.seconds.get("tps", ()) for run in runs}
    noise = noise_of(part, records, read_calibration())
    judged = judge_matrix(
        part, records, lambda record: steady[f"{record.cell}.{record.block}"], noise
    )
    return by_log_rank(judged, part, records)


def document_of_matrix(
    result: ResultFolder,
    manifest: Manifest,
    part: MatrixPart,
    runs: Sequence[RunData],
    judged: Judged,
) -> Document:
    """What is said about a judged matrix, with its charts."""
    records = [run.record for run in runs]
    charts = matrix_figures(part, judged, runs)
    if of_trials(records):
        charts = [
            *trial_figures(part, runs, trial_series(result, worst_trials(part, records))),
            *charts,
        ]
    return matrix_document(part, judged, runs, charts, manifest.command, _when(manifest, runs))


def _document_of_run(result: ResultFolder, manifest: Manifest, runs: Sequence[RunData]) -> Document:
    if not runs:
        known = "its manifest lists no record"
        raise SandboxError(
            f"{result.path.name} has no run", known, f"try: ls {result.path}", ExitCode.ENVIRONMENT
        )
    run = runs[-1]
    when = _when(manifest, runs)
    if manifest.kind == "repro":
        return _document_of_repros(manifest, runs, when)
    if manifest.kind == "upgrade":
        return upgrade_document(run, manifest.command, when)
    if manifest.repeats is not None:
        return _document_of_repeats(result, manifest, manifest.repeats, runs, when)
    charts = bench_figures(run)
    if run.record.trial is None:
        return bench_document(run, charts, manifest.command, when)
    charts = [*single_trial_figures(run, trial_series(result, [run.record])), *charts]
    return trial_document(run, charts, manifest.command, when)


def _document_of_repros(manifest: Manifest, runs: Sequence[RunData], when: str) -> Document:
    """Repros, or what a search by one has found."""
    part = manifest.repro
    if part is not None and part.answer is not None:
        return search_document(runs, part.answer, part.notes, manifest.command, when)
    return repro_document(runs, manifest.command, when)


def _document_of_repeats(
    result: ResultFolder,
    manifest: Manifest,
    part: RepeatsPart,
    runs: Sequence[RunData],
    when: str,
) -> Document:
    """Repeated trials; the one with the median RTO is drawn in time."""
    shown = median_trial(counted([run.record for run in runs]), "rto_ms")
    charts = [
        figure
        for run in runs
        if run.record is shown
        for figure in single_trial_figures(run, trial_series(result, [run.record]))
    ]
    return repeats_document(runs, part, charts, manifest.command, when)


def trial_series(result: ResultFolder, records: Iterable[Record]) -> dict[str, TrialSeries]:
    """By run, what the prober saw; one log at a time is in memory. A log that is gone or cut short
    is noted.
    """
    found = {}
    for record in records:
        name, trial = f"{record.cell}.{record.block}", record.trial
        if trial is None or trial.end_ms is None or "probe" not in record.files:
            continue
        try:
            with (result.run_path(record) / record.files["probe"]).open(encoding="utf-8") as lines:
                log = read_prober_log(lines)
        except (OSError, ValueError) as problem:
            print(f"report  runs/{name}: not drawn in time: {problem}", file=sys.stderr, flush=True)
            continue
        t0_ms = trial.end_ms if trial.t0_ms is None else trial.t0_ms
        samples = cluster_samples(result.samples(record), log.began_utc_s)
        load = load_seconds(result.samples(record, "load_seconds"))
        series = series_of(log, 1000 * t0_ms, 1000 * trial.end_ms, samples, load)
        found[name] = series if trial.figures and trial.figures.lag else replace(series, lag_ms={})
    return found


def write_document(result: ResultFolder, document: Document, charts: bool = False) -> list[Path]:
    """Writes page and summary, and each chart as a picture if asked for; returns their paths."""
    written = [result.path / "report.html", result.path / "summary.md"]
    write_atomically(written[0], html.page(with_lines(document, as_typed)))
    write_atomically(written[1], as_typed(markdown.text(document)))
    return [*written, *_pictures(result.path / "charts", document)] if charts else written


def _pictures(folder: Path, document: Document) -> Iterator[Path]:
    """Every chart as SVG and as PNG at twice its size."""
    import vl_convert

    folder.mkdir(exist_ok=True)
    for figure in charts_of(document):
        svg = html.picture(figure)
        for ending, content in (
            ("svg", svg.encode()),
            ("png", bytes(vl_convert.svg_to_png(svg, scale=2))),
        ):
            path = folder / f"{figure.name}.{ending}"
            path.write_bytes(content)
            yield path
        print(f"report  {figure.name}", file=sys.stderr, flush=True)


def _when(manifest: Manifest, runs: Sequence[RunData]) -> str:
    """Start, end and number of runs."""
    moments = [
        f"{moment:%Y-%m-%d %H:%M:%S}"
        for moment in (manifest.started_utc, manifest.ended_utc)
        if moment
    ]
    bad = sum(run.record.status != "ok" for run in runs)
    text = f"{' to '.join(moments)} UTC"
    text += f"; {len(runs)} runs" if len(runs) > 1 else ""
    text += f", {bad} of them not ok" if bad else ""
    return text if manifest.ended_utc else f"{text}; NOT ENDED: more runs may follow"
