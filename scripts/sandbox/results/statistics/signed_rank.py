"""Wilcoxon's signed-rank test over paired differences: exact p, Hodges–Lehmann estimate, exact interval."""

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

MOST_DIFFERENCES = 200
"""The exact distribution of more takes seconds, and no result has that many blocks."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval. ``confidence``: that of the exact distribution, at least the requested one."""

    low: float
    high: float
    confidence: float

    def excludes(self, value: float) -> bool:
        """Whether ``value`` lies outside."""
        return not self.low <= value <= self.high

    def within(self, margin: float) -> bool:
        """Whether all of it lies strictly between −margin and +margin."""
        return -margin < self.low and self.high < margin


def walsh_averages(differences: Sequence[float]) -> list[float]:
    """The n(n+1)/2 averages of two differences, each with itself included; sorted."""
    pairs = itertools.combinations_with_replacement(differences, 2)
    return sorted((first + second) / 2 for first, second in pairs)


def hodges_lehmann(differences: Sequence[float]) -> float:
    """Median of the Walsh averages (Hodges and Lehmann 1963). Raises ValueError for no differences."""
    return statistics.median(walsh_averages(_checked(differences)))


def signed_rank_p(differences: Sequence[float]) -> float:
    """Two-sided exact p that the differences are symmetric about zero; 1 where all are zero.

    Zeros are left out, as Wilcoxon (1945) did; ties share their mean rank, and the distribution is that of the
    actual ranks (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3.1, comment 7).
    """
    sizes = [value for value in _checked(differences) if value != 0]
    if not sizes:
        return 1.0
    doubled = doubled_ranks([abs(value) for value in sizes])
    positive = sum(rank for rank, value in zip(doubled, sizes, strict=True) if value > 0)
    ways = ways_to_sum(doubled)
    extreme = min(positive, sum(doubled) - positive)
    return min(1.0, 2 * sum(ways[: extreme + 1]) / (1 << len(sizes)))


def signed_rank_interval(differences: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """The values that the test does not reject: Walsh averages, counted in from both ends (Tukey 1949).

    None if there are too few differences for this confidence: at 95 %, fewer than 6.
    """
    count = len(_checked(differences))
    ways, total = _ways_without_ties(count), 2**count
    refused = outside = 0
    while 2 * (outside + ways[refused]) <= (1 - confidence) * total:
        outside += ways[refused]
        refused += 1
    if not refused:
        return None
    averages = walsh_averages(differences)
    return Interval(averages[refused - 1], averages[-refused], 1 - 2 * outside / total)


def smallest_p(count: int) -> float:
    """The smallest two-sided p that ``count`` differences can reach: 2 / 2ⁿ."""
    return math.ldexp(2.0, -count)


def doubled_ranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each value among all, 1 the smallest; ties share their mean rank, hence the doubling."""
    ordered = sorted(values)
    first = {value: position for position, value in reversed(list(enumerate(ordered, start=1)))}
    last = {value: position for position, value in enumerate(ordered, start=1)}
    return [first[value] + last[value] for value in values]


def ways_to_sum(ranks: Sequence[int]) -> list[int]:
    """``ways[s]``: number of subsets of the ranks that add up to s; the null distribution times 2ⁿ."""
    ways = np.array([1] + [0] * sum(ranks), dtype=object)  # unbounded integers: the result is exact
    for rank in ranks:
        ways[rank:] = ways[rank:] + ways[: len(ways) - rank]
    return list(ways)


@cache
def _ways_without_ties(count: int) -> Sequence[int]:
    """The null distribution of so many differences, which every comparison of a result needs."""
    return ways_to_sum(list(range(1, count + 1)))


def _checked(differences: Sequence[float]) -> Sequence[float]:
    if not differences or len(differences) > MOST_DIFFERENCES or not all(map(math.isfinite, differences)):
        raise ValueError(f"needs 1 to {MOST_DIFFERENCES} finite differences, got {list(differences)[:5]}…")
    return differences
