"""PURE: a result as one self-contained HTML file: no script, no network, no other file; light and dark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sandbox.judge.compare import Judged, Verdict
from sandbox.record.manifest import MatrixPart
from sandbox.record.metrics import METRICS
from sandbox.record.record import Record
from sandbox.report import bench_view, environment, trial_view, verdict_table
from sandbox.report.censored_text import any_open, with_log_rank
from sandbox.report.charts.layout import RunData
from sandbox.report.charts.svg import Figure
from sandbox.report.environment import VariantDiff
from sandbox.report.rendering import rendered
from sandbox.report.text import figure, varied
from sandbox.report.trial_answer import answer_of
from sandbox.report.trial_cells import cells_of, median_text, of_trials
from sandbox.report.trial_tables import TrialTable

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
    trials: Sequence[TrialTable] = ()
    """Of a matrix with faults."""

    @property
    def of_trials(self) -> bool:
        """Whether anything broke in any of its runs."""
        return of_trials(run.record for run in self.runs)


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
    lost = verdict_table.lost_runs(part, records)
    return Page(
        title=part.title,
        question=part.question,
        answer=answer_of(part, judged, records),
        when=when,
        figures=figures,
        environment=[*environment.environment_rows(records), *environment.host_check_row(part.host_checks)],
        stacks=environment.stack_rows(part, records),
        how=verdict_table.how(part, records),
        again=[verdict_table.again(part, command)],
        runs=runs,
        tables=[_table(part, judged, records, metric) for metric in part.metrics],
        notes=[*verdict_table.notes(part, judged, records), *lost, verdict_table.MDE_TEXT],
        processor_time=verdict_table.processor_table(part, records),
        processor_time_first=verdict_table.asked_first(part),
        diffs=environment.config_diffs(part, records),
        origin=part.note,
        headings=with_log_rank(verdict_table.WIDE_FIGURES, judged),
        trials=verdict_table.all_tables(part, records),
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


def trial_page(run: RunData, figures: Sequence[Figure], command: Sequence[str], when: str) -> Page:
    """The page of a single trial."""
    record = run.record
    return replace(
        bench_page(run, figures, command, when),
        title=trial_view.trial_title(record),
        question=trial_view.trial_question(record),
        answer=trial_view.single_trial_answer(record),
        how=trial_view.ONE_TRIAL,
        figures_table=list(trial_view.trial_rows(record)),
    )


def html(page: Page) -> str:
    """``report.html``."""
    return rendered("page.html", page=page)


def _table(part: MatrixPart, judged: Judged, records: Sequence[Record], metric: str) -> VerdictTable:
    known, open_ = _middles(part, records, metric), any_open(judged)
    found = verdict_table.with_levels(part, judged, metric)
    rows, canary = ([_row(*each, known, open_) for each in group] for group in found)
    telling = rows if len(rows) <= FOLD_FROM else [row for row in rows if row["word"] not in _QUIET]
    folded = [row for row in rows if row not in telling]
    return VerdictTable(
        METRICS[metric].title,
        verdict_table.margin_text(metric, judged),
        varied(part),
        [*telling, *canary],
        folded,
    )


def _middles(part: MatrixPart, records: Sequence[Record], metric: str) -> Mapping[str, str]:
    """By cell; of what trials may know only as "at least" the median: a pseudo-median of open ones means nothing."""
    known = {cell: figure(middle) for cell, middle in verdict_table.middles(records, metric).items()}
    trials = cells_of(part, records) if METRICS[metric].may_be_open else []
    return known | {cell.name: text for cell in trials if (text := median_text(cell.lengths(metric)))}


def _row(levels: Sequence[str], verdict: Verdict, known: Mapping[str, str], log_rank: bool) -> Mapping[str, Any]:
    values = " → ".join(known.get(cell, "?") for cell in (verdict.baseline, verdict.cell))
    return {
        "levels": levels,
        "values": f"{values} {METRICS[verdict.metric].unit}",
        "figures": verdict_table.wide_figures(verdict, log_rank),
        "word": verdict.word.replace(" ", "-"),
    }
