"""The search for a version between a good and a bad one, also of a bug that shows now and then."""

import random

import pytest

from sandbox.judge.bisect import (
    MOST_REPEATS,
    WRONG,
    Bisection,
    differ,
    expected_cost,
    expected_repeats,
    is_bad,
    repeats_needed,
    steps_of,
)

VERSIONS = [f"10.11.{patch}" for patch in range(20)]


@pytest.mark.parametrize("first_bad", range(1, 20))
def test_the_first_bad_version_is_found_in_as_many_steps_as_promised(first_bad: int) -> None:
    search, tried = Bisection(VERSIONS), 0
    while (version := search.next()) is not None:
        tried += 1
        search.note(version, VERSIONS.index(version) >= first_bad)
    assert (search.good, search.bad) == (VERSIONS[first_bad - 1], VERSIONS[first_bad])
    assert tried <= steps_of(len(VERSIONS)) == 5


def test_versions_that_nobody_can_judge_are_left_out() -> None:
    search = Bisection(VERSIONS)
    while (version := search.next()) is not None:
        if version == "10.11.12":
            search.skip(version)
        else:
            search.note(version, VERSIONS.index(version) >= 12)
    assert (search.good, search.bad) == ("10.11.11", "10.11.13")
    assert search.skipped == ["10.11.12"]


def walked(between: list[str], first_bad: int, of_good: float, of_bad: float) -> float:
    """What a search really costs; ``first_bad``: a place in ``between``, its end for the last."""
    search = Bisection(["good", *between, "bad"])
    cost = 0.0
    while (version := search.next()) is not None:
        bad = between.index(version) >= first_bad
        cost += of_bad if bad else of_good
        search.note(version, bad)
    return cost


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 14])
def test_what_is_predicted_is_the_mean_over_all_places(count: int) -> None:
    between = [f"v{number}" for number in range(count)]
    real = [walked(between, place, 9.0, 5.0) for place in range(count + 1)]
    predicted = expected_cost(between, lambda _: 9.0, lambda _: 5.0)
    assert predicted == pytest.approx(sum(real) / len(real))


@pytest.mark.parametrize(("rate", "mean"), [(1.0, 1.0), (0.5, 1.96875), (0.0, 6.0)])
def test_repeats_until_a_bug_shows_for_the_first_time(rate: float, mean: float) -> None:
    assert expected_repeats(rate, 6) == pytest.approx(mean)


def test_two_neighbours_need_no_step() -> None:
    assert Bisection(["10.11.18", "10.11.19"]).next() is None


@pytest.mark.parametrize(
    ("shown", "repeats", "steps", "needed"),
    [
        # Lower ends by Clopper and Pearson: 0.025^(1/n) of n in n; 1 in 1 is 0.025.
        (1, 1, 1, 182),
        (5, 5, 1, 8),
        (20, 20, 1, 3),
        (10, 20, 1, 15),
        (10, 20, 5, 20),
        (0, 20, 1, MOST_REPEATS),
        (0, 0, 1, MOST_REPEATS),
    ],
)
def test_repeats_after_which_a_bug_that_has_not_shown_is_not_there(
    shown: int, repeats: int, steps: int, needed: int
) -> None:
    assert repeats_needed(shown, repeats, steps) == needed


def test_a_bug_that_shows_in_half_of_the_repeats_is_hardly_ever_missed() -> None:
    draw = random.Random(1)
    needed = repeats_needed(10, 20, 1)
    missed = sum(all(draw.random() > 0.5 for _ in range(needed)) for _ in range(4000))
    assert missed / 4000 < WRONG


def test_rates_that_differ() -> None:
    # Fisher's exact test: p = 0.0000108 of 10 in 10 against 0 in 10, 0.057 of 4 against 0.
    assert differ(10, 10, 0, 10)
    assert not differ(4, 10, 0, 10)
    assert not differ(0, 0, 0, 0)


def test_a_version_is_as_the_one_that_makes_it_likelier() -> None:
    assert is_bad(1, 10, good_rate=0.0, bad_rate=0.5)
    assert not is_bad(0, 10, good_rate=0.0, bad_rate=0.5)
    assert is_bad(6, 10, good_rate=0.1, bad_rate=0.6)
    assert not is_bad(2, 10, good_rate=0.1, bad_rate=0.6)
