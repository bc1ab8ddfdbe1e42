"""The rank-sum test over two unpaired samples, for two results from different times or machines: p, shift, interval."""

import statistics
from collections.abc import Mapping, Sequence
from functools import lru_cache

from sandbox.results.statistics.signed_rank import Interval, doubled_ranks


def shift(first: Sequence[float], second: Sequence[float]) -> float:
    """Hodges–Lehmann estimate of how far ``second`` lies above ``first``: the median of all pairwise differences."""
    return statistics.median(_pairwise(first, second))


def rank_sum_p(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided exact p that both come from one distribution (Mann and Whitney 1947); ties share their rank."""
    doubled = doubled_ranks([*first, *second])
    ways = _ways_to_choose(tuple(sorted(doubled)), len(second))
    own = sum(doubled[len(first) :])
    total = sum(ways.values())
    below = sum(count for value, count in ways.items() if value <= own)
    above = sum(count for value, count in ways.items() if value >= own)
    return min(1.0, 2 * min(below, above) / total)


def rank_sum_interval(first: Sequence[float], second: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """The shifts that the test does not reject (Moses 1965); None if there are too few values for this confidence.

    Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 4.3.
    """
    size = len(second)
    ways = _ways_to_choose(tuple(range(1, len(first) + size + 1)), size)
    total, least = sum(ways.values()), size * (size + 1) // 2
    refused = outside = 0
    while 2 * (outside + ways[least + refused]) <= (1 - confidence) * total:
        outside += ways[least + refused]
        refused += 1
    if not refused:
        return None
    differences = _pairwise(first, second)
    return Interval(differences[refused - 1], differences[-refused], 1 - 2 * outside / total)


def _pairwise(first: Sequence[float], second: Sequence[float]) -> list[float]:
    return sorted(after - before for before in first for after in second)


@lru_cache(maxsize=32)
def _ways_to_choose(ranks: tuple[int, ...], size: int) -> Mapping[int, int]:
    """Sum → number of ways to choose ``size`` of the ranks with that sum; cached: samples without ties share it."""
    chosen: list[dict[int, int]] = [{0: 1}] + [{} for _ in range(size)]
    for rank in ranks:
        for taken in range(size, 0, -1):
            for total, count in chosen[taken - 1].items():
                chosen[taken][total + rank] = chosen[taken].get(total + rank, 0) + count
    return chosen[size]
