"""PURE: the trials of a matrix by cell: their lengths, medians and text; the factor that holds the
faults.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sandbox.judge.compare import lasted
from sandbox.judge.rank_tests import censored_median, median_interval
from sandbox.judge.verdict import FEWEST_BLOCKS, FEWEST_TRIALS
from sandbox.record.manifest import CellPart, MatrixPart
from sandbox.record.metrics import METRICS
from sandbox.record.record import Record
from sandbox.record.trial import Lasted
from sandbox.report.document import Column, Row, Table, TableCell
from sandbox.report.text import figure, varied

TRIAL_METRICS = tuple(each.name for each in METRICS.values() if "trial" in each.produced_by)
TRIAL_DOTS = tuple(name for name in TRIAL_METRICS if METRICS[name].group != "cluster")
"""Drawn as a dot for each trial."""
MOST_TIMELINES = 12
CANARY = "canary"
LATER_MS = 1000
"""A first outage that began so long after t0 may have come from the fault late, or from something
else.
"""


@dataclass(frozen=True, slots=True)
class CellTrials:
    """The trials of one cell whose figures count. ``levels``: of the varied factors; the canary's
    say ``canary``.
    """

    name: str
    levels: Sequence[str]
    records: Sequence[Record]

    def lengths(self, metric: str) -> list[Lasted]:
        """A time in ms of each trial that has it, and whether it was still open at the end."""
        return [length for record in self.records if (length := lasted(record, metric)) is not None]

    def ranked(self, metric: str) -> list[Lasted]:
        """The same of any metric, with its sign changed where higher is better: the best comes
        first.
        """
        sign = -1 if METRICS[metric].higher_is_better else 1
        return [(sign * value, still_open) for value, still_open in self.lengths(metric)]

    @property
    def count(self) -> int:
        """How many trials."""
        return len(self.records)


def asked(part: MatrixPart) -> str:
    """The metric that answers the question of a matrix of trials: its first one, or the RTO if that
    is no trial's.
    """
    first = part.metrics[0]
    return first if first in TRIAL_METRICS else "rto_ms"


def of_trials(records: Iterable[Record]) -> bool:
    """Whether anything breaks in any of these runs."""
    return any(record.trial is not None for record in records)


def cells_of(part: MatrixPart, records: Sequence[Record]) -> list[CellTrials]:
    """Every cell that can run, in the order of the file, then the canary where it has run."""
    own: dict[str, list[Record]] = {}
    for record in records:
        if record.counts and record.trial is not None:
            own.setdefault(record.cell, []).append(record)
    cells = [
        CellTrials(cell.name, _levels(part, cell), own.get(cell.name, []))
        for cell in part.cells
        if not cell.skipped
    ]
    canary = part.canary.cell
    of = next((cell for cell in part.cells if cell.name == part.canary.baseline), None)
    if of is None or canary not in own:
        return cells
    named = [
        CANARY if factor in part.baseline else level
        for factor, level in zip(varied(part), _levels(part, of), strict=True)
    ]
    return [*cells, CellTrials(canary, named, own[canary])]


def _levels(part: MatrixPart, cell: CellPart) -> list[str]:
    return [cell.levels.get(factor, "") for factor in varied(part)]


def fault_factor(part: MatrixPart, records: Sequence[Record]) -> str | None:
    """The factor whose levels differ in what breaks: each level breaks one thing, and not all the
    same one.

    The last one where none does so; None in a matrix in which nothing is varied.
    """
    broken = {
        record.cell: _broken(record) for record in records if record.trial and record.trial.steps
    }
    known = [(cell.levels, broken[cell.name]) for cell in part.cells if cell.name in broken]
    factors = varied(part)
    for factor in factors:
        by_level: dict[str, set[object]] = {}
        for levels, what in known:
            by_level.setdefault(levels.get(factor, ""), set()).add(what)
        if (
            all(len(each) == 1 for each in by_level.values())
            and len({each for _, each in known}) > 1
        ):
            return factor
    return factors[-1] if factors else None


def _broken(record: Record) -> object:
    """What the schedule says; the nodes that it meant may be others in each trial."""
    steps = record.trial.steps if record.trial else []
    return tuple(
        (step.name, step.target, step.at_s, tuple(sorted(step.options.items()))) for step in steps
    )


def seen_median(lengths: Sequence[Lasted]) -> float:
    """The median, open trials with what was seen of them."""
    return statistics.median(length for length, _ in lengths)


def is_open(lengths: Sequence[Lasted]) -> bool:
    """Whether so many trials were open that the median is only at least what was seen."""
    return censored_median(lengths) is None


def ms_text(ms: float) -> str:
    """``2,310``; ``3.4`` where it is short."""
    return figure(ms, digits=3) if ms < 100 else f"{ms:,.0f}"


def median_text(lengths: Sequence[Lasted]) -> str:
    """``2,310``; ``≥ 60,000`` where it hangs on open trials; empty without a trial."""
    if not lengths:
        return ""
    return f"{'≥ ' if is_open(lengths) else ''}{ms_text(seen_median(lengths))}"


def median_of(cell: CellTrials, metric: str) -> str:
    """The median of the trials that have a figure; empty without any."""
    values = [
        value for record in cell.records if (value := getattr(record.metrics, metric)) is not None
    ]
    return figure(statistics.median(values)) if values else ""


def interval_text(lengths: Sequence[Lasted]) -> str:
    """``2,100 … 2,900``, ``2,100 … open``; that there are too few; empty without a trial."""
    if not lengths:
        return ""
    found = median_interval(lengths)
    if found is None:
        return f"fewer than {FEWEST_BLOCKS} trials"
    return f"{ms_text(found.low)} … {'open' if found.high is None else ms_text(found.high)}"


def longest_text(lengths: Sequence[Lasted]) -> str:
    """The maximum; ``≥`` where an open trial may have lasted longer."""
    if not lengths:
        return ""
    longest = max(length for length, _ in lengths)
    return f"{'≥ ' if any(still_open for _, still_open in lengths) else ''}{ms_text(longest)}"


def trials_text(cell: CellTrials) -> str:
    """How many, with a label where these are few."""
    if cell.count < FEWEST_BLOCKS:
        return f"{cell.count} (no verdict)"
    return f"{cell.count} (few)" if cell.count < FEWEST_TRIALS else str(cell.count)


def only_healed(record: Record) -> bool:
    """Whether the first outage lasted until a fault was healed: nothing had replaced what was
    broken.
    """
    trial, rto, outage = record.trial, lasted(record, "rto_ms"), lasted(record, "outage_first_ms")
    if trial is None or trial.t0_ms is None or rto is None or outage is None or rto[1]:
        return False
    back_ms = trial.t0_ms + rto[0]
    healed = [step.heal_began_ms for step in trial.steps if step.heal_began_ms is not None]
    return any(back_ms - outage[0] < at_ms <= back_ms for at_ms in healed)


def rto_text(record: Record) -> str:
    """The RTO of one trial in ms; ``≥`` where writes were not back; empty where there is none."""
    found = lasted(record, "rto_ms")
    return "" if found is None else f"{'≥ ' if found[1] else ''}{ms_text(found[0])}"


def cell_table(
    factors: Sequence[str],
    header: Sequence[str],
    rows: Sequence[tuple[Sequence[str], Sequence[str | TableCell]]],
    title: str,
    note: str,
) -> Table:
    """A row for each cell: its levels of the factors, then its figures under the headings."""
    columns = [*map(Column, factors), *(Column(heading, number=True) for heading in header)]
    shown = [
        Row.of([*levels, *figures], look=CANARY if CANARY in levels else "")
        for levels, figures in rows
    ]
    return Table(columns, shown, title, note)


def worst_trials(
    part: MatrixPart, records: Sequence[Record], most: int = MOST_TIMELINES
) -> list[Record]:
    """The median trial of each of the worst cells, by the metric that the matrix asks for; the
    worst first.
    """
    metric = asked(part)
    of_cells = [
        cell
        for cell in cells_of(part, records)
        if cell.lengths(metric) and cell.name != part.canary.cell
    ]
    worst = sorted(of_cells, key=lambda cell: _rank(cell.ranked(metric)), reverse=True)
    found = (median_trial(cell, metric) for cell in worst[:most])
    return [each for each in found if each is not None]


def _rank(lengths: Sequence[Lasted]) -> tuple[bool, float]:
    return is_open(lengths), seen_median(lengths)


def median_trial(cell: CellTrials, metric: str) -> Record | None:
    """The trial in the middle; open ones come last; of an even number, the lower one in the middle.

    None where no trial has the figure.
    """
    known = [
        (found, record) for record in cell.records if (found := lasted(record, metric)) is not None
    ]
    ordered = sorted(known, key=lambda each: (each[0][1], each[0][0]))
    if not ordered:
        return None
    return ordered[(len(ordered) - 1) // 2][1]


def lost_in(cell: CellTrials) -> tuple[int, int, int]:
    """(acknowledged writes that were lost, trials that lost any, trials in which that could not be
    judged).
    """
    found = [record.metrics.lost for record in cell.records]
    return (
        sum(lost or 0 for lost in found),
        sum(bool(lost) for lost in found),
        sum(lost is None for lost in found),
    )


def heat_of(ms: float, all_ms: Sequence[float]) -> float:
    """0 to 1 by the logarithm of a time, from the shortest to the longest of all; what is below 1
    ms counts as that.
    """
    low, high = (math.log(max(1.0, end)) for end in (min(all_ms), max(all_ms)))
    return (math.log(max(1.0, ms)) - low) / (high - low) if high > low else 0.0
