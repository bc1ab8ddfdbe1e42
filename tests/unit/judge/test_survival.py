"""The log-rank test against published examples and its own formula; medians and their intervals
with open ends.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.judge.rank_tests import MedianInterval, censored_median, log_rank_p, median_interval
from sandbox.record.trial import Lasted


def ended(*lengths: float) -> list[Lasted]:
    """Lengths that were seen to the end."""
    return [(length, False) for length in lengths]


def still_open(*lengths: float) -> list[Lasted]:
    """Lengths that were not."""
    return [(length, True) for length in lengths]


# Weeks in remission: Freireich et al. (1963); table 1 of Cox (1972) and R's MASS::gehan.
TREATED = [
    *ended(6, 6, 6, 7, 10, 13, 16, 22, 23),
    *still_open(6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35),
]
CONTROL = ended(1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23)

# Weeks to death, two kinds of glioma: Bland and Altman, "The logrank test", BMJ 328 (2004), 1073.
ASTROCYTOMA = [
    *ended(6, 13, 21, 30, 37, 38, 49, 50, 63, 79, 86, 98, 202, 219),
    *still_open(31, 47, 80, 82, 82, 149),
]
GLIOBLASTOMA = [
    *ended(
        10,
        10,
        12,
        13,
        14,
        15,
        16,
        17,
        18,
        20,
        24,
        24,
        25,
        28,
        30,
        33,
        35,
        37,
        40,
        40,
        46,
        48,
        76,
        81,
        82,
        91,
    ),
    *ended(112, 181),
    *still_open(34, 40, 70),
]


def mantel_p(first: list[Lasted], second: list[Lasted]) -> float:
    """The formula as in Mantel (1966), time by time."""
    both, difference, variance = [*first, *second], 0.0, 0.0
    for end in {length for length, censored in both if not censored}:
        at_risk, own = (sum(length >= end for length, _ in each) for each in (both, first))
        ends, ended_here = both.count((end, False)), first.count((end, False))
        difference += ended_here - ends * own / at_risk
        if at_risk > 1:
            variance += (
                ends * own * (at_risk - own) * (at_risk - ends) / (at_risk**2 * (at_risk - 1))
            )
    return math.erfc(abs(difference) / math.sqrt(2 * variance)) if variance else 1.0


def test_a_published_example() -> None:
    """R's survdiff prints a chi-squared of 16.8 (16.793) on 1 degree of freedom, p = 4e-05."""
    assert log_rank_p(TREATED, CONTROL) == pytest.approx(math.erfc(math.sqrt(16.793 / 2)), rel=1e-3)


def test_another_published_example() -> None:
    """Bland and Altman: chi-squared 7.5, p = 0.006; scipy's documentation prints 0.00618."""
    assert log_rank_p(ASTROCYTOMA, GLIOBLASTOMA) == pytest.approx(0.00618, abs=5e-6)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (still_open(1, 2, 3), still_open(4, 5)),
        (still_open(1, 2, 3), ended(4, 5)),
        (ended(5, 5, 5), ended(5, 5)),
        (still_open(1), ended(*range(2, 51))),
    ],
)
def test_where_nothing_can_be_compared_p_is_one(first: list[Lasted], second: list[Lasted]) -> None:
    assert log_rank_p(first, second) == log_rank_p(second, first) == 1


def test_an_open_end_counts_as_longer_than_what_was_seen() -> None:
    short = ended(2.0, 2.1, 2.3, 2.4, 2.6, 2.8, 3.0, 3.1, 3.3, 3.5)
    assert log_rank_p(short, [*ended(2.2, 2.5), *still_open(*[60.0] * 8)]) < 0.001
    assert log_rank_p(short, short) == 1


lasted = st.lists(st.tuples(st.integers(0, 20).map(float), st.booleans()), min_size=1, max_size=15)


@given(lasted, lasted)
def test_the_variance_is_hypergeometric(first: list[Lasted], second: list[Lasted]) -> None:
    p = log_rank_p(first, second)
    assert p == pytest.approx(mantel_p(first, second), abs=1e-9)
    assert p == pytest.approx(log_rank_p(second, first)) and 0 <= p <= 1


@pytest.mark.parametrize("bad", [[], ended(math.inf), ended(math.nan, 1), ended(1) * 1001])
def test_what_cannot_be_judged_is_refused(bad: list[Lasted]) -> None:
    for judge in (
        lambda: log_rank_p(bad, ended(1)),
        lambda: median_interval(bad),
        lambda: censored_median(bad),
    ):
        with pytest.raises(ValueError, match="finite lengths"):
            judge()


def test_a_thousand_lengths_can_be_judged() -> None:
    assert censored_median(ended(1) * 1000) == 1


# k of the interval from the k-th smallest to the k-th largest at 95 %, by n: one more than the
# two-sided critical value of the sign test at 0.05, which every textbook has a table of.
KTH = {6: 1, 8: 1, 9: 2, 10: 2, 11: 2, 12: 3, 15: 4, 16: 4, 17: 5, 20: 6, 25: 8, 50: 18}


@pytest.mark.parametrize(("count", "kth"), KTH.items())
def test_the_interval_of_a_median_has_its_published_ranks(count: int, kth: int) -> None:
    from scipy import stats  # here: every worker collects this file, and one of them runs it

    interval = median_interval(ended(*range(1, count + 1)))
    assert interval is not None and (interval.low, interval.high) == (kth, count + 1 - kth)
    assert interval.confidence == pytest.approx(1 - 2 * stats.binom.cdf(kth - 1, count, 0.5))
    assert interval.confidence >= 0.95 > 1 - 2 * stats.binom.cdf(kth, count, 0.5)


def test_an_interval_that_has_its_confidence_exactly_is_one() -> None:
    assert median_interval(ended(1, 2), 0.5) == MedianInterval(1, 2, 0.5)
    assert median_interval(ended(1, 2), 0.51) is None


@given(st.lists(st.integers(0, 100), min_size=6, max_size=40), st.sampled_from([0.5, 0.9, 0.95]))
def test_without_censoring_it_is_that_of_scipy(lengths: list[int], confidence: float) -> None:
    from scipy import stats

    interval = median_interval(ended(*lengths), confidence)
    theirs = stats.quantile_test(lengths).confidence_interval(confidence)
    assert interval is not None and (interval.low, interval.high) == (theirs.low, theirs.high)
    assert censored_median(ended(*lengths)) == np.median(lengths)


def test_five_lengths_promise_nothing_and_six_do() -> None:
    assert median_interval(ended(1, 2, 3, 4, 5)) is None
    assert median_interval(ended(1, 2, 3, 4, 5, 6)) == MedianInterval(1, 6, 1 - 2 / 2**6)


def test_an_upper_end_that_is_censored_is_open() -> None:
    ten = MedianInterval(2, 9, 1 - 2 * 11 / 2**10)
    assert median_interval([*ended(*range(1, 10)), *still_open(60)]) == ten
    assert median_interval([*ended(*range(1, 9)), *still_open(60, 60)]) == MedianInterval(
        2, None, ten.confidence
    )
    assert median_interval(still_open(*range(1, 11))) == MedianInterval(2, None, ten.confidence)


def test_a_length_censored_early_may_have_been_the_longest() -> None:
    """The low end takes it as it was seen, the high end as endless."""
    early = [*ended(*range(2, 11)), *still_open(1)]
    assert median_interval(early) == MedianInterval(2, 10, 1 - 2 * 11 / 2**10)
    assert censored_median(early) is None
    assert censored_median([*ended(1, 2, 3), *still_open(4, 5)]) == 3
    assert censored_median([*ended(1, 2, 3), *still_open(4, 5, 6)]) is None
    assert censored_median([*ended(1, 3, 3), *still_open(3)]) == 3
    assert censored_median(still_open(1)) is None


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=6, max_size=12), st.data())
def test_the_interval_holds_whatever_the_censored_lengths_would_have_been(
    lengths: list[Lasted], data: st.DataObject
) -> None:
    """Against the interval and the median of full lengths that agree with what was seen."""
    full = [
        length + data.draw(st.integers(0, 60)) if censored else length
        for length, censored in lengths
    ]
    seen, complete = median_interval(lengths), median_interval(ended(*full))
    assert seen is not None and complete is not None and complete.high is not None
    assert seen.low <= complete.low and (seen.high is None or seen.high >= complete.high)
    median = censored_median(lengths)
    assert median is None or median == np.median(full)


def test_the_interval_covers_the_median_as_often_as_it_promises() -> None:
    """Ten of a skewed distribution, 2,000 times: from the second to the second last, 97.85 %."""
    samples = np.random.default_rng(11).exponential(1.0, (2000, 10))
    intervals = [median_interval(ended(*sample)) for sample in samples.tolist()]
    covered = [
        each is not None and each.high is not None and each.low <= math.log(2) <= each.high
        for each in intervals
    ]
    assert sum(covered) / len(covered) == pytest.approx(0.9785, abs=0.01)
