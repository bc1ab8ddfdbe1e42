"""Series called steady or not, and lasting changes found in histories: how often rightly, how often
wrongly.
"""

import random
from typing import Any

import numpy as np
import pytest

from sandbox.judge.changes import FEWEST, change_points, changes, pre_whitened

POINTS = 60
SERIES = 200


def series(seed: int, points: int = POINTS, sd: float = 0.05, owed: float = 0.2) -> Any:
    """Transactions a second about 1,000, each second owing a share to the one before
    (docs/statistics.md, rule 1).
    """
    noise = np.random.default_rng(seed).normal(0, sd * 1000, points)
    for second in range(1, points):
        noise[second] += owed * noise[second - 1]
    return 1000 + noise


def flagged(change: Any, **options: Any) -> float:
    """Share of the series that are called unsteady."""
    return sum(bool(changes(series(seed, **options) + change)) for seed in range(SERIES)) / SERIES


@pytest.mark.parametrize("points", [30, 60, 120])
@pytest.mark.parametrize("owed", [0.0, 0.3])
def test_steady_series_are_left_alone(points: int, owed: float) -> None:
    assert flagged(0, points=points, owed=owed) <= 0.05


def test_a_drift_is_flagged() -> None:
    assert flagged(np.linspace(0, -200, POINTS)) >= 0.9


def test_a_step_is_flagged() -> None:
    assert flagged(np.where(np.arange(POINTS) < 25, 0, -300)) >= 0.9


def test_a_real_but_small_drift_is_not() -> None:
    assert flagged(np.linspace(0, 30, POINTS), sd=0.02) <= 0.05


def test_too_few_points_are_not_judged() -> None:
    assert changes([1000.0] * 29) is None
    assert changes([1000.0] * 30) == []
    assert changes([0.0] * 40) == []


@pytest.mark.parametrize("end", [1600.0, 400.0, 1234.5])
def test_a_straight_line_has_no_step(end: float) -> None:
    assert [each.kind for each in changes(np.linspace(1000.0, end, POINTS).tolist()) or ()] == [
        "drift"
    ]
    assert [
        each.kind for each in changes([float(1000 + second) for second in range(POINTS)]) or ()
    ] == ["drift"]


def test_a_server_that_stops_is_not_steady() -> None:
    assert changes([1000.0] * 30 + [0.0] * 30)


def test_a_step_is_reported_with_its_size_and_place() -> None:
    level = np.concatenate([np.full(25, 0.0), np.full(35, 600.0)])
    (step,) = [change for change in changes(series(2) + level) or () if change.kind == "step"]
    assert step.at == 25 and step.share == pytest.approx(600 / 1350, abs=0.03)


def test_a_drift_is_reported_with_its_size() -> None:
    (drift,) = [
        each
        for each in changes(series(2) + np.linspace(0, -200, POINTS)) or ()
        if each.kind == "drift"
    ]
    assert drift.share == pytest.approx(-200 / 900, abs=0.05)


def test_whitening_takes_out_what_a_point_owes_to_the_one_before() -> None:
    white = pre_whitened(series(1, points=5000, owed=0.5), slope=0.0)
    assert abs(np.corrcoef(white[1:], white[:-1])[0, 1]) < 0.05


SMALLEST = 0.0488


def noise(count: int, seed: int, sd: float = 0.03) -> list[float]:
    drawn = random.Random(seed)
    return [drawn.gauss(0, sd) for _ in range(count)]


def test_a_lasting_step_is_found_where_it_is() -> None:
    values = [value + (0.2 if n >= 9 else 0) for n, value in enumerate(noise(16, 1))]
    (change,) = change_points(values, SMALLEST)
    assert (
        change.position == 9 and change.effect == pytest.approx(0.2, abs=0.04) and change.p < 0.001
    )


def test_down_and_up_again_are_two_changes() -> None:
    values = [value - (0.3 if 8 <= n < 16 else 0) for n, value in enumerate(noise(24, 2))]
    assert [(each.position, each.effect < 0) for each in change_points(values, SMALLEST)] == [
        (8, True),
        (16, False),
    ]


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
