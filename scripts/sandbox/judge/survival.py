"""Lengths of which some were still open when the watch ended (right-censored): log-rank test,
median, its interval.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

Lasted = tuple[float, bool]
"""A length, and whether it was censored: still open when the watch ended, so that it is the length
seen.
"""
MOST_LENGTHS = 1000
"""2 to the power of more does not fit a float, and no result has that many trials."""


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
    groups = [_checked(first), _checked(second)]
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
    return sorted(length for length, _ in _checked(lengths))


def _at_most(lengths: Sequence[Lasted]) -> list[float]:
    return sorted(math.inf if censored else length for length, censored in _checked(lengths))


def _checked(lengths: Sequence[Lasted]) -> Sequence[Lasted]:
    if not 0 < len(lengths) <= MOST_LENGTHS or not all(
        math.isfinite(length) for length, _ in lengths
    ):
        raise ValueError(f"needs 1 to {MOST_LENGTHS} finite lengths, got {list(lengths)[:5]}…")
    return lengths
