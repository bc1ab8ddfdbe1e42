"""Delta debugging on made-up oracles."""

import itertools
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.repro.ddmin import ddmin, one_by_one


@given(st.integers(1, 40), st.data())
def test_exactly_the_parts_that_are_needed_are_left(count: int, data: st.DataObject) -> None:
    parts = list(range(count))
    needed = data.draw(st.sets(st.sampled_from(parts), max_size=6))
    assert set(ddmin(parts, lambda kept: needed <= set(kept))) == needed


def test_no_single_part_of_what_is_left_can_be_left_out() -> None:
    """Of an oracle that is not monotone: any two neighbours show it."""

    def shows(kept: Sequence[int]) -> bool:
        return any(second - first == 1 for first, second in itertools.pairwise(kept))

    left = ddmin(list(range(20)), shows)
    assert shows(left)
    assert not any(shows([each for each in left if each != one]) for one in left)


def test_the_order_of_the_parts_stays() -> None:
    left = ddmin(list(range(30)), lambda kept: {3, 17, 25} <= set(kept))
    assert left == [3, 17, 25]


def test_it_takes_about_as_many_tries_as_promised() -> None:
    tries = 0

    def shows(kept: Sequence[int]) -> bool:
        nonlocal tries
        tries += 1
        return 57 in kept

    assert ddmin(list(range(100)), shows) == [57]
    assert tries < 30


@pytest.mark.parametrize("seed", range(5))
def test_an_oracle_that_shows_it_now_and_then_is_asked_often_enough(seed: int) -> None:
    draw = random.Random(seed)

    def shows(kept: Sequence[int]) -> bool:
        return {2, 9} <= set(kept) and any(draw.random() < 0.5 for _ in range(20))

    assert ddmin(list(range(16)), shows) == [2, 9]


@given(st.integers(0, 12), st.data())
def test_one_by_one_leaves_nothing_that_could_go_alone(count: int, data: st.DataObject) -> None:
    parts = list(range(count))
    needed = data.draw(st.sets(st.sampled_from(parts), max_size=4)) if parts else set()
    tries = 0

    def shows(kept: Sequence[int]) -> bool:
        nonlocal tries
        tries += 1
        return needed <= set(kept)

    assert set(one_by_one(parts, shows)) == needed
    assert tries <= 2 * count, "nothing is tried again before something else was left out"


def test_parts_that_are_all_needed_cost_few_tries() -> None:
    """As of a repro that is small already: the usual end of a search."""
    tries = 0

    def shows(kept: Sequence[int]) -> bool:
        nonlocal tries
        tries += 1
        return len(kept) == 8

    assert ddmin(list(range(8)), shows) == list(range(8))
    assert tries <= 20
