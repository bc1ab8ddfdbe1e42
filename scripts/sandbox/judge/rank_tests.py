"""Rank tests with p, estimate and interval: exact ones of paired differences and of two samples;
the log-rank test and medians of lengths that were still open when the watch ended (right-censored).
"""

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from sandbox.record.trial import Lasted

MOST_DIFFERENCES = 200
"""The exact distribution of more takes seconds, so that no matrix may have more blocks."""
MOST_LENGTHS = 1000
"""2 to the power of more does not fit a float, and no result has that many trials."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval. ``confidence``: that of the exact distribution, at least the requested
    one.
    """

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
    """Median of the Walsh averages (Hodges and Lehmann 1963). Raises ValueError for no
    differences.
    """
    return statistics.median(walsh_averages(_checked(differences)))


def signed_rank_p(differences: Sequence[float]) -> float:
    """Two-sided exact p that the differences are symmetric about zero; 1 where all are zero.

    Zeros are left out, as Wilcoxon (1945) did; ties share their mean rank, and the distribution is
    that of the actual ranks (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3.1,
    comment 7).
    """
    sizes = [value for value in _checked(differences) if value != 0]
    if not sizes:
        return 1.0
    doubled = doubled_ranks([abs(value) for value in sizes])
    positive = sum(rank for rank, value in zip(doubled, sizes, strict=True) if value > 0)
    ways = _ways_of_ranks(tuple(sorted(doubled)))
    extreme = min(positive, sum(doubled) - positive)
    return min(1.0, 2 * sum(ways[: extreme + 1]) / (1 << len(sizes)))


def signed_rank_interval(differences: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """The values that the test does not reject: Walsh averages, counted in from both ends (Tukey
    1949).

    None if there are too few differences for this confidence: at 95 %, fewer than 6.
    """
    count = len(_checked(differences))
    return _counted_in(
        walsh_averages(differences), _ways_without_ties(count), 0, 2**count, confidence
    )


def _counted_in(
    estimates: Sequence[float],
    ways: Sequence[int] | Mapping[int, int],
    least: int,
    total: int,
    confidence: float,
) -> Interval | None:
    """Sorted estimates counted in from both ends, as many as the null distribution refuses, from
    ``least`` on.
    """
    refused = outside = 0
    while 2 * (outside + ways[least + refused]) <= (1 - confidence) * total:
        outside += ways[least + refused]
        refused += 1
    return (
        Interval(estimates[refused - 1], estimates[-refused], 1 - 2 * outside / total)
        if refused
        else None
    )


def doubled_ranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each value among all, 1 the smallest; ties share their mean rank, hence the
    doubling.
    """
    ordered = sorted(values)
    first = {value: position for position, value in reversed(list(enumerate(ordered, start=1)))}
    last = {value: position for position, value in enumerate(ordered, start=1)}
    return [first[value] + last[value] for value in values]


def ways_to_sum(ranks: Sequence[int]) -> list[int]:
    """``ways[s]``: number of subsets of the ranks that add up to s; the null distribution times
    2ⁿ.
    """
    ways = np.array([1] + [0] * sum(ranks), dtype=object)  # unbounded integers: the result is exact
    for rank in ranks:
        ways[rank:] = ways[rank:] + ways[: len(ways) - rank]
    return list(ways)


@lru_cache(maxsize=256)
def _ways_of_ranks(ranks: tuple[int, ...]) -> Sequence[int]:
    """The null distribution of these ranks; nearly always they are those without ties."""
    return ways_to_sum(ranks)


@cache
def _ways_without_ties(count: int) -> Sequence[int]:
    """The null distribution of so many differences, which every comparison of a result needs."""
    return ways_to_sum(list(range(1, count + 1)))


def _checked(differences: Sequence[float]) -> Sequence[float]:
    if (
        not differences
        or len(differences) > MOST_DIFFERENCES
        or not all(map(math.isfinite, differences))
    ):
        raise ValueError(
            f"needs 1 to {MOST_DIFFERENCES} finite differences, got {list(differences)[:5]}…"
        )
    return differences


def shift(first: Sequence[float], second: Sequence[float]) -> float:
    """Hodges–Lehmann estimate of how far ``second`` lies above ``first``: the median of all
    pairwise differences.
    """
    return statistics.median(_pairwise(first, second))


def rank_sum_p(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided exact p that both come from one distribution (Mann and Whitney 1947); ties share
    their rank.
    """
    doubled = doubled_ranks([*first, *second])
    ways = _ways_to_choose(tuple(sorted(doubled)), len(second))
    own = sum(doubled[len(first) :])
    total = sum(ways.values())
    below = sum(count for value, count in ways.items() if value <= own)
    above = sum(count for value, count in ways.items() if value >= own)
    return min(1.0, 2 * min(below, above) / total)


def rank_sum_interval(
    first: Sequence[float], second: Sequence[float], confidence: float = 0.95
) -> Interval | None:
    """The shifts that the test does not reject (Moses 1965); None if there are too few values for
    this confidence.

    Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 4.3.
    """
    size = len(second)
    ways = _ways_to_choose(tuple(range(1, len(first) + size + 1)), size)
    return _counted_in(
        _pairwise(first, second), ways, size * (size + 1) // 2, sum(ways.values()), confidence
    )


def _pairwise(first: Sequence[float], second: Sequence[float]) -> list[float]:
    return sorted(after - before for before in first for after in second)


@lru_cache(maxsize=32)
def _ways_to_choose(ranks: tuple[int, ...], size: int) -> Mapping[int, int]:
    """Sum → number of ways to choose ``size`` of the ranks with that sum; cached: samples without
    ties share it.
    """
    chosen: list[dict[int, int]] = [{0: 1}] + [{} for _ in range(size)]
    for rank in ranks:
        for taken in range(size, 0, -1):
            for total, count in chosen[taken - 1].items():
                chosen[taken][total + rank] = chosen[taken].get(total + rank, 0) + count
    return chosen[size]


@dataclass(frozen=True, slots=True)
class MedianInterval:
    """A confidence interval of a median. ``high``: None where a censored length leaves it open.

    ``confidence``: that of the exact distribution, at least the requested one.
    """

    low: float
    high: float | None
    confidence: float


def log_rank_p(first: Sequence[Lasted], second: Sequence[Lasted]) -> float:
    """Two-sided p that both groups last equally long; 1 where no end came while both were still
    watched.

    Mantel, "Evaluation of survival data and two new rank order statistics arising in its
    consideration" (1966): variance of the hypergeometric distribution, normal approximation. Raises
    ValueError for an empty group.
    """
    groups = [_finite(first), _finite(second)]
    if not _comparable(*groups):
        return 1.0
    from scipy import stats  # here: it takes a second to import

    samples = [
        stats.CensoredData([t for t, c in each if not c], right=[t for t, c in each if c])
        for each in groups
    ]
    return float(stats.logrank(*samples).pvalue)


def _comparable(first: Sequence[Lasted], second: Sequence[Lasted]) -> bool:
    """Whether the test's variance is positive: some end came while both were watched, and not for
    all at once.
    """
    both = [*first, *second]
    shared = min(max(first)[0], max(second)[0])
    ends = {length for length, censored in both if not censored and length <= shared}
    return any(sum(length >= end for length, _ in both) > both.count((end, False)) for end in ends)


def censored_median(lengths: Sequence[Lasted]) -> float | None:
    """The median; None where it depends on how long a censored length would have lasted. ValueError
    for none.
    """
    median = statistics.median(_at_least(lengths))
    return median if median == statistics.median(_at_most(lengths)) else None


def median_interval(lengths: Sequence[Lasted], confidence: float = 0.95) -> MedianInterval | None:
    """The k-th smallest and the k-th largest, k by the binomial distribution: free of any
    assumption on the shape.

    Thompson, "On confidence ranges for the median and other expectation distributions for
    populations of unknown distribution form" (1936); David and Nagaraja, Order Statistics (2003),
    7.1. A censored length counts with what was seen of it at the low end, and as endless at the
    high one, so that the interval holds whatever it would have been. None if there are too few for
    this confidence: at 95 %, fewer than 6. Raises ValueError for none.
    """
    low, high, count = _at_least(lengths), _at_most(lengths), len(lengths)
    refused = outside = 0
    while 2 * (outside + math.comb(count, refused)) <= (1 - confidence) * 2**count:
        outside += math.comb(count, refused)
        refused += 1
    if not refused:
        return None
    end = high[-refused]
    return MedianInterval(
        low[refused - 1], end if math.isfinite(end) else None, 1 - 2 * outside / 2**count
    )


def _at_least(lengths: Sequence[Lasted]) -> list[float]:
    return sorted(length for length, _ in _finite(lengths))


def _at_most(lengths: Sequence[Lasted]) -> list[float]:
    return sorted(math.inf if censored else length for length, censored in _finite(lengths))


def _finite(lengths: Sequence[Lasted]) -> Sequence[Lasted]:
    if not 0 < len(lengths) <= MOST_LENGTHS or not all(
        math.isfinite(length) for length, _ in lengths
    ):
        raise ValueError(f"needs 1 to {MOST_LENGTHS} finite lengths, got {list(lengths)[:5]}…")
    return lengths
