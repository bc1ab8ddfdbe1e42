"""A trial with actions of an operator, on a stack without Docker."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

from sandbox.actions.common.model import Action, ActionRefusedError, Operation
from sandbox.results.record import Record
from sandbox.run import operator
from sandbox.run.schedule import Step
from unit.run.trial_runs import CRASH, checks_of, trial_of, try_once
from unit.run.trial_world import World


class Done(Action):
    """Is done at once."""

    performed: ClassVar[list[Operation]] = []

    def perform(self, operation: Operation) -> str:
        Done.performed.append(operation)
        return "replica1 promoted"


class Refusing(Action):
    """Is refused."""

    def perform(self, operation: Operation) -> str:
        raise ActionRefusedError("the old writer answers", "a promotion would make a second writer")


class Crashing(Action):
    """Has a bug."""

    def perform(self, operation: Operation) -> str:
        raise ZeroDivisionError("by zero")


class Lasting(Action):
    """Waits until the trial ends."""

    def perform(self, operation: Operation) -> str:
        operation.ended.wait(10)
        operation.wait_for(lambda: False, 1e9)
        return "never"


def with_action(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Action, **given: Any
) -> tuple[Record, Path, list[str]]:
    """A crash, and an action a second later."""
    monkeypatch.setattr(operator, "action_named", lambda word, options: made)
    steps = [CRASH, Step(at_s=11, action="promote", options={"after_s": 1})]
    return try_once(world, tmp_path, monkeypatch, steps=steps, **given)


class Starting(Action):
    """Starts two servers, which get other addresses."""

    starts_servers: ClassVar[bool] = True

    def perform(self, operation: Operation) -> str:
        operation.joined_s.extend((4.25, 7.5))
        return "two are back"


def test_how_long_started_servers_took_is_a_figure(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, _, _ = with_action(world, tmp_path, monkeypatch, Starting())
    assert record.metrics.join_ms == 7500, "the longest"
    record, _, _ = with_action(world, tmp_path, monkeypatch, Done())
    assert record.metrics.join_ms is None


def test_an_action_is_a_step_with_its_outcome(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Done.performed.clear()
    record, _, said = with_action(world, tmp_path, monkeypatch, Done())
    assert record.status == "ok" and checks_of(record)["actions_done"] == "pass"
    crash, action = trial_of(record).steps
    assert (crash.fault, crash.action, crash.outcome) == ("server-crash", None, None)
    assert (action.fault, action.action, action.outcome) == (None, "promote", "replica1 promoted")
    assert action.nodes == ["mysql1"] and action.options == {"after_s": 1} and action.healed_ms is None
    assert not action.refused and trial_of(record).t0_ms == crash.began_ms
    assert "trial: promote: replica1 promoted" in said
    (operation,) = Done.performed
    assert [node.name for node in operation.servers] == ["mysql1", "replica1"] and operation.topology == "single"


@pytest.mark.parametrize(
    ("made", "outcome"),
    [
        (Refusing(), "the old writer answers: a promotion would make a second writer"),
        (Crashing(), "it crashed: ZeroDivisionError: by zero"),
    ],
)
def test_a_refused_action_is_noted_and_fails_a_check(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Action, outcome: str
) -> None:
    record, _, _ = with_action(world, tmp_path, monkeypatch, made)
    assert record.status == "ok"
    assert trial_of(record).steps[1].refused and trial_of(record).steps[1].outcome == outcome
    (done,) = (check for check in record.checks if check.name == "actions_done")
    assert (done.verdict, done.detail) == ("fail", f"promote: {outcome}")


def test_an_action_alone_is_where_a_trial_counts_from(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operator, "action_named", lambda word, options: Done())
    record, _, _ = try_once(world, tmp_path, monkeypatch, steps=[Step(at_s=10, action="switchover")])
    found = trial_of(record)
    assert found.t0_ms == found.steps[0].began_ms and record.metrics.rto_ms == 0


def test_ctrl_c_gives_up_an_action(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world.interrupt_at_s = 12.0
    record, _, said = with_action(world, tmp_path, monkeypatch, Lasting())
    assert record.status == "interrupted"
    assert "trial: promote: it was given up: the trial ended" in said
