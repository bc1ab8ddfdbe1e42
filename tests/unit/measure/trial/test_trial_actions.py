"""A trial with actions of an operator, on a stack without Docker."""

import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest

from sandbox.failure.action import (
    Action,
    ActionRefusedError,
    Operation,
    StoppingAction,
    TooLateError,
)
from sandbox.judge.compare import lasted
from sandbox.measure.trial import actions_beside
from sandbox.measure.trial.schedule import Step
from sandbox.record.record import Record
from unit.measure.trial.trial_runs import CRASH, checks_of, trial_of, try_once
from unit.measure.trial.trial_world import TrialStack, World


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


class Finding(Refusing):
    """Whose refusal is what a trial was to find out."""

    findings: ClassVar[tuple[type[ActionRefusedError], ...]] = (ActionRefusedError,)


class Late(Action):
    """Is carried out, and one of its servers does not come back."""

    def perform(self, operation: Operation) -> str:
        operation.joined_s.extend(((4.25, False), (300.0, True)))
        raise TooLateError("it stopped after replica1", "not ready within 300 s: replica1")


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
    monkeypatch.setattr(actions_beside, "action_named", lambda word, options: made)
    steps = [CRASH, Step(at_s=11, action="promote", options={"after_s": 1})]
    return try_once(world, tmp_path, monkeypatch, steps=steps, **given)


class Starting(Action):
    """Starts two servers, which get other addresses."""

    starts_servers: ClassVar[bool] = True

    def perform(self, operation: Operation) -> str:
        operation.joined_s.extend(((4.25, False), (7.5, False)))
        return "two are back"


def test_how_long_started_servers_took_is_a_figure(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, _, _ = with_action(world, tmp_path, monkeypatch, Starting())
    assert record.metrics.join_ms == 7500, "the longest"
    record, _, _ = with_action(world, tmp_path, monkeypatch, Done())
    assert record.metrics.join_ms is None


def test_a_server_that_does_not_come_back_took_the_limit_at_least(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, _, _ = with_action(world, tmp_path, monkeypatch, Late())
    assert (record.status, record.metrics.join_ms) == ("ok", 300_000)
    assert (
        lasted(record, "join_ms") == (300_000, True) and checks_of(record)["actions_done"] == "fail"
    )


def test_what_an_action_does_to_a_replica_is_no_detection(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def perform(_: Action, operation: Operation) -> str:
        world.replicating = "No/Yes"
        return "replica1 promoted"

    monkeypatch.setattr(Done, "perform", perform)
    record, _, _ = with_action(world, tmp_path, monkeypatch, Done())
    assert record.status == "ok" and record.metrics.detection_ms is None


def test_an_action_is_a_step_with_its_outcome(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Done.performed.clear()
    record, _, said = with_action(world, tmp_path, monkeypatch, Done())
    assert record.status == "ok" and checks_of(record)["actions_done"] == "pass"
    crash, action = trial_of(record).steps
    assert (crash.fault, crash.action, crash.outcome) == ("server-crash", None, None)
    assert (action.fault, action.action, action.outcome) == (None, "promote", "replica1 promoted")
    assert (
        action.nodes == ["mysql1"] and action.options == {"after_s": 1} and action.healed_ms is None
    )
    assert not action.refused and trial_of(record).t0_ms == crash.began_ms
    assert "trial: promote: replica1 promoted" in said
    (operation,) = Done.performed
    assert [node.name for node in operation.servers] == [
        "mysql1",
        "replica1",
    ] and operation.topology == "single"


@pytest.mark.parametrize(
    ("made", "outcome"),
    [
        (Refusing(), "the old writer answers: a promotion would make a second writer"),
        (Crashing(), "it crashed: ZeroDivisionError: by zero"),
    ],
)
def test_a_refused_action_is_noted_and_fails_the_run(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Action, outcome: str
) -> None:
    record, _, _ = with_action(world, tmp_path, monkeypatch, made)
    assert (record.status, record.reason) == ("failed", f"promote was not done: {outcome}")
    assert trial_of(record).steps[1].refused and trial_of(record).steps[1].outcome == outcome
    (done,) = (check for check in record.checks if check.name == "actions_done")
    assert (done.verdict, done.detail) == ("fail", f"promote: {outcome}")


def test_a_refusal_that_is_a_finding_fails_its_check_alone(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, _, _ = with_action(world, tmp_path, monkeypatch, Finding())
    assert record.status == "ok" and checks_of(record)["actions_done"] == "fail"


def test_a_crash_before_it_does_not_excuse_a_refused_action(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(world)
    monkeypatch.setattr(
        stack, "dead_nodes", lambda: {"mysql1": "exited (137)"} if world.events else {}
    )
    record, _, _ = with_action(world, tmp_path, monkeypatch, Refusing(), stack=stack)
    assert record.status == "failed", "a node that was broken on purpose has not died"


def test_an_action_alone_is_where_a_trial_counts_from(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions_beside, "action_named", lambda word, options: Done())
    record, _, _ = try_once(
        world, tmp_path, monkeypatch, steps=[Step(at_s=10, action="switchover")]
    )
    found = trial_of(record)
    assert found.t0_ms == found.steps[0].began_ms and record.metrics.rto_ms == 0


class Stopping(StoppingAction):
    """Ends a server, which takes long, and starts it again."""

    grace_s: float = 600.0

    def perform(self, operation: Operation) -> str:
        operation.ended.wait(10)
        return "restarted"


def test_a_server_that_an_action_ends_has_its_time_after_ctrl_c(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float | None] = []
    join = threading.Thread.join

    def wait(thread: threading.Thread, timeout: float | None = None) -> None:
        waited.extend([timeout] if thread.name == "promote" else [])
        join(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", wait)
    world.interrupt_at_s = 12.0
    record, _, said = with_action(world, tmp_path, monkeypatch, Stopping())
    assert record.status == "interrupted" and "trial: promote: restarted" in said
    assert waited[0] == 630 and Done().stop_limit_s == 90


def test_ctrl_c_gives_up_an_action(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.interrupt_at_s = 12.0
    record, _, said = with_action(world, tmp_path, monkeypatch, Lasting())
    assert record.status == "interrupted"
    assert "trial: promote: it was given up: the trial ended" in said
