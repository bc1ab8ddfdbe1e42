"""PURE: what is said about repeated trials on one stack: how often something came, and the times of
all of them.
"""

from collections.abc import Iterator, Sequence

from sandbox.core.errors import counted as counted_text
from sandbox.judge.rank_tests import median_interval
from sandbox.judge.rates import FAILED_CHECK, LOG, LOST_MEMBER, Rate, came, rate_of
from sandbox.judge.verdict import FEWEST_BLOCKS
from sandbox.record.manifest import RepeatsPart
from sandbox.record.metrics import METRICS
from sandbox.record.record import Record
from sandbox.report.charts.layout import RunData
from sandbox.report.charts.svg import Figure
from sandbox.report.document import (
    Document,
    Medium,
    Notes,
    Part,
    Said,
    Section,
    Table,
    TableCell,
)
from sandbox.report.result import (
    again_section,
    charts_section,
    environment_rows,
    machine_section,
    node_rows,
    run_again,
    runs_section,
)
from sandbox.report.text import UNKNOWN, cut, figure
from sandbox.report.trial import trial_question, trial_title
from sandbox.report.trial_cells import (
    TRIAL_METRICS,
    CellTrials,
    interval_text,
    longest_text,
    median_text,
    ms_text,
    rto_text,
    trials_text,
)

LOST_WRITE = "lost"
"""The check that fails where an acknowledged write is lost."""
_WORDS = {
    LOST_MEMBER: "a member lost",
    LOST_WRITE: "an acknowledged write lost",
    FAILED_CHECK: "any check failed",
}
_LONGEST_PATTERN = 60
_RATE_NOTE = (
    "Of the trials in which it was judged, also those whose prober was late. The interval is exact"
    " (Clopper and Pearson), also where the series ended because it came."
)
_FIGURE_NOTE = (
    "Of the trials that are ok and have the figure. The interval of the median is exact (order"
    " statistics)."
)
HEALED = (
    "All trials are on one stack, which was healed and repaired in between: what one leaves, the"
    " next one finds. FRESH=1 restores the stack for each."
)
RESTORED = "The stack was restored for each trial."


def repeats_document(
    runs: Sequence[RunData],
    part: RepeatsPart,
    figures: Sequence[Figure] = (),
    command: Sequence[str] = (),
    when: str = "",
) -> Document:
    """Repeated trials. ``command``: as typed; ``when``: start and end, as text."""
    records = [run.record for run in runs]
    answer = repeats_answer(records, part)
    about = [Said(answer, Medium.TERMINAL), Said(when, Medium.PAGE, "faint")]
    shown = Section(_tables(records, part), "Figures", "verdicts", "figures", headed=Medium.PAGE)
    sections = [shown, charts_section(figures)]
    if records:
        first = records[0]
        machine = environment_rows(records), node_rows(first, first.stack)
        sections += [
            machine_section(*machine),
            again_section("How to reproduce it", run_again(first, command)),
            runs_section(runs),
        ]
    return Document(
        Said(_title(records, part)),
        sections,
        Said(trial_question(records[0]) if records else "", Medium.PAPER),
        Said(answer, Medium.PAPER),
        Said(part.end or "not ended", Medium.TERMINAL, "faint"),
        about=about,
    )


def _title(records: Sequence[Record], part: RepeatsPart) -> str:
    """``join on galera3 through galera1, 3 of 12 trials``."""
    named = next((record for record in records if record.trial), None) or next(iter(records), None)
    what = trial_title(named) if named else "trials"
    return f"{what}, {len(records)} of {part.count} trials"


def repeats_answer(records: Sequence[Record], part: RepeatsPart) -> str:
    """What was waited for; else whether anything was lost. Then the time of the outage."""
    sentences = [_until_sentence(records, part)] if part.until else []
    cell = counted(records)
    if cell.lengths("rto_ms"):
        sentences.append(_rto_sentence(cell))
    if cell.count < len(records):
        sentences.append(f"The times of {cell.count} of {len(records)} trials count.")
    if part.reason and part.end != "came":
        sentences.append(f"It ended early: {part.reason}.")
    return " ".join(sentences)


def _rto_sentence(cell: CellTrials) -> str:
    lengths = cell.lengths("rto_ms")
    interval = f"95 % interval {interval_text(lengths)}"
    if median_interval(lengths) is None:
        interval = f"no interval below {FEWEST_BLOCKS} trials"
    number = counted_text(len(lengths), "trial")
    return f"RTO: {median_text(lengths)} ms (median of {number}; {interval})."


def _until_sentence(records: Sequence[Record], part: RepeatsPart) -> str:
    until = part.until or ""
    rate = _rate(records, until, part)
    if rate.interval is None:
        return f"Whether {until} came is unknown."
    interval = _percents(rate)
    if part.end == "came":
        return f"{until} came in trial {len(records)}: a rate of {interval}."
    return f"{until} came in {rate.count} of {rate.trials} trials: a rate of {interval}."


def counted(records: Sequence[Record]) -> CellTrials:
    """The trials whose figures count, as the one cell that they are."""
    return CellTrials("trial", (), [each for each in records if each.counts and each.trial])


def _rate(records: Sequence[Record], what: str, part: RepeatsPart) -> Rate:
    return rate_of(records, what, ended_by_it=part.end == "came" and what == part.until)


def rates_of(records: Sequence[Record], part: RepeatsPart) -> list[Rate]:
    """What was waited for, lost members and writes, failed checks; each check that failed once."""
    failed = [
        check.name
        for each in records
        for check in each.checks
        if check.verdict == "fail" and each.status != "interrupted"
    ]
    first = [part.until] if part.until else []
    named = dict.fromkeys([*first, LOST_MEMBER, LOST_WRITE, FAILED_CHECK, *failed])
    return [_rate(records, what, part) for what in named]


def _tables(records: Sequence[Record], part: RepeatsPart) -> list[Part]:
    return [
        _rate_table(rates_of(records, part)),
        _figure_table(counted(records)),
        _trial_table(records, part),
        Notes.of([*_reasons(records), *_lines(records), RESTORED if part.fresh else HEALED]),
    ]


def _rate_table(rates: Sequence[Rate]) -> Table:
    rows: list[list[str | TableCell]] = [
        [
            _name(rate.what),
            TableCell(_count_text(rate), rate.count),
            TableCell(_share(rate), rate.count / rate.trials if rate.trials else None),
            _percents(rate),
        ]
        for rate in rates
    ]
    headings = ("what came", "trials", "rate", "95 % interval")
    return Table.of(headings, rows, "Rates", _RATE_NOTE, numbers=3)


def _name(what: str) -> str:
    if what.startswith(LOG):
        return cut(what, _LONGEST_PATTERN)
    return _WORDS.get(what, f"check {what} failed")


def _count_text(rate: Rate) -> str:
    unknown = f", {rate.unknown} {UNKNOWN}" if rate.unknown else ""
    return f"{rate.count} of {rate.trials}{unknown}"


def _share(rate: Rate) -> str:
    return f"{_percent(rate.count / rate.trials)} %" if rate.trials else UNKNOWN


def _percents(rate: Rate) -> str:
    """``0.6 … 60 %``."""
    if rate.interval is None:
        return ""
    return f"{_percent(rate.interval.low)} … {_percent(rate.interval.high)} %"


def _percent(share: float) -> str:
    return figure(100 * share, digits=3)


def _figure_table(cell: CellTrials) -> Table:
    rows: list[list[str | TableCell]] = []
    for name in TRIAL_METRICS:
        lengths = cell.lengths(name)
        if not lengths:
            continue
        metric = METRICS[name]
        unit = "" if metric.unit == "1/run" else f", {metric.unit}"
        shortest = min(length for length, _ in lengths)
        rows.append(
            [
                f"{metric.title}{unit}",
                str(len(lengths)),
                median_text(lengths),
                "" if median_interval(lengths) is None else interval_text(lengths),
                f"{ms_text(shortest)} … {longest_text(lengths)}",
            ]
        )
    headings = ("figure", "trials", "median", "95 % interval", "range")
    title = f"Figures, trials: {trials_text(cell)}"
    return Table.of(headings, rows, title, _FIGURE_NOTE, numbers=4)


def _trial_table(records: Sequence[Record], part: RepeatsPart) -> Table:
    rows: list[list[str | TableCell]] = []
    for record in records:
        failed = [each.name for each in record.checks if each.verdict == "fail"]
        lost = record.trial.lost_members if record.trial else None
        row: list[str | TableCell] = [
            str(record.block),
            TableCell(record.status, look=record.status),
            TableCell(rto_text(record), record.metrics.rto_ms),
            ", ".join(failed),
            ", ".join(lost or ()),
            _came_text(record, part),
            str(record.seed),
        ]
        rows.append(row)
    headings = ("trial", "status", "RTO ms", "failed checks", "lost members", "came", "seed")
    return Table.of(headings, rows, "Each trial")


def _came_text(record: Record, part: RepeatsPart) -> str:
    """Whether what was waited for came; empty where nothing was."""
    return "yes" if part.until and came(record, part.until) else ""


def _reasons(records: Sequence[Record]) -> Iterator[str]:
    """Why a trial is not ok."""
    for record in records:
        if record.status != "ok":
            yield f"trial {record.block} is {record.status}: {record.reason or UNKNOWN}"


def _lines(records: Sequence[Record]) -> Iterator[str]:
    """What was seen of lost members, and in the logs."""
    for record in records:
        if record.trial is None:
            continue
        for node, state in (record.trial.lost_members or {}).items():
            yield f"trial {record.block}: {node} is {state}"
        for found in record.trial.log_lines.values():
            for node, line in found.items():
                yield f"trial {record.block}: {node}: {line}"
