"""PURE: the answer of a matrix of trials in up to three sentences: who was back first, and what was lost where."""

from collections.abc import Sequence

from sandbox.report.answer import answer, places
from sandbox.report.expected import expected_sentence
from sandbox.report.text import varied
from sandbox.report.trial_cells import CellTrials, cells_of, is_open, lost_in, ms_text, of_trials, seen_median
from sandbox.results.compare import Judged
from sandbox.results.manifest import MatrixPart
from sandbox.results.record import Record
from sandbox.results.statistics.survival import median_interval
from sandbox.results.statistics.verdict import FEWEST_BLOCKS

_EVERYWHERE = "in every cell"


def answer_of(part: MatrixPart, judged: Judged, records: Sequence[Record]) -> str:
    """The answer of a matrix, whether or not something breaks in it."""
    found = trial_answer(part, judged, records) if of_trials(records) else answer(part, judged)
    return " ".join(filter(None, (found, expected_sentence(part, records))))


def trial_answer(part: MatrixPart, judged: Judged, records: Sequence[Record]) -> str:
    """``Writes were back first at …: after 310 ms (median of 10 trials), … No acknowledged write was lost …``"""
    cells = cells_of(part, records)
    return f"{_first_back(part, judged, cells)} {_lost(part, cells)}"


def _first_back(part: MatrixPart, judged: Judged, cells: Sequence[CellTrials]) -> str:
    if judged.unfit:
        return "No conclusion on times: the baseline differs from itself."
    known = [cell for cell in cells if cell.name != part.canary.cell and len(cell.lengths("rto_ms")) >= FEWEST_BLOCKS]
    if not known:
        return f"No cell has the {FEWEST_BLOCKS} trials that a verdict on times needs."
    ordered = sorted(known, key=_rank)
    if is_open(ordered[0].lengths("rto_ms")):
        return "Everywhere, most trials ended before writes were back."
    first = [cell for cell in ordered if _rank(cell) == _rank(ordered[0])]
    later = ordered[len(first) :]
    return _leads(part, first, [cell for cell in later if _rank(cell) == _rank(later[0])])


def _rank(cell: CellTrials) -> tuple[bool, float]:
    lengths = cell.lengths("rto_ms")
    return is_open(lengths), round(seen_median(lengths), 1)


def _leads(part: MatrixPart, first: Sequence[CellTrials], following: Sequence[CellTrials]) -> str:
    """By how much the first cells were ahead of the next one."""
    middle, where = _rank(first[0])[1], _where(part, first)
    fewest = min(len(cell.lengths("rto_ms")) for cell in first)
    if middle == 0:
        text = f"Writes had no outage {where} (median of {fewest} trials)"
    else:
        text = f"Writes were back first {where}: after {ms_text(middle)} ms (median of {fewest} trials)"
    if not following:
        return f"{text}."
    still_out, later = _rank(following[0])
    ahead, next_ones = f"{'at least ' if still_out else ''}{ms_text(later - middle)} ms", _where(part, following)
    doubt = "; their intervals overlap, so the order is not certain" if _overlap(first, following) else ""
    if middle == 0:
        return f"{text}; they were back next {next_ones}, after {ahead}{doubt}."
    return f"{text}, {ahead} before the next, {next_ones}{doubt}."


def _overlap(first: Sequence[CellTrials], following: Sequence[CellTrials]) -> bool:
    """Whether the median of a next cell may be as short as that of a first one."""
    ends = [[median_interval(cell.lengths("rto_ms")) for cell in cells] for cells in (first, following)]
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
    """How many acknowledged writes were lost, where; and whether some trials could not be judged."""
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
