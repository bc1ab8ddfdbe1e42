"""Axes: round ticks inside the range, and a logarithm where a line of zeros would be drawn otherwise."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.report.axis import Axis, axis_of, figure, written

SIZES = st.floats(1e-9, 1e12)
VALUES = st.lists(st.one_of(st.just(0.0), SIZES, SIZES.map(lambda size: -size)), min_size=1, max_size=20)


@given(VALUES, st.booleans())
def test_every_value_is_inside_and_the_ticks_are_few_and_ascending(values: list[float], zero: bool) -> None:
    axis = axis_of(values, zero)
    assert axis.low <= min(values) and max(values) <= axis.high
    assert all(0 <= axis.place(value) <= 1 for value in values)
    ticks = axis.ticks()
    assert len(ticks) <= 7 and all(axis.low <= tick <= axis.high for tick in ticks)
    assert all(low < high for low, high in itertools.pairwise(ticks))


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0, 834], [0, 200, 400, 600, 800]),
        ([0, 1], [0, 0.25, 0.5, 0.75, 1]),
        ([0], [0, 0.25, 0.5, 0.75, 1]),
        ([1, 1000], [1, 10, 100, 1000]),
        ([2, 45], [2, 5, 10, 20, 50]),
    ],
)
def test_ticks_are_round(values: list[float], ticks: list[float]) -> None:
    assert axis_of(values).ticks() == ticks


def test_small_values_are_seen_beside_large_ones() -> None:
    axis = axis_of([1, 500])
    assert axis.logarithmic and axis.place(1) < 0.1 and axis.place(22) == pytest.approx(0.5, abs=0.02)
    assert not axis_of([0, 500]).logarithmic and not axis_of([-1, 500]).logarithmic, "zero has no logarithm"


def test_what_lies_outside_is_drawn_at_the_edge() -> None:
    assert Axis(1, 10, logarithmic=True).place(-3) == 0 and Axis(0, 1).place(7) == 1


@pytest.mark.parametrize(
    ("value", "tick", "in_table"),
    [
        (0, "0", "0"),
        (0.05, "0.05", "0.05"),
        (12_000, "12k", "12,000"),
        (1_500_000, "1.5M", "1,500,000"),
        (13214.6, "13.21k", "13,215"),
        (999.96, "1000", "1000"),
    ],
)
def test_numbers_are_written_to_be_read(value: float, tick: str, in_table: str) -> None:
    assert (written(value), figure(value)) == (tick, in_table)
