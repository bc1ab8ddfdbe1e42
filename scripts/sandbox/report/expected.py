"""PURE: what a matrix expected next to what it measured: a table, notes, a sentence of the answer,
data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.judge.compare import lasted
from sandbox.judge.survival import Lasted
from sandbox.record.manifest import CellPart, ExpectedPart, MatrixPart
from sandbox.record.metrics import METRICS
from sandbox.record.record import Record
from sandbox.report.document import Table
from sandbox.report.text import figure, varied
from sandbox.report.trial_cells import is_open, median_text, seen_median
from sandbox.report.trial_tables import cell_table

_HEADER = ("metric", "expected", "tolerance", "median", "runs", "outcome")


@dataclass(frozen=True, slots=True)
class Measured:
    """One cell's runs against what was expected of them. ``values``: each, and whether it is only a
    lower bound.
    """

    expected: ExpectedPart
    cell: CellPart
    values: Sequence[Lasted]

    @property
    def off(self) -> float | None:
        """How far the median is above (or, negative, below) the expected range; None if there is
        none.

        Where it depends on trials that were still out at their end, it is known only if even what
        was seen is above.
        """
        if not self.values:
            return None
        (low, high), middle = self.expected.between, seen_median(self.values)
        off = max(middle - high, 0.0) or min(middle - low, 0.0)
        return None if is_open(self.values) and off <= self.expected.tolerance else off

    @property
    def met(self) -> bool | None:
        """Whether the median is as expected, within the tolerance; None if that is not known."""
        return None if self.off is None else abs(self.off) <= self.expected.tolerance

    @property
    def words(self) -> str:
        """``as expected``, ``differs by +1,200 ms``, ``unknown``."""
        if self.off is None:
            return "unknown"
        least = "at least " if is_open(self.values) else ""
        return (
            "as expected"
            if self.met
            else f"differs by {least}{figure(self.off, sign='+')} {_unit(self.expected)}"
        )


def outcomes(part: MatrixPart, records: Sequence[Record]) -> list[Measured]:
    """Every expectation of every cell that can run, in the order of the file."""
    cells = {cell.name: cell for cell in part.cells if not cell.skipped}
    return [
        Measured(each, cells[name], _values(records, name, each.metric))
        for each in part.expected
        for name in each.cells
        if name in cells
    ]


def _values(records: Sequence[Record], cell: str, metric: str) -> list[Lasted]:
    own = [lasted(record, metric) for record in records if record.counts and record.cell == cell]
    return [found for found in own if found is not None]


def expected_tables(part: MatrixPart, records: Sequence[Record]) -> list[Table]:
    """A row for each expectation and cell; no table where nothing was expected."""
    factors = varied(part)
    found = outcomes(part, records)
    if not found:
        return []
    rows = [
        ([each.cell.levels.get(factor, "") for factor in factors], _row(each)) for each in found
    ]
    note = "The median of the runs, and between which values the matrix file expects it."
    return [cell_table(factors, _HEADER, rows, "Expected and measured", note)]


def _row(outcome: Measured) -> Sequence[str]:
    expected = outcome.expected
    tolerance = f"± {figure(expected.tolerance)}" if expected.tolerance else ""
    metric = f"{expected.metric.removesuffix('_ms')}, {_unit(expected)}"
    return (
        metric,
        _range_text(expected),
        tolerance,
        median_text(outcome.values),
        str(len(outcome.values)),
        outcome.words,
    )


def _unit(expected: ExpectedPart) -> str:
    return METRICS[expected.metric].unit


def _range_text(expected: ExpectedPart) -> str:
    """``2,700 … 3,250``, or the only value."""
    return " … ".join(dict.fromkeys(map(figure, expected.between)))


def expected_notes(part: MatrixPart, records: Sequence[Record]) -> list[str]:
    """What each range is computed from; and where it is that of several cells, whether these are
    alike.
    """
    alike: dict[tuple[str, str, str], list[Measured]] = {}
    for each in outcomes(part, records):
        expected = each.expected
        alike.setdefault((expected.metric, _range_text(expected), expected.because), []).append(
            each
        )
    return [
        f"expected {metric} of {text}{f': {because}' if because else ''}{_flat(found)}"
        for (metric, text, because), found in alike.items()
        if because or len(found) > 1
    ]


def _flat(found: Sequence[Measured]) -> str:
    """``; flat: medians of 4 cells from 2,650 to 2,810 ms``, which differ by no more than the
    tolerance.

    Empty for fewer than two cells.
    """
    known = [each for each in found if each.values and not is_open(each.values)]
    if len(known) < 2:
        return ""
    middles, expected = [seen_median(each.values) for each in known], known[0].expected
    low, high = min(middles), max(middles)
    word = "flat" if high - low <= expected.tolerance else "not flat"
    return (
        f"; {word}: medians of {len(known)} cells from {figure(low)} to {figure(high)}"
        f" {_unit(expected)}"
    )


def expected_sentence(part: MatrixPart, records: Sequence[Record]) -> str:
    """How many of the medians are as expected; empty where nothing was expected."""
    found = outcomes(part, records)
    if not found:
        return ""
    met, unknown = (sum(each.met is verdict for each in found) for verdict in (True, None))
    rest = f"; {unknown} {'is' if unknown == 1 else 'are'} unknown" if unknown else ""
    return f"{met} of {len(found)} expected medians {'was' if met == 1 else 'were'} met{rest}."


def expected_data(part: MatrixPart, records: Sequence[Record]) -> list[dict[str, Any]]:
    """The same as JSON data, in the metric's unit; ``off``: how far outside the range, null if
    unknown.
    """
    return [
        {
            "cell": each.cell.name,
            "metric": each.expected.metric,
            "between": list(each.expected.between),
            "tolerance": each.expected.tolerance,
            "because": each.expected.because,
            "median": None if not each.values or is_open(each.values) else seen_median(each.values),
            "runs": len(each.values),
            "off": each.off,
            "as_expected": each.met,
        }
        for each in outcomes(part, records)
    ]
