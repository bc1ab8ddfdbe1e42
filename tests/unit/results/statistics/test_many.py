"""Adjusted p values against R's p.adjust, and the blocks that a lone difference takes."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.results.statistics.many import benjamini_hochberg, blocks_for_one, holm
from sandbox.results.statistics.signed_rank import smallest_p

# Benjamini and Hochberg (1995), section 3.2: fifteen p values of a trial of thrombolysis. Holm's way (and Bonferroni's)
# refuses three of them at 0.05, theirs four.
TRIAL = [
    *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
    *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
]
p_values = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def test_the_published_example() -> None:
    assert sum(p <= 0.05 for p in holm(TRIAL)) == 3
    assert sum(p <= 0.05 for p in benjamini_hochberg(TRIAL)) == 4


def test_adjusted_values_by_hand() -> None:
    """R: p.adjust(c(0.01, 0.04, 0.03), "holm") is 0.03 0.06 0.06, and "BH" is 0.03 0.04 0.04."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert benjamini_hochberg([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])


@given(p_values)
def test_adjusting_never_helps_and_holm_is_the_stricter(values: list[float]) -> None:
    for plain, strict, lenient in zip(values, holm(values), benjamini_hochberg(values), strict=True):
        assert plain - 1e-12 <= lenient <= strict + 1e-12 <= 1 + 1e-12


@given(p_values)
def test_adjusting_keeps_the_order(values: list[float]) -> None:
    for adjust in (holm, benjamini_hochberg):
        adjusted = adjust(values)
        order = sorted(range(len(values)), key=values.__getitem__)
        assert all(adjusted[a] <= adjusted[b] for a, b in itertools.pairwise(order))


@given(st.integers(1, 500))
def test_a_lone_difference_can_be_called_with_so_many_blocks(comparisons: int) -> None:
    blocks = blocks_for_one(comparisons)
    assert comparisons * smallest_p(blocks) <= 0.05
    assert blocks == 6 or comparisons * smallest_p(blocks - 1) > 0.05
