"""PURE: what figures are drawn from: runs, the place of each cell, and the lines of runs over
time.
"""

import itertools
import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sandbox.judge.compare import Judged
from sandbox.record.manifest import CellPart, MatrixPart
from sandbox.record.record import Record
from sandbox.record.server_series import Points
from sandbox.report.charts.svg import LOG_FROM, Line, Mark, Panel
from sandbox.report.text import levels_text, varied

MOST_POINTS = 60
"""Per line; longer runs are drawn as the means of this many equal pieces."""
_NUMBER = re.compile(r"\d+\.?\d*|\.\d+")
_MOST_RUNS = 24
"""Faint lines per variant and panel."""


@dataclass(frozen=True, slots=True)
class RunData:
    """One run, as loaded."""

    record: Record
    seconds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Column of the one-second series → its values in the measured window."""
    servers: Mapping[str, Mapping[str, Points]] = field(default_factory=dict)
    """Server → counter → points, second by second."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Label of each existing file → its path relative to the result's folder."""

    @property
    def name(self) -> str:
        """``<cell>.<block>``."""
        return f"{self.record.cell}.{self.record.block}"

    @property
    def good(self) -> bool:
        """Whether its figures count."""
        return self.record.counts


ByCell = Mapping[str, Sequence[RunData]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a cell is drawn: position along the axis, index of its variant, title of its panel."""

    x: int
    variant: int
    panel: str
    where: str
    """The panel and the level along the axis: everything but the variant."""


@dataclass(frozen=True, slots=True)
class Layout:
    """``x``: the factor along the axis; None where no factor is numeric: then the variants stand
    side by side.
    """

    x: str | None
    xs: tuple[str, ...]
    variants: tuple[str, ...]
    """Named by their levels, the baseline first: one colour each."""
    places: Mapping[str, Place]
    """By cell."""

    @property
    def panels(self) -> list[str]:
        """Titles of the panels, in file order; a single panel has an empty one."""
        return list(dict.fromkeys(place.panel for place in self.places.values()))

    @property
    def wheres(self) -> list[str]:
        """Every combination of levels at which variants are compared, panel by panel and along the
        axis.
        """
        panels = self.panels
        ordered = sorted(
            self.places.values(), key=lambda place: (panels.index(place.panel), place.x)
        )
        return list(dict.fromkeys(place.where for place in ordered))

    @property
    def names(self) -> tuple[str, ...]:
        """Categories along the axis."""
        return self.xs if self.x else self.variants

    def position(self, place: Place) -> float:
        """Along the axis, the variants of one level side by side."""
        if self.x is None:
            return place.variant
        return place.x + 0.55 * (place.variant - (len(self.variants) - 1) / 2) / len(self.variants)

    def label(self, place: Place) -> str:
        """Variant and place, for a tooltip; the variant alone where nothing else is varied."""
        return ", ".join(filter(None, (self.variants[place.variant], place.where)))

    def panel(
        self, title: str, marks: Sequence[Mark], unit: str,
        zero: bool = True, log_from: float = LOG_FROM, group: str = "",
    ) -> Panel:  # fmt: skip
        """A chart of cells along the axis."""
        turned = self.x is None
        return Panel(
            title, marks, self.x or "", unit, self.names, (0.0, 1.0), turned, zero, log_from, group
        )


def layout_of(part: MatrixPart) -> Layout:
    """A numeric factor such as threads along the axis; factors that the baseline sets by colour;
    others in panels.
    """
    free = [factor for factor in varied(part) if factor not in part.baseline]
    x = next((factor for factor in free if all(map(_NUMBER.fullmatch, part.factors[factor]))), None)
    xs = tuple(part.factors[x]) if x else ()
    others = [factor for factor in free if factor != x]
    compared = [factor for factor in varied(part) if factor in part.baseline] or list(part.baseline)
    named = {cell.name: levels_text(cell.levels, compared) for cell in part.cells}
    variants = tuple(dict.fromkeys([levels_text(part.baseline, compared), *named.values()]))
    places = {
        cell.name: _place(cell, x, xs, others, variants.index(named[cell.name]))
        for cell in part.cells
    }
    return Layout(x, xs, variants, places)


def _place(
    cell: CellPart, x: str | None, xs: Sequence[str], others: Sequence[str], variant: int
) -> Place:
    panel = levels_text(cell.levels, others)
    where = ", ".join(filter(None, (panel, levels_text(cell.levels, [x]) if x else "")))
    return Place(xs.index(cell.levels[x]) if x else 0, variant, panel, where)


def by_cell(runs: Iterable[RunData]) -> dict[str, list[RunData]]:
    """The runs whose figures count, by cell."""
    found: dict[str, list[RunData]] = {}
    for run in runs:
        if run.good:
            found.setdefault(run.record.cell, []).append(run)
    return found


def telling(layout: Layout, judged: Judged, most: int) -> list[str]:
    """Combinations to draw second by second: all, or those with the largest real differences; in
    file order.
    """
    if len(layout.wheres) <= most:
        return layout.wheres
    sizes = dict.fromkeys(layout.wheres, (False, 0.0))
    for verdict in judged.verdicts:
        if verdict.judgement and verdict.cell in layout.places:
            where = layout.places[verdict.cell].where
            size = abs(verdict.judgement.effect.estimate) / verdict.judgement.effect.margin
            sizes[where] = max(sizes[where], (verdict.word in ("better", "worse"), size))
    best = sorted(sizes, key=lambda where: sizes[where], reverse=True)[:most]
    return [where for where in layout.wheres if where in best]


def run_lines(lines: Sequence[Sequence[float]], variant: int) -> list[Mark]:
    """Faint lines of the runs (the first ones of very many), and a strong line for the median of
    all.
    """
    drawn = lines[:_MOST_RUNS] if len(lines) > 1 else ()
    return [
        *(Line(thinned(line), variant, faint=True) for line in drawn),
        median_line(lines, variant),
    ]


def median_line(lines: Sequence[Points], variant: int) -> Line:
    """The median over the runs that have a value, second by second."""
    known = (
        [value for value in second if value is not None] for second in itertools.zip_longest(*lines)
    )
    return Line(
        thinned([statistics.median(values) if values else None for values in known]), variant
    )


def thinned(line: Points) -> list[tuple[float, float] | None]:
    """Points (second counted from 1, value), or the means of MOST_POINTS equal pieces where there
    are more.
    """
    piece = math.ceil(len(line) / MOST_POINTS)
    means = (
        (first + (piece + 1) / 2, mean(line[first : first + piece]))
        for first in range(0, len(line), piece)
    )
    return [None if height is None else (middle, height) for middle, height in means]


def mean(points: Points) -> float | None:
    """The mean of the known ones."""
    known = [value for value in points if value is not None]
    return statistics.fmean(known) if known else None
