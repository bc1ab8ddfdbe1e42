"""The stacks of an experiment: what they start from, and when one is broken."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.experiment import pool
from sandbox.experiment.dataset import Dataset, DatasetMaker, dataset_of
from sandbox.experiment.pool import StackStarter, is_broken
from sandbox.experiment.resolve import StackSpec
from sandbox.plan.model import PlanRequest
from sandbox.results.record import CheckRecord
from sandbox.run.judge import Condition, condition_met, verdict
from sandbox.stack.engine import Docker
from sandbox.stack.planning import offline_plan
from sandbox.stack.up import UpOptions
from unit.results.samples import sample_record


def stack(name: str, profile: str) -> StackSpec:
    """A stack without loads."""
    request = PlanRequest(profile)
    plan = offline_plan(request)
    return StackSpec(name, request, plan, dataset_of(plan, [], offline_plan))


OLD, NEW, POOLED = (
    stack("variant1", "mysql@5.6"),
    stack("variant2", "mysql@9.7"),
    stack("variant3", "mysql@9.7+haproxy"),
)


class MakerWithAll(DatasetMaker):
    """Finds all data there already."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        super().__init__("data", lambda _: None, self.notes.append, lambda: nullcontext(lambda _: None), Docker())

    def _ensure(self, dataset: Dataset) -> None:
        """It is there."""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> dict[str, UpOptions]:
    """How each stack was started, by its profile; no engine is asked."""
    seen: dict[str, UpOptions] = {}

    def up(plan: Any, options: UpOptions, *_: Any) -> Any:
        seen[plan.request.profile] = options
        return SimpleNamespace(stack=None)

    monkeypatch.setattr(pool, "up", up)
    monkeypatch.setattr(pool, "usable_base_directories", lambda *_: None)
    return seen


def starter() -> StackStarter:
    """One that shows nothing."""
    return StackStarter(lambda: nullcontext(lambda _: None), Docker())


def test_a_stack_that_cannot_be_restored_leaves_the_others_their_data(started: dict[str, UpOptions]) -> None:
    assert [each.name for each in (OLD, NEW, POOLED) if each.dataset] == ["variant2", "variant3"]
    stacks, maker = starter(), MakerWithAll()
    stacks.begin_alike([OLD, NEW, POOLED], maker)
    for each in (OLD, NEW, POOLED):
        stacks.up("x", each)
    keys = {profile: options.snapshot_key for profile, options in started.items()}
    assert NEW.dataset and keys[NEW.request.profile] == keys[POOLED.request.profile] == NEW.dataset.key
    assert keys[OLD.request.profile] is None and not started[OLD.request.profile].restore
    assert maker.notes == ["cannot be restored, so started from scratch with its own data: mysql@5.6"]


def test_where_all_can_be_restored_nothing_is_said(started: dict[str, UpOptions]) -> None:
    maker = MakerWithAll()
    starter().begin_alike([NEW], maker)
    assert not maker.notes and not started


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
