"""The verdict on a repro, from its steps and expectations."""

from typing import Any

import pytest

from sandbox.judge.repros import verdict_of
from sandbox.record.repro import ExpectationRecord, ReproVerdict, Side, StepRecord


def seen(side: Side, met: bool | None, text: str = "") -> ExpectationRecord:
    return ExpectationRecord(side=side, text="x", met=met, seen=text or f"{side} {met}")


def step(**given: Any) -> StepRecord:
    return StepRecord(number=2, text="s1: x", began_ms=0, ended_ms=1, **given)


@pytest.mark.parametrize(
    ("bug", "fixed", "verdict", "why"),
    [
        ([True, True], [False], "reproduced", "bug True; bug True"),
        ([False], [True], "fixed", "fixed True"),
        ([True, False], [False, True], "neither", "bug False; fixed False"),
        ([None], [True], "fixed", "fixed True"),
        ([True], [None], "reproduced", "bug True"),
        ([None], [False], "unknown", "x: bug None"),
        ([True], [True], "unknown", "everything came that is expected of the bug"),
    ],
)
def test_all_that_is_expected_of_one_side_must_come(
    bug: list[bool | None], fixed: list[bool | None], verdict: ReproVerdict, why: str
) -> None:
    expectations = [seen("bug", each) for each in bug] + [seen("fixed", each) for each in fixed]
    found, said = verdict_of([step()], expectations)
    assert found == verdict and said.startswith(why)


def test_a_step_that_did_not_go_as_the_file_says_is_no_verdict_on_the_bug() -> None:
    found = verdict_of([step(problem="error 1064: near x")], [])
    assert found == ("neither", "step 2 (s1: x): error 1064: near x")


def test_a_named_step_is_judged_by_expectations_alone() -> None:
    steps = [step(problem="error 1020", name="update")]
    assert verdict_of(steps, [seen("bug", True), seen("fixed", False)])[0] == "reproduced"


def test_what_cannot_be_carried_out_is_unknown() -> None:
    assert verdict_of([step()], [], "there is no reader") == ("unknown", "there is no reader")
