"""Which cells are meant: exactly these, in few words."""

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.report.places import Levels, places, products

FACTORS = {"threads": ["1", "2", "4"], "workload": ["a", "b"]}


def cells(*pairs: str) -> Sequence[Levels]:
    """``1a`` is one thread of workload a."""
    return [{"threads": pair[0], "workload": pair[1]} for pair in pairs]


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        (["1a", "1b", "2a", "2b", "4a", "4b"], ""),
        (["1a", "1b", "4a", "4b"], "at threads 1, 4"),
        (["2b"], "at threads 2 and workload b"),
        (["1a", "2a", "4a"], "at workload a"),
        (["1a", "1b", "2a", "4a"], "at threads 1, also at threads 2, 4 and workload a"),
        (["1a", "1b", "2a"], "at threads 1, also at threads 2 and workload a"),
    ],
)
def test_exactly_the_cells_that_are_meant(pairs: list[str], told: str) -> None:
    assert sorted(places(FACTORS, cells(*pairs)).split(", also ")) == sorted(told.split(", also "))


def test_too_many_places_are_counted() -> None:
    factors = {"x": list("12345"), "y": list("12345")}
    diagonal = [{"x": level, "y": level} for level in "12345"]
    assert places(factors, diagonal) == "in 5 cells"


ANY_CELLS = st.sets(st.tuples(st.sampled_from("123"), st.sampled_from("ab"), st.sampled_from("xyz")), min_size=1)


@given(ANY_CELLS)
def test_products_hold_each_cell_once_and_no_other(chosen: set[tuple[str, str, str]]) -> None:
    names = ("threads", "workload", "rows")
    found = products(names, [dict(zip(names, each, strict=True)) for each in sorted(chosen)])
    held = [each for box in found for each in product(*(box[name] for name in names))]
    assert sorted(held) == sorted(chosen)
