"""Where a history changed for good: candidates by PELT, kept if a t-test and the size agree."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import ruptures
from scipy import stats

SHORTEST = 3
"""Fewest values on either side of a change."""
FEWEST = 2 * SHORTEST
ALPHA = 0.001
"""As in Apache Otava: candidates are the best of many, so a p near 0.05 means nothing."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """From the value at ``position``, the mean differs by ``effect``, on the scale of the values."""

    position: int
    effect: float
    p: float


def change_points(values: Sequence[float], smallest: float) -> list[ChangePoint]:
    """Changes of the mean by at least ``smallest``, in order; none for fewer than six values.

    After Fleming, Kołaczkowski et al., "Hunter: Using Change Point Detection to Hunt for Performance Regressions"
    (2023), which Apache Otava implements: candidates, each then tested by Student's t between its two segments, the
    weakest dropped first. The candidates come from PELT (Killick, Fearnhead and Eckley 2012) instead of E-divisive.
    """
    ends = _candidates(values)
    while len(ends) > 1:
        found = [_tested(values, ends, number) for number in range(len(ends) - 1)]
        weak = [number for number, each in enumerate(found) if each.p > ALPHA or abs(each.effect) < smallest]
        if not weak:
            return found
        del ends[max(weak, key=lambda number: found[number].p)]
    return []


def _candidates(values: Sequence[float]) -> list[int]:
    """Ends of segments; the last one is the end of the series."""
    series = np.asarray(values, dtype=float)
    if len(series) < FEWEST:
        return [len(series)]
    noise = float(np.std(np.diff(series))) / math.sqrt(2)
    scaled = (series - series.mean()) / (noise or float(np.std(series)) or 1.0)
    search = ruptures.KernelCPD(kernel="linear", min_size=SHORTEST).fit(scaled.reshape(-1, 1))
    return [int(end) for end in search.predict(pen=2 * math.log(len(series)))]


def _tested(values: Sequence[float], ends: Sequence[int], number: int) -> ChangePoint:
    begin = ends[number - 1] if number else 0
    before, after = values[begin : ends[number]], values[ends[number] : ends[number + 1]]
    effect = float(np.mean(after) - np.mean(before))
    if len({*before}) == len({*after}) == 1:
        return ChangePoint(ends[number], effect, 0.0 if effect else 1.0)
    return ChangePoint(ends[number], effect, float(stats.ttest_ind(before, after).pvalue))
