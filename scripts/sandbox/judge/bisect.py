"""PURE: the search for the two neighbouring versions between which a bug came or went."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from sandbox.judge.rates import rate_interval

WRONG = 0.01
"""The largest probability that the search ends at a wrong place because a bug did not show."""
MOST_REPEATS = 200


def steps_of(versions: int) -> int:
    """How many versions are tried at most, of so many in order, the first and the last known."""
    return max(1, math.ceil(math.log2(max(2, versions - 1))))


def repeats_needed(shown: int, repeats: int, steps: int) -> int:
    """Repeats of a version after which a bug that has not shown is not there.

    With the lower end p of the 95 % interval of its rate (Clopper and Pearson 1934), as seen in
    ``shown`` of ``repeats``, (1 − p)^k is at most `WRONG` / ``steps``: a bug that never shows in
    some step by chance is then as unlikely as that in all of them. At most `MOST_REPEATS`.
    """
    interval = rate_interval(shown, repeats)
    if interval is None or not interval.low > 0:
        return MOST_REPEATS
    if interval.low >= 1:
        return 1
    needed = math.log(WRONG / steps) / math.log1p(-interval.low)
    return min(MOST_REPEATS, max(1, math.ceil(needed)))


def expected_repeats(rate: float, most: int) -> float:
    """How many repeats are made on average until one shows a bug of this rate, ``most`` at most."""
    if rate <= 0:
        return float(most)
    return (1 - (1 - rate) ** most) / rate


def differ(shown: int, repeats: int, other_shown: int, other_repeats: int) -> bool:
    """Whether two rates differ: Fisher's exact test, two-sided, below `WRONG`."""
    from scipy import stats  # here: it takes a second to import

    table = [[shown, repeats - shown], [other_shown, other_repeats - other_shown]]
    return float(stats.fisher_exact(table)[1]) < WRONG


def is_bad(shown: int, repeats: int, good_rate: float, bad_rate: float) -> bool:
    """Whether a version is as the bad one: which of the two rates makes what was seen likelier.

    Where GOOD never showed it (rate 0), one that shows it once is bad.
    """
    return _log_likelihood(shown, repeats, bad_rate) > _log_likelihood(shown, repeats, good_rate)


def _log_likelihood(shown: int, repeats: int, rate: float) -> float:
    parts = ((shown, rate), (repeats - shown, 1 - rate))
    if any(count and probability <= 0 for count, probability in parts):
        return -math.inf
    return sum(count * math.log(probability) for count, probability in parts if count)


def expected_cost(
    between: Sequence[str], of_good: Callable[[str], float], of_bad: Callable[[str], float]
) -> float:
    """What a search over the versions between two ends costs on average, each place at which it
    may end being as likely as any other.

    ``of_good``, ``of_bad``: what it costs to try a version that turns out to be so.
    """

    @cache
    def left(low: int, high: int) -> float:
        count = high - low
        if not count:
            return 0.0
        middle = low + count // 2
        is_bad_before = (middle - low + 1) / (count + 1)
        if_bad = of_bad(between[middle]) + left(low, middle)
        if_good = of_good(between[middle]) + left(middle + 1, high)
        return is_bad_before * if_bad + (1 - is_bad_before) * if_good

    return left(0, len(between))


@dataclass
class Bisection:
    """Versions in order, the first good and the last bad; ``next`` until two neighbours are left.

    A version that cannot be judged is left out (`skip`), and so may stand between the two.
    """

    versions: Sequence[str]
    skipped: list[str] = field(default_factory=list)
    _good: int = 0
    _bad: int = -1

    def __post_init__(self) -> None:
        self._bad = len(self.versions) - 1

    @property
    def good(self) -> str:
        """The last version that is known to be good, in their order."""
        return self.versions[self._good]

    @property
    def bad(self) -> str:
        """The first one after it that is known to be bad."""
        return self.versions[self._bad]

    @property
    def between(self) -> list[str]:
        """Versions between the two that may still be tried."""
        found = self.versions[self._good + 1 : self._bad]
        return [each for each in found if each not in self.skipped]

    def next(self) -> str | None:
        """The version to try now: the middle one; None: the search has ended."""
        left = self.between
        return left[len(left) // 2] if left else None

    def note(self, version: str, bad: bool) -> None:
        """What a version turned out to be."""
        number = list(self.versions).index(version)
        if bad:
            self._bad = number
        else:
            self._good = number

    def skip(self, version: str) -> None:
        """A version that nobody can judge."""
        self.skipped.append(version)
