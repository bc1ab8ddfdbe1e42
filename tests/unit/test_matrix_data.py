"""What the stacks of a matrix begin from: those that can be restored are, whatever else is in the matrix."""

from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.commands import matrix_stacks
from sandbox.commands.matrix_data import ArmData, DataMaker, data_of_arms
from sandbox.commands.matrix_request import ArmStack
from sandbox.commands.matrix_stacks import StackMaker
from sandbox.plan.model import PlanRequest
from sandbox.stack.engine import Docker
from sandbox.stack.up import UpOptions

OLD, NEW, POOLED = (
    ArmStack(f"arm{number}", PlanRequest(profile))
    for number, profile in enumerate(("mysql@5.6", "mysql@9.7", "mysql@9.7+haproxy"))
)


class ShelfWithAll(DataMaker):
    """Finds all data there already."""

    def __init__(self) -> None:
        self.told: list[str] = []
        super().__init__("data", SimpleNamespace(line=self.told.append), Docker())  # type: ignore[arg-type]

    def _ensure(self, data: ArmData) -> None:
        """It is there."""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> dict[str, UpOptions]:
    """How each stack was started, by its profile; no engine is asked."""
    seen: dict[str, UpOptions] = {}

    def up(plan: Any, options: UpOptions, *_: Any) -> Any:
        seen[plan.request.profile] = options
        return SimpleNamespace(stack=None)

    monkeypatch.setattr(matrix_stacks, "up", up)
    monkeypatch.setattr(matrix_stacks, "usable_bases", lambda *_: None)
    return seen


def test_an_arm_that_cannot_be_restored_leaves_the_others_their_data(started: dict[str, UpOptions]) -> None:
    found = data_of_arms({OLD: [], NEW: [], POOLED: []})
    assert set(found) == {NEW, POOLED}
    stacks, shelf = StackMaker(Docker()), ShelfWithAll()
    stacks.begin_alike(found, [OLD, NEW, POOLED], shelf)
    for stack in (OLD, NEW, POOLED):
        stacks.up("x", stack)
    keys = {profile: options.snapshot_key for profile, options in started.items()}
    assert keys[NEW.request.profile] == keys[POOLED.request.profile] == found[NEW].key
    assert keys[OLD.request.profile] is None and not started[OLD.request.profile].restore
    assert shelf.told == ["cannot be restored, so started from nothing, with data of its own: mysql@5.6"]


def test_where_all_can_be_restored_nothing_is_said(started: dict[str, UpOptions]) -> None:
    shelf = ShelfWithAll()
    StackMaker(Docker()).begin_alike(data_of_arms({NEW: []}), [NEW], shelf)
    assert not shelf.told and not started
