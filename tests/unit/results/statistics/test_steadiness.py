"""Steady series are called steady, drifting and stepping ones are not; drawn with fixed seeds."""

from typing import Any

import numpy as np
import pytest

from sandbox.results.statistics.steadiness import changes, pre_whitened

POINTS = 60
SERIES = 200


def series(seed: int, points: int = POINTS, sd: float = 0.05, owed: float = 0.2) -> Any:
    """Transactions a second about 1,000, each second owing a share to the one before (docs/statistics.md, rule 1)."""
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


def test_a_server_that_stops_is_not_steady() -> None:
    assert changes([1000.0] * 30 + [0.0] * 30)


def test_a_step_is_told_with_its_size_and_place() -> None:
    level = np.concatenate([np.full(25, 0.0), np.full(35, 600.0)])
    (step,) = [change for change in changes(series(2) + level) or () if change.kind == "step"]
    assert step.at == 25 and step.share == pytest.approx(600 / 1350, abs=0.03)


def test_a_drift_is_told_with_its_size() -> None:
    (drift,) = [each for each in changes(series(2) + np.linspace(0, -200, POINTS)) or () if each.kind == "drift"]
    assert drift.share == pytest.approx(-200 / 900, abs=0.05)


def test_whitening_takes_out_what_a_point_owes_to_the_one_before() -> None:
    white = pre_whitened(series(1, points=5000, owed=0.5), slope=0.0)
    assert abs(np.corrcoef(white[1:], white[:-1])[0, 1]) < 0.05
