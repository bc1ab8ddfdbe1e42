"""The course of a trial on a stack without Docker: addresses, targets, a load, an operator,
chance.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.failure.fault import FaultRequest, Injection
from sandbox.failure.targets import chosen_nodes
from sandbox.measure.trial import conductor
from sandbox.measure.trial.scenario import FaultProfile, Scenario
from sandbox.measure.trial.schedule import Step
from sandbox.stack.protocol import EntryPoint
from unit.fake_stack import CLIENT, server
from unit.measure.trial.trial_runs import checks_of, trial_of, try_once
from unit.measure.trial.trial_world import ADDRESSES, FakeBreaking, TrialStack, World


def test_a_new_address_reaches_the_prober(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(world)

    class Moving(FakeBreaking):
        def heal(self, key: str) -> int:
            stack.controls["mysql1"].at = "172.18.0.9"
            return super().heal(key)

    monkeypatch.setitem(ADDRESSES, "mysql1", "172.18.0.9")
    stack.controls["mysql1"].at = "172.18.0.2"
    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=Moving(world), stack=stack)
    assert world.prober and "address mysql1 172.18.0.9" in world.prober.sent
    assert trial_of(record).moved == {"mysql1": "172.18.0.9"}


def test_an_address_that_comes_late_is_followed_while_it_waits(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conductor, "FOLLOW_S", 0.005)

    class Waiting(TrialStack):
        def wait_until_ready(self, timeout_s: float) -> None:
            self.controls["mysql1"].at = "172.18.0.9"
            for _ in range(1000):
                if world.prober and "address mysql1 172.18.0.9" in world.prober.sent:
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
    record, _, _ = try_once(
        world, tmp_path, monkeypatch, steps=steps, breaking=breaking, stack=stack
    )
    assert record.status == "ok"
    assert [request.nodes for request in breaking.requests.values()] == [["mysql1"], ["mysql1"]]


def test_the_writer_of_a_cluster_of_writers_is_where_the_probe_writes(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that knows every server moves on; the one that is first in the stack is back by
    then.
    """
    seen: list[str | None] = []

    def choose(stack: TrialStack, target: str, via: str | None, seed: int, *_: Any) -> list[str]:
        seen.append(via)
        if world.prober:
            world.prober.print("n", world.prober_us, f"pooled: {via} failed, next is replica1")
            world.prober.settled()
        return chosen_nodes(stack, "mysql1", via, seed)

    monkeypatch.setattr(conductor, "chosen_nodes", choose)
    stack = TrialStack(world, role_of={"mysql1": "writer", "replica1": "writer"})
    steps = [Step(at_s=10, fault="hang", for_s=2), Step(at_s=14, fault="hang", for_s=2)]
    try_once(world, tmp_path, monkeypatch, steps=steps, stack=stack)
    assert seen == [None, "mysql1", "replica1"], "the first one before there is a prober"


def test_the_first_fault_is_prepared_before_the_probe_and_hits_who_writes_when_it_begins(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Helpers that start beside the prober make it late; who wrote before it may have been replaced
    since.
    """
    seen: list[tuple[bool, list[str]]] = []

    class Watched(FakeBreaking):
        def prepare(self, key: str, request: FaultRequest) -> None:
            seen.append((world.prober is not None, [*request.nodes]))
            super().prepare(key, request)

    def choose(*_: Any) -> list[str]:
        return ["mysql1"] if world.prober is None else ["replica1"]

    monkeypatch.setattr(conductor, "chosen_nodes", choose)
    steps = [Step(at_s=10, fault="hang", for_s=2)]
    record, _, _ = try_once(world, tmp_path, monkeypatch, steps=steps, breaking=Watched(world))
    assert seen == [(False, ["mysql1"]), (True, ["replica1"])]
    assert trial_of(record).steps[0].nodes == ["replica1"]


def test_a_step_that_is_prepared_late_delays_no_heal(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    healed = threading.Event()

    class Late(FakeBreaking):
        def heal(self, key: str) -> int:
            healed.set()
            return super().heal(key)

    def choose(stack: TrialStack, target: str, *given: Any) -> list[str]:
        assert target != "replica1" or healed.wait(10), (
            "the heal of the first waited for the second"
        )
        return chosen_nodes(stack, target, *given)

    monkeypatch.setattr(conductor, "chosen_nodes", choose)
    steps = [
        Step(at_s=10, fault="hang", for_s=2.5),
        Step(at_s=12, fault="hang", target="replica1", for_s=2),
    ]
    record, _, _ = try_once(world, tmp_path, monkeypatch, steps=steps, breaking=Late(world))
    assert record.status == "ok"
    assert world.events[:3] == ["inject 0 at 10.00", "heal 0 at 12.50", "inject 1 at 12.50"]


def test_no_step_overtakes_one_that_is_prepared_late(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quorum is not forced before the majority is lost."""

    def choose(stack: TrialStack, target: str, *given: Any) -> list[str]:
        if target == "writer":
            threading.Event().wait(0.3)
        return chosen_nodes(stack, target, *given)

    monkeypatch.setattr(conductor, "chosen_nodes", choose)
    steps = [
        Step(at_s=10, fault="hang", for_s=2),
        Step(at_s=10.01, fault="hang", target="replica1", for_s=2),
    ]
    record, _, _ = try_once(world, tmp_path, monkeypatch, steps=steps, breaking=FakeBreaking(world))
    assert record.status == "ok"
    assert [event.split(" at ")[0] for event in world.events[:2]] == ["inject 0", "inject 1"]


def test_a_step_that_is_late_moves_its_heal_and_what_follows_it(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prepared again, 8 s late; the second one is prepared in time from then on, and healed before
    the third begins.
    """
    prepared: list[float] = []

    def choose(stack: TrialStack, target: str, *given: Any) -> list[str]:
        prepared.append(round(world.prober_us / 1e6 - 0.5) if world.prober else 0)
        while len(prepared) == 2 and world.prober_us < 10_500_000:
            threading.Event().wait(0.001)
        if len(prepared) == 2:
            world.sleep(8)
        return chosen_nodes(stack, target, *given)

    monkeypatch.setattr(conductor, "chosen_nodes", choose)
    steps = [Step(at_s=at_s, fault="hang", for_s=2.1) for at_s in (10, 14.3, 16.4)]
    steps.append(Step(at_s=25, action="rolling-restart", target="replica1"))
    record, _, _ = try_once(world, tmp_path, monkeypatch, steps=steps, breaking=FakeBreaking(world))
    assert prepared[:3] == [0, 9, 21]
    assert world.events[:6] == [
        "inject 0 at 18.00",
        "heal 0 at 20.10",
        "inject 1 at 22.30",
        "heal 1 at 24.40",
        "inject 2 at 24.40",
        "heal 2 at 26.50",
    ]
    began = [step.began_ms / 1000 for step in trial_of(record).steps]
    assert [at - began[0] for at in began] == pytest.approx([0, 4.3, 6.4, 15], abs=0.02)


def test_an_action_that_is_late_moves_what_follows_it(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its target is known 8 s late: the fault four seconds after it still comes four seconds after
    it.
    """
    asked = threading.Event()

    def choose(stack: TrialStack, target: str, *given: Any) -> list[str]:
        if target == "replica1" and not asked.is_set():
            asked.set()
            while world.prober_us < 10_500_000:
                threading.Event().wait(0.001)
            world.sleep(8)
        return chosen_nodes(stack, target, *given)

    monkeypatch.setattr(conductor, "chosen_nodes", choose)
    steps = [
        Step(at_s=10, action="rolling-restart", target="replica1"),
        Step(at_s=14, fault="hang", for_s=2),
    ]
    record, _, _ = try_once(world, tmp_path, monkeypatch, steps=steps, breaking=FakeBreaking(world))
    began = [step.began_ms / 1000 for step in trial_of(record).steps]
    assert world.events[:2] == ["inject 1 at 22.00", "heal 1 at 24.00"]
    assert began[1] - began[0] == pytest.approx(4, abs=0.05)


def test_a_fault_lasts_from_the_start_of_its_injection(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(FakeBreaking):
        def inject(self, key: str) -> Injection:
            world.sleep(20)  # the guard writes it down first
            return super().inject(key)

    steps = [Step(at_s=10, fault="hang", for_s=15)]
    record, _, _ = try_once(
        world, tmp_path, monkeypatch, steps=steps, breaking=Slow(world, outage_s=None)
    )
    assert world.events[:2] == ["inject 0 at 30.00", "heal 0 at 45.00"]
    assert record.metrics.rto_ms == pytest.approx(15_000, abs=100)


def test_somebody_else_breaks_it_by_hand(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaking = FakeBreaking(world)
    steps = [Step(at_s=10, fault="by-hand", for_s=5)]
    record, _, said = try_once(world, tmp_path, monkeypatch, steps=steps, breaking=breaking)
    assert record.status == "ok" and "trial: break mysql1 now" in said
    assert not breaking.requests and trial_of(record).steps[0].healed_ms is not None


@pytest.fixture
def external(world: World, monkeypatch: pytest.MonkeyPatch) -> TrialStack:
    """A stack of one external server, which does in place of mysql1."""
    monkeypatch.setitem(ADDRESSES, "external1", ADDRESSES["mysql1"])
    world.rows["external1"] = world.rows["mysql1"]
    stack = TrialStack(
        world,
        entry=EntryPoint("external1", ADDRESSES["mysql1"], 3306, 1, "external", schema="shop"),
    )
    stack.gtids["external1"] = stack.gtids["mysql1"]
    stack.role_of = {}
    stack.members = [
        server(
            "external1", "external", has_container=False, host=ADDRESSES["mysql1"], topology=None
        )
    ]
    stack.members.append(CLIENT)
    return stack


def test_an_external_server_is_broken_by_a_statement(
    world: World, external: TrialStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaking = FakeBreaking(world, outage_s=None)
    options = {
        "statement": "SET GLOBAL super_read_only = ON",
        "heal_statement": "SET GLOBAL super_read_only = OFF",
    }
    steps = [Step(at_s=10, fault="sql", for_s=5, options=options)]
    record, _, _ = try_once(
        world, tmp_path, monkeypatch, steps=steps, breaking=breaking, stack=external
    )
    assert record.status == "ok", record.reason
    (request,) = breaking.requests.values()
    assert (request.fault, request.options, list(request.nodes)) == ("sql", options, ["external1"])
    ledger = trial_of(record).ledger
    assert ledger and ledger.acked > 500 and ledger.lost and ledger.lost.count == 0
    assert record.metrics.rto_ms == pytest.approx(5000, abs=100)
    assert checks_of(record)["lost"] == "pass"


def test_an_external_server_is_broken_by_hand(
    world: World, external: TrialStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [Step(at_s=10, fault="by-hand", for_s=5)]
    record, _, said = try_once(world, tmp_path, monkeypatch, steps=steps, stack=external)
    assert record.status == "ok" and "trial: break external1 now" in said


def test_an_action_on_an_external_server_is_refused(
    world: World, external: TrialStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [Step(at_s=10, action="promote")]
    record, _, _ = try_once(world, tmp_path, monkeypatch, steps=steps, stack=external)
    assert record.status == "failed"
    assert (
        record.reason
        == "the action promote cannot be done: its group has no server with a container here"
    )


def test_a_load_runs_beside_the_prober(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(world)
    record, folder, _ = try_once(
        world, tmp_path, monkeypatch, stack=stack, workload="oltp_write_only", loaded=True
    )
    assert record.status == "ok", record.reason
    found = trial_of(record)
    assert found.load_rate_per_s == 134 and found.load_starts and found.load_starts >= 1
    assert record.workload.preparation is not None and record.metrics.tps is None, (
        "its figures are no prober's figures"
    )
    assert {"capacity_log", "load_log", "load_seconds", "prepare_log"} <= set(record.files)
    assert (folder / "load-seconds.csv").read_text().startswith("t_ms,tps\n")
    commands = [argv for argv in stack.streamed if "run" in argv]
    beside = [
        argv
        for argv in stack.streamed
        if "prepare" not in argv and not argv[1].endswith("/prober.py")
    ]
    assert len(beside) == len(commands) + 1, "the sampler"
    assert all(argv[:3] == ["nice", "-n", "10"] for argv in beside)
    assert all("--rate=134" in argv for argv in commands[1:]) and "--rate=134" not in commands[0]


def test_an_idle_trial_has_the_data_of_its_workload_and_no_load(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(world)
    record, _, _ = try_once(world, tmp_path, monkeypatch, stack=stack, workload="oltp_write_only")
    assert record.status == "ok", record.reason
    asked = record.workload
    assert (
        asked.preparation is not None
        and asked.preparation.tables == 2
        and "prepare_log" in record.files
    )
    assert (asked.name, asked.tables, asked.rows_per_table, asked.options) == ("noop", 2, 1000, {})
    assert asked.distribution is None and trial_of(record).load_starts is None
    assert not [argv for argv in stack.streamed if "run" in argv]


def test_what_is_random_is_drawn_from_the_seed_of_the_run(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = {"faults": ["hang"], "count": 1, "every": "20s..40s", "for": "5s..15s"}
    scenario = Scenario((FaultProfile.model_validate({"title": "-", "random": random}),))
    record, _, _ = try_once(world, tmp_path, monkeypatch, scenario=scenario)
    assert record.seed == 7
    drawn = scenario.schedule(7).steps[0]
    assert (
        [step.at_s for step in trial_of(record).steps]
        == [drawn.at_s]
        != [scenario.schedule(1).steps[0].at_s]
    )
