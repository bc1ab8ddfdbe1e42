"""The rank-sum test against published figures, and its properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.results.statistics.rank_sum import rank_sum_interval, rank_sum_p, shift

# Permeability of the human chorioamnion at term and at 12 to 26 weeks: Hollander, Wolfe and Chicken, table 4.1; the
# same figures stand in R's help page of wilcox.test.
AT_TERM = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
EARLIER = [1.15, 0.88, 0.90, 0.74, 1.21]

samples = st.lists(st.integers(0, 50).map(float), min_size=4, max_size=10)


def test_p_of_a_published_example() -> None:
    """R prints W = 35, p-value = 0.1272 for the one-sided test."""
    assert rank_sum_p(EARLIER, AT_TERM) == pytest.approx(2 * 0.1272, abs=2e-4)


def test_shift_and_interval_of_a_published_example() -> None:
    """R's wilcox.test(x, y, conf.int = TRUE) prints the estimate 0.305 and, at 95 %, −0.15 to 0.76."""
    assert shift(EARLIER, AT_TERM) == pytest.approx(0.305)
    interval = rank_sum_interval(EARLIER, AT_TERM)
    assert interval is not None
    assert [interval.low, interval.high] == pytest.approx([-0.15, 0.76])


def test_three_against_three_can_promise_nothing() -> None:
    assert rank_sum_interval([1, 2, 3], [4, 5, 6]) is None
    assert rank_sum_p([1, 2, 3], [4, 5, 6]) == pytest.approx(0.1)


@given(samples, samples)
def test_turned_about_the_figures_turn_about(first: list[float], second: list[float]) -> None:
    assert shift(first, second) == pytest.approx(-shift(second, first))
    assert rank_sum_p(first, second) == pytest.approx(rank_sum_p(second, first))


@given(samples)
def test_a_sample_does_not_differ_from_itself(values: list[float]) -> None:
    assert rank_sum_p(values, values) == 1 and shift(values, values) == 0
