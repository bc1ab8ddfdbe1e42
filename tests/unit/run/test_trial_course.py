"""The course of a trial on a stack without Docker: addresses, targets, a load, an operator, chance."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.run import conductor
from sandbox.run.schedule import FaultProfile, Scenario, Step
from unit.run.trial_runs import trial_of, try_once
from unit.run.trial_world import ADDRESSES, FakeBreaking, TrialStack, World


def test_a_new_address_reaches_the_probe(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = TrialStack(world)

    class Moving(FakeBreaking):
        def heal(self, key: str) -> int:
            stack.controls["mysql1"].at = "172.18.0.9"
            return super().heal(key)

    monkeypatch.setitem(ADDRESSES, "mysql1", "172.18.0.9")
    stack.controls["mysql1"].at = "172.18.0.2"
    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=Moving(world), stack=stack)
    assert world.probe and "address mysql1 172.18.0.9" in world.probe.sent
    assert trial_of(record).moved == {"mysql1": "172.18.0.9"}


def test_an_address_that_comes_late_is_followed_while_it_waits(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conductor, "FOLLOW_S", 0.005)

    class Waiting(TrialStack):
        def wait_until_ready(self, timeout_s: float) -> None:
            self.controls["mysql1"].at = "172.18.0.9"
            for _ in range(1000):
                if world.probe and "address mysql1 172.18.0.9" in world.probe.sent:
                    return
                time.sleep(0.005)

    stack = Waiting(world)

    class Restarting(FakeBreaking):
        def heal(self, key: str) -> int:
            stack.controls["mysql1"].at = None
            return super().heal(key)

    monkeypatch.setitem(ADDRESSES, "mysql1", "172.18.0.9")
    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=Restarting(world), stack=stack)
    assert record.status == "ok" and trial_of(record).moved == {"mysql1": "172.18.0.9"}


def test_where_no_write_gets_through_a_target_means_what_it_meant_last(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack, breaking = TrialStack(world), FakeBreaking(world)

    def inject(key: str, inject: Callable[[str], Any] = breaking.inject) -> Any:
        stack.fail_sql["START TRANSACTION"] = (2003, "Can't connect")
        return inject(key)

    monkeypatch.setattr(breaking, "inject", inject)
    steps = [Step(at_s=10, fault="hang", for_s=2), Step(at_s=14, fault="hang", for_s=2)]
    record, _, _ = try_once(world, tmp_path, monkeypatch, steps=steps, breaking=breaking, stack=stack)
    assert record.status == "ok"
    assert [request.nodes for request in breaking.requests.values()] == [["mysql1"], ["mysql1"]]


def test_somebody_else_breaks_it_by_hand(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    breaking = FakeBreaking(world)
    steps = [Step(at_s=10, fault="by-hand", for_s=5)]
    record, _, said = try_once(world, tmp_path, monkeypatch, steps=steps, breaking=breaking)
    assert record.status == "ok" and "trial: break mysql1 now" in said
    assert not breaking.requests and trial_of(record).steps[0].healed_ms is not None


def test_a_load_runs_beside_the_probe(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = TrialStack(world)
    record, folder, _ = try_once(world, tmp_path, monkeypatch, stack=stack, workload="oltp_write_only", loaded=True)
    assert record.status == "ok", record.reason
    found = trial_of(record)
    assert found.load_rate_per_s == 134 and found.load_starts and found.load_starts >= 1
    assert record.workload.preparation is not None and record.metrics.tps is None, "its figures are no probe's figures"
    assert {"capacity_log", "load_log", "load_seconds", "prepare_log"} <= set(record.files)
    assert (folder / "load-seconds.csv").read_text().startswith("t_ms,tps\n")
    commands = [argv for argv in stack.streamed if "run" in argv]
    assert all(argv[:3] == ["nice", "-n", "10"] for argv in commands)
    assert all("--rate=134" in argv for argv in commands[1:]) and "--rate=134" not in commands[0]


def test_what_is_random_is_drawn_from_the_seed_of_the_run(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = {"faults": ["hang"], "count": 1, "every": "20s..40s", "for": "5s..15s"}
    scenario = Scenario((FaultProfile.model_validate({"title": "-", "random": random}),))
    record, _, _ = try_once(world, tmp_path, monkeypatch, scenario=scenario)
    assert record.seed == 7
    drawn = scenario.schedule(7).steps[0]
    assert [step.at_s for step in trial_of(record).steps] == [drawn.at_s] != [scenario.schedule(1).steps[0].at_s]
