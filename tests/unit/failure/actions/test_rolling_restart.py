"""Every server is restarted in turn, and started again whatever happens."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import pytest

from sandbox.core.errors import MachineError
from sandbox.failure.actions.rolling_restart import RollingRestart
from unit.failure.actions.scripted import Clock, following, group, operation, refused


def test_readers_first_and_the_writer_last() -> None:
    stack = group()
    said = RollingRestart(grace_s=20).perform(operation(stack))
    assert said == "restarted in turn: replica1, replica2, mysql1"
    assert stack.heard == [
        "stop replica1 20", "start replica1", "stop replica2 20", "start replica2",
        "stop mysql1 20", "start mysql1",
    ]  # fmt: skip


def test_a_replica_takes_the_place_of_the_writer_before_that_is_stopped() -> None:
    stack = following(group(), replica1="u:1-9", replica2="u:1-9")
    stack.says["mysql1", "SELECT @@gtid_executed"] = {"held": "u:1-9"}
    stack.says["replica1", "SELECT WAIT_FOR_EXECUTED_GTID_SET"] = {"waited": "0"}
    before = list[str]()

    def note() -> Mapping[str, str]:
        before.extend(stack.heard)
        return {}

    stack.says["mysql1", "SET SESSION lock_wait_timeout"] = note
    RollingRestart().perform(operation(stack))
    assert "SOURCE_HOST='replica1'" in dict(stack.given)["mysql1"]
    assert before == stack.heard[:4] and stack.heard[4:] == ["stop mysql1 60", "start mysql1"]


@pytest.mark.parametrize(
    ("source", "version", "topology"),
    [("mysql9", "8.4.3", "single"), ("mysql1", "5.5.62", "single"), ("mysql1", "8.4.3", "gr")],
)
def test_a_writer_that_no_replica_can_replace_restarts_where_it_is(
    source: str, version: str, topology: Literal["single", "gr"]
) -> None:
    stack = following(group(version=version), source)
    stack.says |= {
        (node, "SHOW SLAVE STATUS"): {"Master_Host": source} for node in ("replica1", "replica2")
    }
    stack.members = [replace(node, topology=topology) for node in stack.members]
    RollingRestart().perform(operation(stack))
    assert stack.heard[4:] == ["stop mysql1 60", "start mysql1"] and not stack.given


def test_the_next_one_follows_when_all_are_ready_again(clock: Clock) -> None:
    stack = group(replicas=1)
    stack.unready = [set(), {"replica1"}, {"mysql1", "replica1"}, set()]
    RollingRestart().perform(operation(stack))
    assert clock.now == pytest.approx(100.4), "two looks, each a fifth of a second"


def test_one_that_was_not_ready_before_is_not_waited_for() -> None:
    stack = group()
    stack.unready = [{"client1"}]
    assert RollingRestart().perform(operation(stack)).startswith("restarted in turn")


def test_a_server_that_was_away_at_the_beginning_is_waited_for() -> None:
    """In a cluster no member is ready while one is away: they would be restarted without a wait
    between them.
    """
    stack = group()
    stack.unready = [{"mysql1", "replica1", "replica2"}, {"replica2"}]
    error = refused(RollingRestart(ready_limit_s=5), operation(stack))
    assert error.lines()[:2] == ["it stopped after replica1", "not ready within 5 s: replica2"]


def test_it_stops_after_one_that_does_not_come_back() -> None:
    stack = group()
    stack.unready = [set(), {"replica1"}]
    error = refused(RollingRestart(ready_limit_s=5), operation(stack))
    assert error.lines()[:2] == ["it stopped after replica1", "not ready within 5 s: replica1"]
    assert stack.heard == ["stop replica1 60", "start replica1"]


def test_one_that_cannot_be_stopped_is_started_all_the_same() -> None:
    stack = group()
    stack.controls["replica1"].fails = "stop"
    with pytest.raises(MachineError, match="docker stop failed"):
        RollingRestart().perform(operation(stack))
    assert stack.heard == ["stop replica1 60", "start replica1"]


def test_it_ends_with_the_trial_between_two_servers(clock: Clock) -> None:
    stack = group()
    stack.unready = [set(), {"replica1"}]
    given = operation(stack)
    clock.then = given.ended.set
    assert refused(RollingRestart(), given).what == "it was given up"
    assert stack.heard == ["stop replica1 60", "start replica1"]
