"""Conditions of a matrix: where they hold, what meets them, and how they are refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from sandbox.experiment.definition import Matrix
from sandbox.run.condition import Condition

SHARED: dict[str, Any] = {
    "where": {"variant": ["router"], "threads": [64, 256]},
    "status": "Threads_connected",
    "below_share_of_threads": 0.5,
    "because": "not shared",
}


def matrix(**changes: Any) -> Matrix:
    """Two variants by two numbers of threads, with a condition."""
    data = {
        "name": "x",
        "title": "X",
        "question": "What?",
        "common": {"profile": "gr1@9.7"},
        "factors": {"variant": {"direct": {}, "router": {"add": "router"}}, "threads": [16, 64]},
        "baseline": {"variant": "direct"},
        "conditions": [{**SHARED, "where": {"variant": "router", "threads": 64}}],
    }
    return Matrix.model_validate({**data, **changes})


def test_it_holds_where_all_that_it_names_is_so() -> None:
    condition = Condition.model_validate(SHARED)
    assert condition.holds_for({"variant": "router", "threads": "64", "other": "x"})
    assert not condition.holds_for({"variant": "router", "threads": "16"})
    assert not condition.holds_for({"variant": "direct", "threads": "64"})


def test_bounds_are_met_and_told() -> None:
    share = Condition.model_validate(SHARED)
    assert share.met_by(31, 64) and not share.met_by(32, 64)
    assert share.bound(64) == "less than 32, 0.5 times the 64 threads of the load"
    limit = Condition(status="Com_stmt_execute", at_most=0, because="x")
    assert limit.met_by(0, 1) and not limit.met_by(1, 1) and limit.bound(1) == "at most 0"


def test_cells_know_their_conditions() -> None:
    made = matrix()
    assert [len(made.conditions_of(cell)) for cell in made.all_cells()] == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"conditions": [{**SHARED, "where": {"variant": "roter"}}]}, "factor variant has no level 'roter'"),
        ({"conditions": [{**SHARED, "where": {"variants": "router"}}]}, "no factor 'variants'"),
        ({"conditions": [{**SHARED, "at_most": 1}]}, "one bound"),
        ({"conditions": [{"status": "x", "because": "y"}]}, "one bound"),
        ({"conditions": [{**SHARED, "take": "mean"}]}, "median"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        matrix(**changes)


def test_the_baseline_is_the_first_of_a_list_that_can_run() -> None:
    made = matrix(baseline={"variant": ["router", "direct"]})
    assert made.baseline == {"variant": "router"} and made.baseline_else == {"variant": ["direct"]}
    settled = made.with_baseline_among(lambda cell: cell.levels["variant"] == "direct")
    assert settled.baseline == {"variant": "direct"} and not settled.baseline_else
    assert made.with_baseline_among(lambda _: True).baseline == {"variant": "router"}
    assert made.with_baseline_among(lambda _: False).baseline == {"variant": "router"}, "the refusal names the first"
    with pytest.raises(ValidationError, match="no level 'nobody'"):
        matrix(baseline={"variant": ["direct", "nobody"]})
