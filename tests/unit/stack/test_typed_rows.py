"""Results with types and NULL, as they are printed in the client node."""

import csv
import io
import json

import pytest
from pymysql.constants import FIELD_TYPE

from sandbox.stack.in_client.typed_rows import as_csv, as_json, csv_lines, distinct, json_lines

BIG = "18446744073709551615"


@pytest.mark.parametrize(
    ("value", "kind", "shown"),
    [
        (None, FIELD_TYPE.LONG, "null"),
        (BIG, FIELD_TYPE.LONGLONG, BIG),
        ("-0.10", FIELD_TYPE.NEWDECIMAL, "-0.10"),
        ("1e300", FIELD_TYPE.DOUBLE, "1e300"),
        ("00042", FIELD_TYPE.LONG, '"00042"'),
        ("42", FIELD_TYPE.VAR_STRING, '"42"'),
        ('a"b\n\x01ü😀', FIELD_TYPE.VAR_STRING, '"a\\"b\\n\\u0001ü😀"'),
        (b"\x00\xff", FIELD_TYPE.BLOB, '"0x00FF"'),
        (b"", FIELD_TYPE.BLOB, '""'),
        ('{"a": [1, 2.50]}', FIELD_TYPE.JSON, '{"a": [1, 2.50]}'),
        ("2026-01-01", FIELD_TYPE.DATE, '"2026-01-01"'),
    ],
)
def test_a_value_of_json_keeps_its_type(value: str | bytes | None, kind: int, shown: str) -> None:
    assert as_json(value, kind) == shown
    json.loads(shown)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        ("", '""'),
        ("a", "a"),
        ("a,b", '"a,b"'),
        ('a"b', '"a""b"'),
        ("a\nb", '"a\nb"'),
        (" a", '" a"'),
        (b"\xff", "0xFF"),
        (BIG, BIG),
    ],
)
def test_a_field_of_csv_tells_null_from_an_empty_text(
    value: str | bytes | None, shown: str
) -> None:
    assert as_csv(value, FIELD_TYPE.VAR_STRING) == shown
    (row,) = csv.reader(io.StringIO(f"{shown},x\n", newline=""))
    assert row[0] == (value if isinstance(value, str) else shown)


def test_results_are_arrays_of_a_row_a_line() -> None:
    text = "".join(json_lines(["a", "a"], iter([["1", "null"], ["2", '"x"']]), with_names=True))
    assert (
        json.loads(text) == [{"a": 1, "a_2": None}, {"a": 2, "a_2": "x"}]
        and len(text.splitlines()) == 4
    )
    assert json.loads("".join(json_lines(["a"], iter([["1"]]), with_names=False))) == [[1]]
    assert json.loads("".join(json_lines(["a"], iter([]), with_names=True))) == []


def test_an_array_that_an_error_ends_is_not_whole() -> None:
    lines = json_lines(["a"], iter([["1"]]), with_names=True)
    with pytest.raises(json.JSONDecodeError):
        json.loads(next(lines))


def test_csv_has_a_line_of_names_unless_it_is_not_wanted() -> None:
    assert "".join(csv_lines(["a,b"], iter([["1"]]), with_names=True)) == '"a,b"\n1\n'
    assert "".join(csv_lines(["a"], iter([["1"]]), with_names=False)) == "1\n"


def test_columns_have_names_of_their_own() -> None:
    assert distinct(["a", "a", "a_2", "a"]) == ["a", "a_2", "a_2_2", "a_3"]
