"""GTID sets and positions: how many transactions they are, what one has beyond another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.failure.gtid import beyond, intervals_of, positions, transactions

A, B = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"


@pytest.mark.parametrize(
    ("held", "count"),
    [
        ("", 0),
        (f"{A}:1", 1),
        (f"{A}:1-99:101", 100),
        (f"{A}:1-99,\n{B}:5-6", 101),
        (f"{A}:1-9:backup:1-3:7", 13),
        ("0-1-50", 50),
        ("0-1-50,7-2-3", 53),
    ],
)
def test_how_many_transactions_there_are(held: str, count: int) -> None:
    assert transactions(held) == count


@pytest.mark.parametrize(
    ("held", "other", "extra"),
    [
        ("", f"{A}:1-5", ""),
        (f"{A}:1-5", f"{A}:1-9", ""),
        (f"{A}:1-9", f"{A}:1-5", f"{A}:6-9"),
        (f"{A}:1-9", f"{A}:3:5-6", f"{A}:1-2:4:7-9"),
        (f"{A}:1-9,{B}:1", f"{A}:1-9", f"{B}:1"),
        (f"{A.upper()}:1-9", f"{A}:1-9", ""),
        (f"{A}:1-9:backup:1-3", f"{A}:1-9:backup:1", f"{A}:backup:2-3"),
        (f"{A}:1-9", "", f"{A}:1-9"),
        ("0-1-50", "0-1-50", ""),
        ("0-1-50", "0-1-51", ""),
        ("0-1-51,2-1-7", "0-1-50", "0-1-51,2-1-7"),
        ("0-1-50", "0-2-50", "0-1-50"),
        ("0-1-50", "", "0-1-50"),
    ],
)
def test_what_one_has_beyond_another(held: str, other: str, extra: str) -> None:
    assert beyond(held, other) == extra


def as_set(numbers: set[int]) -> str:
    return f"{A}:" + ":".join(str(number) for number in sorted(numbers)) if numbers else ""


@given(st.sets(st.integers(1, 30)), st.sets(st.integers(1, 30)))
def test_it_is_the_difference_of_sets(own: set[int], other: set[int]) -> None:
    left = intervals_of(beyond(as_set(own), as_set(other))).get(A, ())
    assert {n for first, last in left for n in range(first, last + 1)} == own - other


def test_positions_are_by_domain() -> None:
    assert positions("0-1-50,7-2-3") == {0: (1, 50), 7: (2, 3)}
