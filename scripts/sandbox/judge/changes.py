"""Where a series changed: drift and steps of a run, flagged and never trimmed; lasting changes of a
history.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

FEWEST_POINTS = 30
LARGEST_DRIFT = 0.05
"""As a share of the series' mean, over the whole window."""
DRIFT_P = 0.01
LARGEST_STEP = 3.0
"""In pooled standard deviations of the two sides."""
_SHORTEST_SEGMENT = 5
_ROUNDING = 1e-12
"""As a share of the largest value."""


@dataclass(frozen=True, slots=True)
class Shift:
    """One way in which a series was unsteady. ``share``: of the series' mean, over the whole window
    for a drift.

    ``at``: points before a step. ``block``: that of its run.
    """

    kind: Literal["drift", "step"]
    share: float
    at: int = 0
    block: int | None = None


def changes(points: Sequence[float]) -> list[Shift] | None:
    """None for fewer than 30 points; else its drift and steps, if any (docs/statistics.md, rule
    4).
    """
    if len(points) < FEWEST_POINTS:
        return None
    series = np.asarray(points, dtype=float)
    return [*_drift(series), *_steps(series)]


def _drift(series: Any) -> list[Shift]:
    """Theil–Sen slope over the window above 5 % of the mean, and Mann–Kendall p < 0.01 once
    pre-whitened.
    """
    # here: it takes a second to import, and a bench or a short matrix needs neither.
    from scipy import stats

    mean = float(np.mean(series))
    slope = float(stats.theilslopes(series).slope)
    drift = slope * (len(series) - 1)
    if mean == 0 or abs(drift) <= LARGEST_DRIFT * abs(mean):
        return []
    white = pre_whitened(series, slope)
    certain = stats.kendalltau(np.arange(len(white)), white).pvalue < DRIFT_P
    return [Shift("drift", drift / mean)] if certain else []


def pre_whitened(series: Any, slope: float) -> Any:
    """The series without the dependence of each point on the previous one (von Storch 1995): y[t] -
    r1 · y[t-1].

    r1 is that of the series without its slope, which would otherwise count as autocorrelation (Yue
    and Wang 2002).
    """
    level = series - slope * np.arange(len(series))
    level = level - np.mean(level)
    power = float(np.dot(level, level))
    owed = float(np.dot(level[1:], level[:-1])) / power if power else 0.0
    return series[1:] - owed * series[:-1]


def _steps(series: Any) -> list[Shift]:
    """The changes that PELT (Killick, Fearnhead and Eckley 2012) finds and that exceed 3 pooled
    standard deviations.
    """
    mean = float(np.mean(series))
    noise = float(np.std(np.diff(series))) / np.sqrt(2)
    if noise <= _ROUNDING * float(np.max(np.abs(series))):  # a straight line, which has no step
        return []
    ends = _segments(series / noise, _SHORTEST_SEGMENT, 3 * math.log(len(series)))
    segments = [series[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    return [
        Shift("step", float(np.mean(after) - np.mean(before)) / mean, at)
        for at, (before, after) in zip(ends, itertools.pairwise(segments), strict=False)
        if _step(before, after) > LARGEST_STEP
    ]


def _segments(series: Any, shortest: int, penalty: float) -> list[int]:
    """Ends of the segments of a series with unit noise, by PELT; the last one is its own end."""
    import ruptures  # here too

    search = ruptures.KernelCPD(kernel="linear", min_size=shortest).fit(series.reshape(-1, 1))
    return [int(end) for end in search.predict(pen=penalty)]


def _step(before: Any, after: Any) -> float:
    """Difference of two segments' means, in pooled standard deviations."""
    freedom = len(before) + len(after) - 2
    pooled = float(np.sqrt((np.var(before) * len(before) + np.var(after) * len(after)) / freedom))
    difference = abs(float(np.mean(after) - np.mean(before)))
    if pooled:
        return difference / pooled
    return math.inf if difference else 0.0


SHORTEST = 3
"""Fewest values on either side of a change."""
FEWEST = 2 * SHORTEST
CHANGE_ALPHA = 0.001
"""As in Apache Otava: candidates are the best of many, so a p near 0.05 means nothing."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """From the value at ``position``, the mean differs by ``effect``, on the scale of the
    values.
    """

    position: int
    effect: float
    p: float


def change_points(values: Sequence[float], smallest: float) -> list[ChangePoint]:
    """Changes of the mean by at least ``smallest``, in order; none for fewer than six values.

    After Fleming, Kołaczkowski et al., "Hunter: Using Change Point Detection to Hunt for
    Performance Regressions" (2023), which Apache Otava implements: candidates, each then tested by
    Student's t between its two segments, the weakest dropped first. The candidates come from PELT
    (Killick, Fearnhead and Eckley 2012) instead of E-divisive.
    """
    if len(values) < FEWEST:
        return []
    series = np.asarray(values, dtype=float)
    noise = float(np.std(np.diff(series))) / math.sqrt(2)
    scaled = (series - series.mean()) / (noise or float(np.std(series)) or 1.0)
    ends = _segments(scaled, SHORTEST, 2 * math.log(len(series)))
    while len(ends) > 1:
        found = [_tested(values, ends, number) for number in range(len(ends) - 1)]
        weak = [
            number
            for number, each in enumerate(found)
            if each.p > CHANGE_ALPHA or abs(each.effect) < smallest
        ]
        if not weak:
            return found
        del ends[max(weak, key=lambda number: found[number].p)]
    return []


def _tested(values: Sequence[float], ends: Sequence[int], number: int) -> ChangePoint:
    from scipy import stats  # here too

    begin = ends[number - 1] if number else 0
    before = values[begin : ends[number]]
    after = values[ends[number] : ends[number + 1]]
    effect = float(np.mean(after) - np.mean(before))
    if len({*before}) == len({*after}) == 1:
        return ChangePoint(ends[number], effect, 0.0 if effect else 1.0)
    return ChangePoint(ends[number], effect, float(stats.ttest_ind(before, after).pvalue))
