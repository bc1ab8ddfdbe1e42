"""A history changed where it really did, and hardly ever where it did not."""

import random

import pytest

from sandbox.results.statistics.change_points import FEWEST, change_points

SMALLEST = 0.0488


def noise(count: int, seed: int, sd: float = 0.03) -> list[float]:
    drawn = random.Random(seed)
    return [drawn.gauss(0, sd) for _ in range(count)]


def test_a_lasting_step_is_found_where_it_is() -> None:
    values = [value + (0.2 if n >= 9 else 0) for n, value in enumerate(noise(16, 1))]
    (change,) = change_points(values, SMALLEST)
    assert change.position == 9 and change.effect == pytest.approx(0.2, abs=0.04) and change.p < 0.001


def test_down_and_up_again_are_two_changes() -> None:
    values = [value - (0.3 if 8 <= n < 16 else 0) for n, value in enumerate(noise(24, 2))]
    assert [(each.position, each.effect < 0) for each in change_points(values, SMALLEST)] == [(8, True), (16, False)]


def test_a_single_outlier_is_no_change() -> None:
    values = noise(16, 3)
    values[8] -= 0.5
    assert not change_points(values, SMALLEST)


def test_what_is_too_small_to_matter_is_no_change() -> None:
    values = [value + (0.03 if n >= 10 else 0) for n, value in enumerate(noise(20, 4, 0.001))]
    assert not change_points(values, SMALLEST)
    assert change_points(values, 0.01)


@pytest.mark.parametrize("values", [[], [1.0], [0.0, 0.0, 0.0, 1.0, 1.0], [1.0] * 12])
def test_few_or_equal_values_have_none(values: list[float]) -> None:
    assert not change_points(values, SMALLEST)


def test_a_step_without_noise_is_certain() -> None:
    (change,) = change_points([1.0] * 3 + [2.0] * 3, SMALLEST)
    assert FEWEST == 6 and (change.position, change.effect, change.p) == (3, 1.0, 0.0)


@pytest.mark.parametrize("count", [6, 12, 30])
def test_pure_noise_gives_a_false_alarm_in_fewer_than_one_history_of_twenty(count: int) -> None:
    alarms = sum(bool(change_points(noise(count, seed), 0)) for seed in range(400))
    assert alarms / 400 <= 0.05
