"""A condition that is not met, and which runs leave a stack that must be started anew."""

import pytest

from sandbox.experiment.broken import is_broken
from sandbox.results.record import CheckRecord
from sandbox.run.condition import Condition
from sandbox.run.judge import condition_met, verdict
from unit.results.samples import sample_record

SHARED = Condition(status="Threads_connected", below_share_of_threads=0.5, because="not shared")
GREW = Condition(status="Com_stmt_execute", take="increase", at_most=0, because="prepared statements were used")


def test_samples_meet_a_condition_or_say_what_they_are() -> None:
    met = condition_met(SHARED, 64, {"a": [1, 20, 90], "b": [2, 3, 4]}, ["a", "b"])
    assert (met.name, met.verdict) == ("condition_Threads_connected", "pass")
    assert "is 23 (median), must be less than 32" in met.detail
    unmet = condition_met(SHARED, 64, {"a": [67, 67, 3]}, ["a"])
    assert unmet.verdict == "fail" and unmet.detail.startswith("not shared: Threads_connected is 67 (median)")
    assert condition_met(GREW, 1, {"a": [7, 7]}, ["a"]).verdict == "pass"
    assert condition_met(GREW, 1, {"a": [7, 8]}, ["a"]).verdict == "fail"


@pytest.mark.parametrize("samples", [{}, {"a": []}, {"a": [1.0]}])
def test_what_was_not_sampled_is_not_proved(samples: dict[str, list[float]]) -> None:
    check = condition_met(SHARED, 64, samples, ["a", "b"])
    assert check.verdict == "fail" and "no sample of" in check.detail


def check(name: str, verdict_of_it: str) -> CheckRecord:
    """One check."""
    return CheckRecord.model_validate({"name": name, "verdict": verdict_of_it, "detail": f"about {name}"})


def test_an_unmet_condition_is_infra_error_unless_something_worse_explains_it() -> None:
    unmet = check("condition_Threads_connected", "fail")
    assert verdict(None, [unmet]) == ("infra_error", "about condition_Threads_connected")
    assert verdict("it broke", [unmet]) == ("failed", "it broke")
    assert verdict(None, [unmet, check("load_reached_server", "fail")])[0] == "failed"
    assert verdict(None, [unmet, check("nodes_alive", "fail")]) == ("infra_error", "about nodes_alive")


def test_a_stack_is_started_anew_unless_all_its_nodes_lived() -> None:
    lost = sample_record(status="infra_error", reason="x", checks=[check("nodes_alive", "fail")])
    unmet = sample_record(status="infra_error", reason="x", checks=[check("nodes_alive", "pass")])
    unasked = sample_record(status="infra_error", reason="x", checks=[])
    assert [is_broken(each) for each in (lost, unmet, unasked, sample_record())] == [True, False, True, False]
