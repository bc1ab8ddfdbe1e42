"""PURE: a result as one self-contained HTML file: no script, no network, no other file; light and dark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote

import jinja2

from sandbox.report.answer import answer
from sandbox.report.axis import figure
from sandbox.report.bench_summary import bench_again, bench_answer, bench_question
from sandbox.report.bench_table import ONE_RUN, bench_rows, bench_title
from sandbox.report.config_diff import VariantDiff, config_diffs, node_rows, stack_rows
from sandbox.report.environment import environment_rows, host_check_row
from sandbox.report.figure import DARK, LIGHT, Figure
from sandbox.report.figures import spoken
from sandbox.report.layout import varied
from sandbox.report.processor_time import CAPTION, TITLE, asked_first, processor_header, processor_rows
from sandbox.report.run_data import RunData
from sandbox.report.summary import again, how
from sandbox.report.svg import LOOKS
from sandbox.report.verdict_table import MDE_TEXT, WIDE_FIGURES, canary_levels, margin_text, notes, wide_figures
from sandbox.results.compare import Judged, Verdict
from sandbox.results.manifest import MatrixPart
from sandbox.results.record import Metrics
from sandbox.results.statistics.metrics import METRICS
from sandbox.results.statistics.rank_tests import hodges_lehmann

FOLD_FROM = 40
"""A table with more rows folds those without a finding."""

_QUIET = ("no-difference", "too-noisy", "unfit")


@dataclass(frozen=True, slots=True)
class VerdictTable:
    """One metric. ``folded``: rows of a long table without a finding."""

    metric: str
    margin: str
    factors: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    folded: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that the template shows, as text."""

    title: str
    question: str
    answer: str
    when: str
    figures: Sequence[Figure]
    environment: Sequence[tuple[str, str]]
    stacks: Sequence[Mapping[str, str]]
    how: str
    again: Sequence[str]
    runs: Sequence[Mapping[str, Any]]
    tables: Sequence[VerdictTable] = ()
    notes: Sequence[str] = ()
    figures_table: Sequence[tuple[str, str]] = ()
    diffs: Sequence[VariantDiff] = ()
    processor_time: Sequence[Sequence[str]] = ()
    """Header and rows of the table; empty where none was recorded."""
    processor_time_first: bool = False
    origin: str = ""
    """The finding of a published original."""
    headings: Sequence[str] = field(default=WIDE_FIGURES)


def matrix_page(
    part: MatrixPart,
    judged: Judged,
    runs: Sequence[RunData],
    figures: Sequence[Figure],
    command: Sequence[str],
    when: str,
) -> Page:
    """The page of a judged matrix; ``when``: start and end, as text."""
    records = [run.record for run in runs]
    return Page(
        title=part.title,
        question=part.question,
        answer=answer(part, judged),
        when=when,
        figures=figures,
        environment=[*environment_rows(records), *host_check_row(part.host_checks)],
        stacks=stack_rows(part, records),
        how=how(part, records),
        again=[again(part, command)],
        runs=[_run(run) for run in runs],
        tables=[_table(part, judged, runs, metric) for metric in part.metrics],
        notes=[*notes(part, judged), MDE_TEXT],
        processor_time=[processor_header(part), *rows] if (rows := processor_rows(part, records)) else (),
        processor_time_first=asked_first(part),
        diffs=config_diffs(part, records),
        origin=part.note,
    )


def bench_page(run: RunData, figures: Sequence[Figure], command: Sequence[str], when: str) -> Page:
    """The page of a single bench."""
    record = run.record
    return Page(
        title=bench_title(record),
        question=bench_question(record),
        answer=bench_answer(record),
        when=when,
        figures=figures,
        environment=environment_rows([record]),
        stacks=node_rows(record, record.stack),
        how=ONE_RUN,
        again=bench_again(record, command),
        runs=[_run(run)],
        figures_table=list(bench_rows(record)),
    )


def html(page: Page) -> str:
    """``report.html``."""
    text = {"title": TITLE, "caption": CAPTION}
    return _template().render(page=page, processor_time=text, light=LIGHT, dark=DARK, looks=LOOKS)


@cache
def _template() -> jinja2.Template:
    loader = jinja2.PackageLoader("sandbox.report", ".")
    return jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).get_template("page.html.j2")


def _table(part: MatrixPart, judged: Judged, runs: Sequence[RunData], metric: str) -> VerdictTable:
    middles = _middles(runs, metric)
    factors = varied(part)
    levels = {cell.name: [cell.levels[factor] for factor in factors] for cell in part.cells}
    rows = [_row(levels[each.cell], each, middles) for each in judged.verdicts if each.metric == metric]
    canary = [
        _row(canary_levels(part, factors, levels[each.baseline]), each, middles)
        for each in judged.canary
        if each.metric == metric
    ]
    telling = rows if len(rows) <= FOLD_FROM else [row for row in rows if row["word"] not in _QUIET]
    folded = [row for row in rows if row not in telling]
    return VerdictTable(spoken(metric), margin_text(metric, judged), factors, [*telling, *canary], folded)


def _middles(runs: Sequence[RunData], metric: str) -> dict[str, str]:
    """By cell, the pseudo-median over blocks, as text."""
    values: dict[str, list[float]] = {}
    for run in runs:
        value = getattr(run.record.metrics, metric)
        if run.good and value is not None:
            values.setdefault(run.record.cell, []).append(value)
    return {cell: figure(hodges_lehmann(found)) for cell, found in values.items()}


def _row(levels: Sequence[str], verdict: Verdict, middles: Mapping[str, str]) -> Mapping[str, Any]:
    values = " → ".join(middles.get(cell, "?") for cell in (verdict.baseline, verdict.cell))
    return {
        "levels": levels,
        "values": f"{values} {METRICS[verdict.metric].unit}",
        "figures": wide_figures(verdict),
        "word": verdict.word.replace(" ", "-"),
    }


def _run(run: RunData) -> Mapping[str, Any]:
    record, metrics = run.record, run.record.metrics
    return {
        "cell": record.cell,
        "block": record.block,
        "status": record.status,
        "reason": record.reason or "",
        "tps": _shown(metrics, "tps"),
        "p95": _shown(metrics, "latency_p95_ms"),
        "files": {word.removeprefix("log_"): quote(path) for word, path in run.files.items()},
    }


def _shown(metrics: Metrics, name: str) -> str:
    value = getattr(metrics, name)
    return "" if value is None else figure(value)
