"""PURE: a result as one self-contained HTML file: no script, no network, no other file; light and dark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.report import bench_view, environment, verdict_table
from sandbox.report.answer import answer
from sandbox.report.environment import VariantDiff
from sandbox.report.figures import spoken
from sandbox.report.layout import RunData
from sandbox.report.rendering import rendered
from sandbox.report.svg import Figure
from sandbox.report.text import figure, varied
from sandbox.results.compare import Judged, Verdict
from sandbox.results.manifest import MatrixPart
from sandbox.results.record import Record
from sandbox.results.statistics.metrics import METRICS

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
    """Everything that the template shows."""

    title: str
    question: str
    answer: str
    when: str
    figures: Sequence[Figure]
    environment: Sequence[tuple[str, str]]
    stacks: Sequence[Mapping[str, str]]
    how: str
    again: Sequence[str]
    runs: Sequence[RunData]
    tables: Sequence[VerdictTable] = ()
    notes: Sequence[str] = ()
    figures_table: Sequence[tuple[str, str]] = ()
    diffs: Sequence[VariantDiff] = ()
    processor_time: Sequence[Sequence[str]] = ()
    """Header and rows of the table; empty where none was recorded."""
    processor_time_first: bool = False
    origin: str = ""
    """The finding of a published original."""
    headings: Sequence[str] = verdict_table.WIDE_FIGURES


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
        environment=[*environment.environment_rows(records), *environment.host_check_row(part.host_checks)],
        stacks=environment.stack_rows(part, records),
        how=verdict_table.how(part, records),
        again=[verdict_table.again(part, command)],
        runs=runs,
        tables=[_table(part, judged, records, metric) for metric in part.metrics],
        notes=[*verdict_table.notes(part, judged), verdict_table.MDE_TEXT],
        processor_time=verdict_table.processor_table(part, records),
        processor_time_first=verdict_table.asked_first(part),
        diffs=environment.config_diffs(part, records),
        origin=part.note,
    )


def bench_page(run: RunData, figures: Sequence[Figure], command: Sequence[str], when: str) -> Page:
    """The page of a single bench."""
    record = run.record
    return Page(
        title=bench_view.bench_title(record),
        question=bench_view.bench_question(record),
        answer=bench_view.bench_answer(record),
        when=when,
        figures=figures,
        environment=environment.environment_rows([record]),
        stacks=environment.node_rows(record, record.stack),
        how=bench_view.ONE_RUN,
        again=bench_view.bench_again(record, command),
        runs=[run],
        figures_table=list(bench_view.bench_rows(record)),
    )


def html(page: Page) -> str:
    """``report.html``."""
    return rendered("page.html", page=page)


def _table(part: MatrixPart, judged: Judged, records: Sequence[Record], metric: str) -> VerdictTable:
    known = {cell: figure(middle) for cell, middle in verdict_table.middles(records, metric).items()}
    rows, canary = ([_row(*each, known) for each in found] for found in verdict_table.with_levels(part, judged, metric))
    telling = rows if len(rows) <= FOLD_FROM else [row for row in rows if row["word"] not in _QUIET]
    folded = [row for row in rows if row not in telling]
    return VerdictTable(
        spoken(metric), verdict_table.margin_text(metric, judged), varied(part), [*telling, *canary], folded
    )


def _row(levels: Sequence[str], verdict: Verdict, known: Mapping[str, str]) -> Mapping[str, Any]:
    values = " → ".join(known.get(cell, "?") for cell in (verdict.baseline, verdict.cell))
    return {
        "levels": levels,
        "values": f"{values} {METRICS[verdict.metric].unit}",
        "figures": verdict_table.wide_figures(verdict),
        "word": verdict.word.replace(" ", "-"),
    }
