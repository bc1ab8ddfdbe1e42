"""PURE: the answer of a matrix of trials in up to three sentences: which cells were best, and what
was lost where.
"""

from collections.abc import Sequence

from sandbox.judge.compare import Judged
from sandbox.judge.survival import median_interval
from sandbox.judge.verdict import FEWEST_BLOCKS
from sandbox.record.manifest import MatrixPart
from sandbox.record.metrics import METRICS
from sandbox.record.record import Record
from sandbox.report.answer import answer, places
from sandbox.report.expected import expected_sentence
from sandbox.report.text import figure, varied
from sandbox.report.trial_cells import (
    CellTrials,
    asked,
    cells_of,
    is_open,
    lost_in,
    ms_text,
    of_trials,
    seen_median,
)

_EVERYWHERE = "in every cell"
_RTO = "rto_ms"
_UNITS = {"1/run": "per trial"}


def answer_of(part: MatrixPart, judged: Judged, records: Sequence[Record]) -> str:
    """The answer of a matrix, whether or not something breaks in it."""
    found = trial_answer(part, judged, records) if of_trials(records) else answer(part, judged)
    return " ".join(filter(None, (found, expected_sentence(part, records))))


def trial_answer(part: MatrixPart, judged: Judged, records: Sequence[Record]) -> str:
    """``Writes were back first at …: after 310 ms (median of 10 trials), … No acknowledged write
    was lost …``

    By another metric, where the matrix asks for one; what was lost is the whole answer to a
    question of that.
    """
    cells, metric = cells_of(part, records), asked(part)
    best = [] if metric == "lost" else [_best(part, judged, cells, metric)]
    return " ".join([*best, _lost(part, cells)])


def _best(part: MatrixPart, judged: Judged, cells: Sequence[CellTrials], metric: str) -> str:
    what = "times" if metric == _RTO else metric
    if judged.unfit:
        return f"No conclusion on {what}: the baseline differs from itself."
    known = [
        cell
        for cell in cells
        if cell.name != part.canary.cell and len(cell.lengths(metric)) >= FEWEST_BLOCKS
    ]
    if not known:
        return f"No cell has the {FEWEST_BLOCKS} trials that a verdict on {what} needs."
    ordered = sorted(known, key=lambda cell: _rank(cell, metric))
    best = _rank(ordered[0], metric)
    if best[0]:
        still_open = (
            "ended before writes were back" if metric == _RTO else f"ended with {metric} still open"
        )
        return (
            f"In every cell with {FEWEST_BLOCKS} trials or more, half or more of them {still_open}."
        )
    first = [cell for cell in ordered if _rank(cell, metric) == best]
    later = ordered[len(first) :]
    following = [cell for cell in later if _rank(cell, metric) == _rank(later[0], metric)]
    return (
        _leads(part, first, following)
        if metric == _RTO
        else _leads_by(part, metric, first, following)
    )


def _rank(cell: CellTrials, metric: str = _RTO) -> tuple[bool, float]:
    lengths = cell.ranked(metric)
    return is_open(lengths), round(seen_median(lengths), 1)


def _leads_by(
    part: MatrixPart, metric: str, first: Sequence[CellTrials], following: Sequence[CellTrials]
) -> str:
    """``By join_ms: least at …: 6,200 ms (median of 10 trials), 900 ms less than next, at …``."""
    middle, unit = (
        _rank(first[0], metric)[1],
        _UNITS.get(METRICS[metric].unit, METRICS[metric].unit),
    )
    up = METRICS[metric].higher_is_better
    fewest, value = min(len(cell.lengths(metric)) for cell in first), 0.0 - middle if up else middle
    text = (
        f"By {metric}: {'greatest' if up else 'least'} {_where(part, first)}: {figure(value)}"
        f" {unit}"
    )
    text += f" (median of {fewest} trials)"
    if not following:
        return f"{text}."
    still_open, later = _rank(following[0], metric)
    ahead = f"{'at least ' if still_open else ''}{figure(later - middle)} {unit}"
    doubt = (
        "; their intervals overlap, so the order is not certain"
        if _overlap(first, following, metric)
        else ""
    )
    return (
        f"{text}, {ahead} {'more' if up else 'less'} than next, {_where(part, following)}{doubt}."
    )


def _leads(part: MatrixPart, first: Sequence[CellTrials], following: Sequence[CellTrials]) -> str:
    """By how much the first cells were ahead of the next one."""
    middle, where = _rank(first[0])[1], _where(part, first)
    fewest = min(len(cell.lengths("rto_ms")) for cell in first)
    if middle == 0:
        text = f"Writes had no outage {where} (median of {fewest} trials)"
    else:
        text = (
            f"Writes were back first {where}: after {ms_text(middle)} ms (median of {fewest}"
            " trials)"
        )
    if not following:
        return f"{text}."
    still_out, later = _rank(following[0])
    ahead, next_ones = (
        f"{'at least ' if still_out else ''}{ms_text(later - middle)} ms",
        _where(part, following),
    )
    doubt = (
        "; their intervals overlap, so the order is not certain"
        if _overlap(first, following)
        else ""
    )
    if middle == 0:
        return f"{text}; they were back next {next_ones}, after {ahead}{doubt}."
    return f"{text}, {ahead} before the next, {next_ones}{doubt}."


def _overlap(
    first: Sequence[CellTrials], following: Sequence[CellTrials], metric: str = _RTO
) -> bool:
    """Whether the median of a next cell may be as good as that of a first one."""
    ends = [
        [median_interval(cell.ranked(metric)) for cell in cells] for cells in (first, following)
    ]
    return any(
        one is None or other is None or one.high is None or one.high >= other.low
        for one in ends[0]
        for other in ends[1]
    )


def _where(part: MatrixPart, cells: Sequence[CellTrials]) -> str:
    levels = {cell.name: cell.levels for cell in part.cells}
    levels[part.canary.cell] = levels.get(part.canary.baseline, {})
    named = list({tuple(levels[cell.name].items()): levels[cell.name] for cell in cells}.values())
    return places({factor: part.factors[factor] for factor in varied(part)}, named) or _EVERYWHERE


def _lost(part: MatrixPart, cells: Sequence[CellTrials]) -> str:
    """How many acknowledged writes were lost, where; and whether some trials could not be
    judged.
    """
    found = {cell.name: lost_in(cell) for cell in cells}
    writes, losing, unjudged = (sum(each) for each in zip(*found.values(), strict=True))
    trials = sum(cell.count for cell in cells)
    unknown = f" Whether any was lost is unknown in {unjudged} trials." if unjudged else ""
    if unjudged == trials:
        return "Whether acknowledged writes were lost is unknown."
    if not writes:
        return f"No acknowledged write was lost in {trials - unjudged} trials.{unknown}"
    where = _where(part, [cell for cell in cells if found[cell.name][0]])
    count = f"{writes:,} acknowledged write{'s were' if writes > 1 else ' was'} lost"
    return f"{count}, in {losing} of {trials - unjudged} trials, {where}.{unknown}"
