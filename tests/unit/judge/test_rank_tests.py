"""The exact rank tests, against published examples and tables, and what must hold for any
values.
"""

import math
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.judge.rank_tests import (
    Interval,
    hodges_lehmann,
    rank_sum_interval,
    rank_sum_p,
    shift,
    signed_rank_interval,
    signed_rank_p,
    ways_to_sum,
)

# Hamilton depression scale of nine patients before and after a tranquilizer: Hollander, Wolfe and
# Chicken, Nonparametric Statistical Methods, table 3.1 (example 3.1); the same figures stand in R's
# help page of wilcox.test.
BEFORE = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
AFTER = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
DEPRESSION = [after - before for before, after in zip(BEFORE, AFTER, strict=True)]

# Two-sided critical values at 0.05 of the smaller rank sum, n = 6 … 25: Wilcoxon and Wilcox, Some
# Rapid Approximate Statistical Procedures (1964), table 2; reprinted in every textbook.
CRITICAL = dict(
    enumerate([0, 2, 3, 5, 8, 10, 13, 17, 21, 25, 29, 34, 40, 46, 52, 58, 65, 73, 81, 89], start=6)
)

differences = st.lists(
    st.floats(-100, 100, allow_subnormal=False).map(lambda x: round(x, 3)), min_size=6, max_size=16
)


def test_p_of_a_published_example() -> None:
    """R prints V = 40, p-value = 0.01953 for the one-sided test; twice that is the two-sided
    one.
    """
    assert signed_rank_p(DEPRESSION) == pytest.approx(2 * 0.01953, abs=1e-5)


def test_estimate_and_interval_of_a_published_example() -> None:
    """Examples 3.3 and 3.4 there: θ̂ = −.46, and the 96.1 % interval (−.786, −.010)."""
    assert hodges_lehmann(DEPRESSION) == pytest.approx(-0.46, abs=1e-9)
    interval = signed_rank_interval(DEPRESSION)
    assert interval is not None
    assert [interval.low, interval.high] == pytest.approx([-0.786, -0.010])
    assert interval.confidence == pytest.approx(0.961, abs=5e-4)


@pytest.mark.parametrize(("count", "critical"), CRITICAL.items())
def test_the_null_distribution_has_the_published_critical_values(count: int, critical: int) -> None:
    ways, total = ways_to_sum(range(1, count + 1)), 2**count
    assert 2 * sum(ways[: critical + 1]) / total <= 0.05 < 2 * sum(ways[: critical + 2]) / total


def test_five_differences_can_promise_nothing_and_six_can() -> None:
    assert signed_rank_interval([1, 2, 3, 4, 5]) is None
    assert signed_rank_interval([1, 2, 3, 4, 5, 6]) == Interval(1, 6, 1 - 2 / 2**6)
    assert (
        signed_rank_p([1, 2, 3, 4, 5])
        == 2 / 2**5
        > 0.05
        > 2 / 2**6
        == signed_rank_p([1, 2, 3, 4, 5, 6])
    )


def test_zeros_say_nothing() -> None:
    assert signed_rank_p([0.0] * 8) == 1
    assert signed_rank_p([0.0, 0.0, 1, 2, 3, 4, 5, 6]) == signed_rank_p([1, 2, 3, 4, 5, 6])


def test_equal_sizes_share_their_rank() -> None:
    """By hand: the sizes 1 and 1 share rank 1.5; of 128 sign patterns, three have a sum of 1.5 or
    less on one side.
    """
    assert signed_rank_p([-1, 1, 2, 3, 4, 5, 6]) == pytest.approx(2 * 3 / 128)


@pytest.mark.parametrize("bad", [[], [1, math.nan], [math.inf], list(range(201))])
def test_what_cannot_be_tested_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="finite differences"):
        hodges_lehmann(bad)


@given(differences)
def test_turned_about_the_figures_turn_about(values: list[float]) -> None:
    turned = [-value for value in values]
    assert hodges_lehmann(turned) == pytest.approx(-hodges_lehmann(values))
    assert signed_rank_p(turned) == pytest.approx(signed_rank_p(values))
    here, there = signed_rank_interval(values), signed_rank_interval(turned)
    assert here is not None and there is not None
    assert [here.low, here.high] == pytest.approx([-there.high, -there.low])


@given(differences, st.integers(-50, 50))
def test_moved_by_a_constant_the_estimate_moves_by_it(values: list[float], step: int) -> None:
    assert hodges_lehmann([value + step for value in values]) == pytest.approx(
        hodges_lehmann(values) + step
    )


@given(differences)
def test_the_interval_holds_the_estimate_and_agrees_with_the_test(values: list[float]) -> None:
    interval = signed_rank_interval(values)
    assert interval is not None
    assert interval.low <= hodges_lehmann(values) <= interval.high
    assert min(values) <= interval.low and interval.high <= max(values)
    distinct = len({abs(value) for value in values}) == len(values) and 0 not in values
    if distinct:
        assert interval.excludes(0) == (signed_rank_p(values) <= 0.05)


@given(differences)
def test_the_order_of_the_blocks_means_nothing(values: list[float]) -> None:
    assert signed_rank_p(sorted(values)) == signed_rank_p(values)
    assert hodges_lehmann(sorted(values)) == hodges_lehmann(values)
    assert hodges_lehmann([median(values)] * 6) == pytest.approx(median(values))


# Permeability of the human chorioamnion at term and at 12 to 26 weeks: Hollander, Wolfe and
# Chicken, table 4.1; the same figures stand in R's help page of wilcox.test.
AT_TERM = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
EARLIER = [1.15, 0.88, 0.90, 0.74, 1.21]

samples = st.lists(st.integers(0, 50).map(float), min_size=4, max_size=10)


def test_p_of_a_published_example_without_pairs() -> None:
    """R prints W = 35, p-value = 0.1272 for the one-sided test."""
    assert rank_sum_p(EARLIER, AT_TERM) == pytest.approx(2 * 0.1272, abs=2e-4)


def test_shift_and_interval_of_a_published_example() -> None:
    """R's wilcox.test(x, y, conf.int = TRUE) prints the estimate 0.305 and, at 95 %, −0.15 to
    0.76.
    """
    assert shift(EARLIER, AT_TERM) == pytest.approx(0.305)
    interval = rank_sum_interval(EARLIER, AT_TERM)
    assert interval is not None
    assert [interval.low, interval.high] == pytest.approx([-0.15, 0.76])


def test_three_against_three_can_promise_nothing() -> None:
    assert rank_sum_interval([1, 2, 3], [4, 5, 6]) is None
    assert rank_sum_p([1, 2, 3], [4, 5, 6]) == pytest.approx(0.1)


@given(samples, samples)
def test_turned_about_two_samples_turn_about(first: list[float], second: list[float]) -> None:
    assert shift(first, second) == pytest.approx(-shift(second, first))
    assert rank_sum_p(first, second) == pytest.approx(rank_sum_p(second, first))


@given(samples)
def test_a_sample_does_not_differ_from_itself(values: list[float]) -> None:
    assert rank_sum_p(values, values) == 1 and shift(values, values) == 0
