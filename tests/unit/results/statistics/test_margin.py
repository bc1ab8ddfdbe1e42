"""The margin and what could have been seen, against docs/statistics.md."""

import math

import pytest

from sandbox.results.statistics.margin import absolute_margin, blocks_to_see, detectable, margin, spread


def test_a_margin_is_never_below_five_percent_and_grows_with_the_noise() -> None:
    assert margin(0.0, 8) == margin(0.03, 8) == 0.05
    assert margin(0.12, 8) == pytest.approx(math.exp(3.9 * 0.12 / math.sqrt(8)) - 1)
    assert margin(0.12, 16) < margin(0.12, 8)
    assert absolute_margin(2.0, 16, 0.5) == pytest.approx(1.95) and absolute_margin(0.0, 16, 0.5) == 0.5


@pytest.mark.parametrize(("blocks", "sds"), [(6, 1.77), (8, 1.27), (10, 1.0), (16, 0.8), (20, 0.67)])
def test_what_is_seen_is_what_was_simulated(blocks: int, sds: float) -> None:
    assert detectable(0.1, blocks) == pytest.approx(sds * 0.1)


def test_more_blocks_see_more() -> None:
    seen = [detectable(1, blocks) for blocks in range(6, 60)]
    assert seen == sorted(seen, reverse=True)
    assert detectable(1, 5) == math.inf
    assert detectable(1, 80) == pytest.approx(0.67 / 2)


def test_the_blocks_that_a_difference_takes() -> None:
    assert blocks_to_see(0.01, 0.05) == 6
    assert blocks_to_see(0.1, 0.1) == 10
    assert blocks_to_see(0.1, 0.0) is None
    blocks = blocks_to_see(0.2, 0.05)
    assert blocks and detectable(0.2, blocks) <= 0.05 < detectable(0.2, blocks - 1)


def test_one_difference_has_no_spread() -> None:
    assert spread([0.3]) == 0 and spread([1.0, 3.0]) == pytest.approx(math.sqrt(2))
