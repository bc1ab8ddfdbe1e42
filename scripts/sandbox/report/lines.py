"""PURE: the lines of runs over time: thinned where they are long, limited where they are many."""

import math
import statistics
from collections.abc import Sequence

from sandbox.report.layout import Layout
from sandbox.report.svg import Line, Mark

MOST_POINTS = 60
"""Per line; longer runs are drawn as the means of this many equal pieces."""
_MOST_RUNS = 24
"""Faint lines per variant and panel."""


def run_lines(lines: Sequence[Sequence[float]], variant: int) -> list[Mark]:
    """Faint lines of the runs (the first ones of very many), and a strong line for the median of all."""
    drawn: list[Mark] = (
        [Line(thinned(line), variant, faint=True) for line in lines[:_MOST_RUNS]] if len(lines) > 1 else []
    )
    return [*drawn, median_line(lines, variant)]


def median_line(lines: Sequence[Sequence[float | None]], variant: int) -> Line:
    """The median over the runs that have a value, second by second."""
    middle: list[float | None] = []
    for second in range(max(map(len, lines))):
        there = [value for line in lines if second < len(line) and (value := line[second]) is not None]
        middle.append(statistics.median(there) if there else None)
    return Line(thinned(middle), variant)


def thinned(line: Sequence[float | None]) -> list[tuple[float, float] | None]:
    """Points (second counted from 1, value), or the means of MOST_POINTS equal pieces where there are more."""
    piece = math.ceil(len(line) / MOST_POINTS)
    points: list[tuple[float, float] | None] = []
    for first in range(0, len(line), piece):
        values = [value for value in line[first : first + piece] if value is not None]
        middle = first + (piece + 1) / 2
        points.append((middle, statistics.fmean(values)) if values else None)
    return points


def hidden(layout: Layout, chosen: Sequence[str], where: str) -> str:
    """A note on what a page omits; empty where it shows all."""
    left = len(layout.wheres) - len(chosen)
    if not left:
        return ""
    return f"Of {len(layout.wheres)} combinations, the {len(chosen)} with the largest differences; the rest: {where}."
