"""Steady series are called steady, drifting and stepping ones are not; drawn with fixed seeds."""

from typing import Any

import numpy as np
import pytest

from sandbox.results.statistics.steadiness import pre_whitened, steady

POINTS = 60
SERIES = 200


def series(seed: int, points: int = POINTS, sd: float = 0.05, owed: float = 0.2) -> Any:
    """Transactions a second about 1,000, each second owing a share to the one before (statistics.md, rule 1)."""
    noise = np.random.default_rng(seed).normal(0, sd * 1000, points)
    for second in range(1, points):
        noise[second] += owed * noise[second - 1]
    return 1000 + noise


def flagged(change: Any, **options: Any) -> float:
    """Share of the series that are called unsteady."""
    return sum(steady(series(seed, **options) + change) is False for seed in range(SERIES)) / SERIES


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
    assert steady([1000.0] * 29) is None
    assert steady([1000.0] * 30) is True
    assert steady([0.0] * 40) is True


def test_a_server_that_stops_is_not_steady() -> None:
    assert steady([1000.0] * 30 + [0.0] * 30) is False


def test_whitening_takes_out_what_a_point_owes_to_the_one_before() -> None:
    white = pre_whitened(series(1, points=5000, owed=0.5), slope=0.0)
    assert abs(np.corrcoef(white[1:], white[:-1])[0, 1]) < 0.05
