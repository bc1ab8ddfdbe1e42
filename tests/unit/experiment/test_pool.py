"""What the stacks of an experiment begin from: those that can be restored are, whatever else is in it."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.experiment import pool
from sandbox.experiment.dataset import Dataset, DatasetMaker, dataset_of
from sandbox.experiment.pool import StackStarter
from sandbox.experiment.resolve import StackSpec
from sandbox.plan.model import PlanRequest
from sandbox.stack.engine import Docker
from sandbox.stack.planning import offline_plan
from sandbox.stack.up import UpOptions


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
