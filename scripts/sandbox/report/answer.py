"""PURE: the answer of a judged matrix to its question, and to what its file expects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.judge.compare import Judged, Verdict, lasted
from sandbox.judge.verdict import FEWEST_BLOCKS
from sandbox.record.manifest import CellPart, ExpectedPart, MatrixPart
from sandbox.record.metrics import METRICS
from sandbox.record.record import Record
from sandbox.record.trial import Lasted
from sandbox.report.document import Table
from sandbox.report.text import figure, levels_text, shown, varied
from sandbox.report.trial_cells import cell_table, is_open, median_text, seen_median

Levels = Mapping[str, str]
"""Of one cell, by factor."""
MOST_PLACES = 3
"""Nobody reads more than these: beyond that, the cells are only counted."""
_TOO_FEW = "too few"
_PHRASES = {
    "better": "is better",
    "worse": "is worse",
    "no difference": "makes no difference",
    "too noisy": "cannot be distinguished from noise",
    "not_steady": "did not run steadily",
    "infra_error": "failed because of the environment",
    "failed": "failed",
    "skipped": "was skipped",
    "not run": "was not run",
    "not measured": "has no value for this metric",
    _TOO_FEW: f"has too few blocks for a verdict (at least {FEWEST_BLOCKS} are needed)",
}
_EXPECTED = ("metric", "expected", "tolerance", "median", "runs", "outcome")


def answer(part: MatrixPart, judged: Judged) -> str:
    """The effect of each change on the first metric, and the levels of the other factors where it
    holds.

    ``By tps: commits durable is worse at threads 4, 16 (-31.2 % to -12.0 %), makes no difference at
    threads 1.``
    """
    if judged.unfit:
        return "No conclusion: the baseline differs from itself."
    metric = part.metrics[0]
    verdicts = [verdict for verdict in judged.verdicts if verdict.metric == metric]
    if not verdicts:
        return "Nothing was compared: no cell could run alongside its baseline."
    blocks = max(
        (verdict.judgement.effect.blocks for verdict in verdicts if verdict.judgement), default=0
    )
    if 0 < blocks < FEWEST_BLOCKS:
        return (
            f"{blocks} block{'s are' if blocks > 1 else ' is'} too few: at least {FEWEST_BLOCKS}"
            " are needed."
        )
    levels = {cell.name: cell.levels for cell in part.cells}
    changes: dict[str, dict[str, list[Verdict]]] = {}
    for verdict in verdicts:
        own = levels[verdict.cell]
        changed = [
            factor for factor, level in own.items() if part.baseline.get(factor, level) != level
        ]
        by_word = changes.setdefault(levels_text(own, changed), {})
        too_few = verdict.judgement is not None and verdict.judgement.effect.interval is None
        by_word.setdefault(_TOO_FEW if too_few else verdict.word, []).append(verdict)
    phrases = [
        f"{change} {', '.join(_word(part, levels, word, found) for word, found in by_word.items())}"
        for change, by_word in changes.items()
    ]
    return f"By {metric}: {'; '.join(phrases)}."


def _word(
    part: MatrixPart, levels: Mapping[str, Levels], word: str, verdicts: Sequence[Verdict]
) -> str:
    free = {factor: part.factors[factor] for factor in varied(part) if factor not in part.baseline}
    at = places(free, [levels[verdict.cell] for verdict in verdicts])
    metric, effects = (
        METRICS[verdicts[0].metric],
        [each.judgement.effect for each in verdicts if each.judgement],
    )
    margin = sizes = ""
    # No test can show a difference of zero, only one smaller than the margin.
    if word == "no difference":
        largest = max(effect.margin for effect in effects)
        margin = (
            f"of {metric.shown(largest):.1%} or more"
            if metric.scale == "ratio"
            else f"of {figure(largest)} or more"
        )
    if word in ("better", "worse"):
        estimates = [effect.estimate for effect in effects]
        ends = [min(estimates), max(estimates)] if len(estimates) > 1 else estimates
        sizes = f"({' to '.join(shown(metric, end) for end in ends)})"
    return " ".join(filter(None, (_PHRASES[word], margin, at, sizes)))


def places(factors: Mapping[str, Sequence[str]], cells: Sequence[Levels]) -> str:
    """``at threads 1, 4 and workload a, also at threads 1 and workload b``; empty where every level
    is meant.

    ``factors``: those that distinguish the cells, with all their levels.
    """
    found = products(list(factors), cells)
    if len(found) > MOST_PLACES:
        return f"in {len(cells)} cells"
    text = [_place(factors, product) for product in found]
    return ", also ".join(place for place in text if place)


def products(factors: Sequence[str], cells: Sequence[Levels]) -> list[dict[str, list[str]]]:
    """Cells as disjoint products of levels, split by factors in the order that gives the fewest."""
    if not factors:
        return [{}]
    return min(
        (_split(factor, [each for each in factors if each != factor], cells) for factor in factors),
        key=len,
    )


def _split(
    factor: str, others: Sequence[str], cells: Sequence[Levels]
) -> list[dict[str, list[str]]]:
    """Groups the levels of a factor that occur with the same levels of the others."""
    by_level: dict[str, list[Levels]] = {}
    for cell in cells:
        by_level.setdefault(cell[factor], []).append(cell)
    alike: dict[frozenset[tuple[str, ...]], list[str]] = {}
    for level, found in by_level.items():
        alike.setdefault(
            frozenset(tuple(cell[each] for each in others) for cell in found), []
        ).append(level)
    return [
        {factor: levels, **product}
        for levels in alike.values()
        for product in products(others, by_level[levels[0]])
    ]


def _place(factors: Mapping[str, Sequence[str]], product: Mapping[str, Sequence[str]]) -> str:
    text = [
        f"{factor} {', '.join(product[factor])}"
        for factor, levels in factors.items()
        if len(product[factor]) < len(levels)
    ]
    return f"at {' and '.join(text)}" if text else ""


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
            else f"differs by {least}{figure(self.off, sign='+')} {_expected_unit(self.expected)}"
        )


def outcomes(part: MatrixPart, records: Sequence[Record]) -> list[Measured]:
    """Every expectation of every cell that can run, in the order of the file."""
    cells = {cell.name: cell for cell in part.cells if not cell.skipped}
    return [
        Measured(each, cells[name], _measured_values(records, name, each.metric))
        for each in part.expected
        for name in each.cells
        if name in cells
    ]


def _measured_values(records: Sequence[Record], cell: str, metric: str) -> list[Lasted]:
    own = [lasted(record, metric) for record in records if record.counts and record.cell == cell]
    return [found for found in own if found is not None]


def expected_tables(part: MatrixPart, records: Sequence[Record]) -> list[Table]:
    """A row for each expectation and cell; no table where nothing was expected."""
    factors = varied(part)
    found = outcomes(part, records)
    if not found:
        return []
    rows = [
        ([each.cell.levels.get(factor, "") for factor in factors], _expected_row(each))
        for each in found
    ]
    note = "The median of the runs, and between which values the matrix file expects it."
    return [cell_table(factors, _EXPECTED, rows, "Expected and measured", note)]


def _expected_row(outcome: Measured) -> Sequence[str]:
    expected = outcome.expected
    tolerance = f"± {figure(expected.tolerance)}" if expected.tolerance else ""
    metric = f"{expected.metric.removesuffix('_ms')}, {_expected_unit(expected)}"
    return (
        metric,
        _range_text(expected),
        tolerance,
        median_text(outcome.values),
        str(len(outcome.values)),
        outcome.words,
    )


def _expected_unit(expected: ExpectedPart) -> str:
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
        f" {_expected_unit(expected)}"
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
