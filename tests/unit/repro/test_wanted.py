"""What a statement should come to, against what came."""

from typing import Any

import pytest
from pydantic import ValidationError

from sandbox.record.repro import StepRecord, Warned
from sandbox.repro.wanted import Wanted, came_text


def came(**given: Any) -> StepRecord:
    return StepRecord(number=1, text="s1: x", began_ms=0, ended_ms=1, **given)


ROWS = came(rows=[[["1", "a"], ["2", None]]])
ERROR = came(error_code=1205, error="Lock wait timeout exceeded")


@pytest.mark.parametrize(
    ("keys", "record", "problem"),
    [
        ({}, came(), None),
        ({}, ERROR, "error 1205: Lock wait timeout exceeded"),
        ({}, came(error_code=0, error="broken pipe"), "error: broken pipe"),
        ({"error": 1205}, ERROR, None),
        ({"error": [1213, 1205]}, ERROR, None),
        ({"error": "any"}, ERROR, None),
        ({"error": 1213}, ERROR, "error 1205: Lock wait timeout exceeded"),
        ({"error": 1213}, came(), "no error"),
        ({"rows": [[1, "a"], [2, None]]}, ROWS, None),
        ({"rows": [[2, None], [1, "a"]]}, ROWS, "(1, a), (2, NULL)"),
        ({"rows": [[2, None], [1, "a"]], "unordered": True}, ROWS, None),
        ({"rows": [[1, "a"]], "unordered": True}, ROWS, "(1, a), (2, NULL)"),
        ({"rows": []}, ROWS, "(1, a), (2, NULL)"),
        ({"rows": []}, came(rows=[[]]), None),
        ({"rows": 0}, came(rows=[[["0"]]]), None),
        ({"rows": True}, came(rows=[[["1"]]]), None),
        ({"rows": 1.5}, came(rows=[[["1.5"]]]), None),
        ({"rows": 1}, came(), "no row"),
        ({"matches": "^2\tNULL$"}, ROWS, None),
        ({"matches": "b"}, ROWS, "(1, a), (2, NULL)"),
        ({"affected": 3}, came(affected=3), None),
        ({"affected": 3}, came(affected=2), "2 rows affected"),
        ({"warning": 1292}, came(warnings=[Warned(level="Warning", code=1292, text="")]), None),
        ({"warning": [1292, 1366]}, came(), "without warning 1292, 1366"),
    ],
)
def test_where_what_came_differs_it_is_said(
    keys: dict[str, Any], record: StepRecord, problem: str | None
) -> None:
    assert Wanted.model_validate(keys).problem(record) == problem


def test_of_several_result_sets_the_last_counts() -> None:
    record = came(rows=[[["1"]], [["2"]]])
    assert Wanted.model_validate({"rows": 2}).problem(record) is None


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"error": "some"}, "error is a code, a list of codes, or any"),
        ({"matches": "("}, "matches is no regular expression"),
        ({"unordered": True}, "unordered says how rows are compared"),
        ({"error": 1205, "rows": 1}, "a statement ends with an error or has rows"),
        ({"affected": -1}, "greater than or equal to 0"),
        ({"rowz": 1}, "Extra inputs"),
    ],
)
def test_keys_that_say_nothing_sensible_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Wanted.model_validate(keys)


def test_what_came_in_a_few_words() -> None:
    many = came(rows=[[[str(number)] for number in range(5)]])
    assert came_text(many) == "(0), (1), (2) and 2 more"
    assert came_text(came(affected=2)) == "ok, 2 rows affected"
    assert came_text(came()) == "ok"
