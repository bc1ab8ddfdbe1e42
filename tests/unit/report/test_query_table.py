"""An answer fits a terminal of 100 columns, and is plain data elsewhere."""

import csv
import io
import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.report.query_table import query_csv, query_json, query_lines, shown
from sandbox.report.text import WIDTH

VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers())
)


def test_texts_stand_left_and_figures_right() -> None:
    assert query_lines(["cell", "tps"], [["off", 1234.5678], ["on", None]]) == [
        "cell      tps",
        "off   1234.57",
        "on       null",
    ]


def test_a_long_text_is_cut_before_the_table_is_given_up() -> None:
    lines = query_lines(["reason", "n"], [["x" * 300, 1], ["short", 22]])
    assert len(lines) == 3 and all(len(line) <= WIDTH for line in lines)
    assert lines[1].startswith("xxx") and "…" in lines[1] and lines[1].endswith(" 1")


def test_what_is_too_wide_is_shown_a_value_a_line() -> None:
    columns = [f"column_{n}" for n in range(30)]
    lines = query_lines(columns, [list(range(30)), ["y" * 150, *range(29)]])
    assert lines[0] == "row 1" and lines[1] == "column_0   0" and lines[31] == "row 2"
    assert all(len(line) <= WIDTH for line in lines) and "".join(lines).count("y") == 150 + 0


@settings(deadline=None)
@given(
    st.integers(1, 12).flatmap(
        lambda n: st.lists(st.lists(VALUES, min_size=n, max_size=n), max_size=5)
    )
)
def test_nothing_is_ever_wider_than_a_terminal(rows: list[list[Any]]) -> None:
    columns = [f"c{n}" for n in range(len(rows[0]) if rows else 3)]
    assert all(len(line) <= WIDTH for line in query_lines(columns, rows))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (3, "3"),
        (12_345_678.9, "12345679"),
        (0.00012, "0.00012"),
        (math.nan, "null"),
        (Decimal("1.50"), "1.5"),
        ("a\nb", "a b"),
        ({"a": 1}, '{"a": 1}'),
        ([1, None], "[1, null]"),
        (datetime(2025, 1, 31, 12, 0, 1), "2025-01-31T12:00:01Z"),
        (date(2025, 1, 31), "2025-01-31"),
    ],
)
def test_values_as_people_read_them(value: Any, text: str) -> None:
    assert shown(value) == text


def test_json_has_every_column_and_no_invented_number() -> None:
    rows = [["a", math.inf, datetime(2025, 1, 31, tzinfo=UTC), {"x": [1]}]]
    (row,) = json.loads(query_json(["tps", "tps", "when", "m"], rows))
    assert row == {"tps": "a", "tps_2": None, "when": "2025-01-31T00:00:00+00:00", "m": {"x": [1]}}
    assert json.loads(query_json(["a"], [])) == []


def test_csv_is_read_back_as_it_was() -> None:
    text = query_csv(["name", "n", "m"], [['a, "b"\nc', 1.5, {"x": 1}], [None, None, []]])
    assert list(csv.reader(io.StringIO(text))) == [
        ["name", "n", "m"],
        ['a, "b"\nc', "1.5", '{"x": 1}'],
        ["", "", "[]"],
    ]
