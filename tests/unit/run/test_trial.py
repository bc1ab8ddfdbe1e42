"""One trial from start to record, on a stack without Docker: what broke, what it shows, and how it can go wrong."""

import itertools
import json
import time
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from sandbox.actions.common import model as actions_model
from sandbox.actions.common.model import Action, ActionRefusedError, Operation
from sandbox.actions.rejoin import Rejoin
from sandbox.errors import ExitCode, MachineError, SandboxError
from sandbox.results.record import Record, TrialRecord
from sandbox.run import conductor, ledger, operator, probe, trial
from sandbox.run.bench import EXIT_CODES, bench
from sandbox.run.probe import ProbeRates
from sandbox.run.schedule import FaultProfile, Scenario, Schedule, Step
from sandbox.run.state import BenchRequest, TrialRequest
from sandbox.run.trial import probe_plan, refusals, trial_s
from sandbox.stack.protocol import EntryPoint
from sandbox.workloads.common.model import Event, Parameters, Progress
from sandbox.workloads.common.registry import find_workload
from unit.fake_stack import CLIENT, PASSWORD, FakeStack, server
from unit.run.trial_world import ADDRESSES, BASELINE_US, HEADER, FakeBreaking, TrialStack, World

PROFILES = [Path(__file__).parents[3] / "profiles" / "workloads"]
CRASH = Step(at_s=10, fault="server-crash")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Time stands still but where somebody sleeps."""
    made = World()
    for module in (conductor, operator, probe, trial, ledger, actions_model):
        monkeypatch.setattr(module, "time", made)
    return made


def try_once(
    world: World,
    results: Path,
    monkeypatch: pytest.MonkeyPatch,
    steps: Sequence[Step] = (CRASH,),
    breaking: FakeBreaking | None = None,
    stack: TrialStack | None = None,
    workload: str = "noop",
    **given: Any,
) -> tuple[Record, Path, list[str]]:
    """A trial; its record, its folder and what it said."""
    said: list[str] = []

    def hear(event: Event) -> None:
        if isinstance(event, Progress):
            said.append(f"{event.step}: {event.text}")

    monkeypatch.setattr(trial, "_breaking", lambda run: breaking or FakeBreaking(world))
    asked = TrialRequest(Schedule(steps=list(steps)), **given)
    parameters = Parameters(threads=4, seconds=4, warmup_s=0, tables=2, rows_per_table=1000)
    request = BenchRequest(find_workload(workload, PROFILES), parameters, seed=7, command=("sandbox",), trial=asked)
    record, result = bench(stack or TrialStack(world), request, results, hear)
    return record, result.path / "runs" / "bench.1", said


def checks_of(record: Record) -> dict[str, str]:
    """Verdict of each check."""
    return {check.name: check.verdict for check in record.checks}


def trial_of(record: Record) -> TrialRecord:
    """The record's trial, which must be there."""
    assert record.trial is not None
    return record.trial


def test_a_good_trial(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    breaking = FakeBreaking(world)
    record, folder, said = try_once(world, tmp_path, monkeypatch, breaking=breaking)
    assert (record.status, record.reason) == ("ok", None)
    assert record.metrics.rto_ms == pytest.approx(2000, abs=20) and record.metrics.lost == 0
    assert record.metrics.write_errors == 199 + 39 and record.metrics.read_errors == 199
    assert record.metrics.redundancy_ms == pytest.approx(6000, abs=20), "the fifth second with writes"
    found = trial_of(record)
    (step,) = found.steps
    assert (step.fault, step.action, step.nodes, step.at_s) == ("server-crash", None, ["mysql1"], 10)
    assert step.began_ms == pytest.approx(10_000 + BASELINE_US / 1000, abs=1)
    assert step.healed_ms == pytest.approx(step.began_ms + 6000, abs=20)
    assert found.t0_ms == step.began_ms and found.direct and found.load_rate_per_s is None
    assert [(each.at_ms, each.nodes) for each in found.writers][-1] == (0.0, ["mysql1"])
    assert found.clock_uncertainty_ms == 0 and found.moved == {}
    assert breaking.requests["0"].nodes == ["mysql1"]
    assert checks_of(record) == {
        "settings_in_effect": "skipped", "connections_allowed": "pass", "actions_done": "skipped",
        "divergence": "pass", "duplicate": "pass", "lost": "pass", "non_monotonic": "pass", "phantom": "pass",
        "split_brain": "skipped", "stale_reads": "pass",
    }  # fmt: skip
    assert (folder / record.files["probe"]).read_text().startswith('{"probe": 1')
    assert "trial: server-crash on mysql1" in said and "trial: healed server-crash on mysql1" in said
    assert [text for text in said if text.endswith("begins")] == [
        "prove settings: begins", "prepare: begins", "probe: begins", "faults: begins", "ledger: begins",
    ]  # fmt: skip
    assert (tmp_path / "latest" / "runs" / "bench.1" / "record.json").read_text() == record.to_json()


def test_the_client_has_precedence_while_its_probe_runs(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.interrupt_at_s = 11.5
    stack = TrialStack(world)
    try_once(world, tmp_path, monkeypatch, stack=stack)
    assert stack.controls[CLIENT.name].done == ["weigh 16", "weigh 1"], "also after Ctrl-C"


class ClusterStack(TrialStack):
    """Its servers count what members of a Galera cluster count: from 10 s on, a quarter of the time is paused."""

    def _samples(self, request: dict[str, Any]) -> list[str]:
        lines: list[dict[str, Any]] = [{"node": None, "began_utc_s": HEADER["began_utc_s"]}]
        for slot, target in itertools.product(range(60), request["targets"]):
            status = {"wsrep_flow_control_paused_ns": 0.25e9 * max(0, slot - 10), "wsrep_local_recv_queue": slot % 7}
            lines.append({"node": target["name"], "slot": slot, "t_s": float(slot), "status": status})
        return [json.dumps(line) for line in lines]


def test_a_workload_that_ends_with_its_work_is_no_load_of_a_trial(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SandboxError) as refused:
        try_once(world, tmp_path, monkeypatch, workload="replica-catch-up", loaded=True)
    assert refused.value.exit_code is ExitCode.BAD_INPUT and len(refused.value.lines()) == 3
    assert world.probe is None and not list(tmp_path.iterdir())


def test_pauses_and_queues_of_a_cluster_are_figures_of_its_trial(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, folder, _ = try_once(world, tmp_path, monkeypatch, stack=ClusterStack(world))
    metrics = record.metrics
    assert metrics.flow_control_paused_percent == pytest.approx(25, abs=0.5) and metrics.queue_max == 6
    assert metrics.load_tps_change_percent is None, "there was no load"
    assert (folder / record.files["samples"]).read_text().count('"slot": 59') == 2


def test_the_latency_is_that_of_writes_that_were_due_while_something_was_broken(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, _, _ = try_once(world, tmp_path / "1", monkeypatch, breaking=FakeBreaking(world, 0.02))
    assert short.metrics.latency_p50_ms == 2.2 and short.metrics.latency_p99_ms == 2.2
    long, _, _ = try_once(world, tmp_path / "2", monkeypatch, breaking=FakeBreaking(world, 2.0))
    assert long.metrics.latency_p50_ms == 2.2 and long.metrics.latency_p95_ms is None, "never acknowledged"


def test_the_ledger_is_made_anew_on_the_writer(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = TrialStack(world)
    try_once(world, tmp_path, monkeypatch, stack=stack)
    assert [name for name, text in stack.asked if text.startswith("CREATE TABLE `sandbox`.ledger")] == ["mysql1"]
    assert world.probe and world.probe.request["schema"] == "sandbox"


def test_a_reader_that_does_not_get_the_ledger_is_an_infra_error(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(world)
    behind = stack._rows

    def rows(name: str, text: str, values: list[Any] | None) -> list[list[Any]]:
        if text.startswith("SELECT MAX(op_id)") and name == "replica1":
            return [[99]]
        return behind(name, text, values)

    monkeypatch.setattr(stack, "_rows", rows)
    record, _, _ = try_once(world, tmp_path, monkeypatch, stack=stack)
    assert (record.status, record.reason) == (
        "infra_error", "the ledger is not on every server: replica1: its newest row is 99, not None",
    )  # fmt: skip
    assert world.probe is None


def test_a_length_heals_in_time(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [Step(at_s=10, fault="hang", for_s=3), Step(at_s=11, fault="reset", target="one-reader", for_s=5)]
    try_once(world, tmp_path, monkeypatch, steps=steps)
    assert world.events[:4] == ["inject 0 at 10.00", "inject 1 at 11.00", "heal 0 at 13.00", "heal 1 at 16.00"]


def test_the_same_nodes_are_those_of_the_step_before(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [
        Step(at_s=10, fault="hang", target="one-reader", for_s=5),
        Step(at_s=11, fault="reset", target="same", for_s=1),
    ]
    breaking = FakeBreaking(world)
    try_once(world, tmp_path, monkeypatch, steps=steps, breaking=breaking)
    assert [request.nodes for request in breaking.requests.values()] == [["replica1"], ["replica1"]]


def test_writes_that_never_come_back_are_censored_and_healed_in_the_end(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conductor, "BACK_LIMIT_S", 20.0)
    breaking = FakeBreaking(world, outage_s=1000)
    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=breaking)
    assert record.status == "ok" and world.events == ["inject 0 at 10.00", "heal 0 at 31.00"]
    figures = trial_of(record).figures
    assert figures and "rto_ms" in figures.censored


def test_an_injection_without_effect_is_an_infra_error(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaking = FakeBreaking(world, missing={"mysql1": "its server still listens"})
    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=breaking)
    assert record.status == "infra_error" and EXIT_CODES[record.status] is ExitCode.ENVIRONMENT
    assert record.reason == "server-crash is not in effect: mysql1: its server still listens"
    assert record.trial is None and "probe" in record.files, "what was seen until then is kept"
    assert world.events == ["inject 0 at 10.00", "heal 0 at 10.00", "probe closed"]


def test_a_late_probe_is_an_infra_error(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world.late_us = 21_000
    record, _, _ = try_once(world, tmp_path, monkeypatch)
    assert record.status == "infra_error"
    assert record.reason == "the probe was late before the fault (p99 21.0 ms): the host is too busy"
    assert record.trial is not None and record.metrics.lateness_p99_ms == 21


def test_ctrl_c_heals_before_all_else_ends(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world.interrupt_at_s = 11.5
    breaking = FakeBreaking(world, outage_s=None)
    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=breaking)
    assert (record.status, record.reason) == ("interrupted", "interrupted during faults")
    assert EXIT_CODES[record.status] is ExitCode.INTERRUPTED
    assert [each.partition(" at")[0] for each in world.events] == ["inject 0", "heal 0", "probe closed"]


def test_what_cannot_be_healed_after_ctrl_c_is_in_the_reason(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stuck(FakeBreaking):
        def close(self) -> None:
            what, known = "not healed: hang on mysql1", "the engine does not answer"
            raise SandboxError(what, known, "try: make heal", ExitCode.ENVIRONMENT)

    world.interrupt_at_s = 11.5
    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=Stuck(world))
    assert record.status == "interrupted"
    assert record.reason == "interrupted during faults; not healed: hang on mysql1: the engine does not answer"
    assert world.events[-1] == "probe closed", "the rest ends all the same"


def test_what_cannot_be_healed_after_a_fault_without_effect_is_in_the_reason(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stuck(FakeBreaking):
        def close(self) -> None:
            raise MachineError("not healed: hang on mysql1", "the engine does not answer", "try: make heal")

    breaking = Stuck(world, missing={"mysql1": "it runs"})
    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=breaking)
    assert record.status == "infra_error"
    assert str(record.reason).startswith("server-crash is not in effect: mysql1: it runs; not healed: hang on mysql1")


def test_a_lost_write_is_a_result(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Losing(FakeBreaking):
        def heal(self, key: str) -> int:
            for rows in world.rows.values():
                rows -= {70, 71}
            return super().heal(key)

    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=Losing(world))
    assert record.status == "ok" and record.metrics.lost == 2
    (lost,) = (check for check in record.checks if check.name == "lost")
    assert lost.verdict == "fail" and "are not on the writer: op 70, 71" in lost.detail


def test_redundancy_that_is_not_reached_is_a_result(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(world, not_ready={"replica1": "receiver No"})
    record, _, said = try_once(world, tmp_path, monkeypatch, stack=stack)
    assert record.status == "ok"
    assert trial_of(record).whole_ms is None and record.metrics.redundancy_ms is None
    assert "trial: replica1 is not ready: after 180.0 s" in said


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (ExitCode.BAD_INPUT, "failed"),
        (ExitCode.UNKNOWN, "skipped"),
        (ExitCode.ENVIRONMENT, "infra_error"),
    ],
)
def test_a_fault_that_is_refused_ends_the_run_with_its_text(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: ExitCode, status: str
) -> None:
    breaking = FakeBreaking(world)
    breaking.refused = SandboxError("it cannot be", "the kernel has no netem", "try: make doctor", code)
    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=breaking)
    assert (record.status, record.reason) == (status, "it cannot be: the kernel has no netem")


def test_a_target_that_the_stack_does_not_have_fails_the_run(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, _, _ = try_once(world, tmp_path, monkeypatch, steps=[Step(at_s=10, fault="hang", target="proxy")])
    assert (record.status, record.reason) == ("failed", "the stack has no target 'proxy': its group has no proxy")


def test_an_internal_error_is_no_refusal() -> None:
    with pytest.raises(SandboxError), refusals():
        raise SandboxError("a bug", "a file defines two faults", "try: make test", ExitCode.INTERNAL)


def test_a_probe_that_dies_is_an_infra_error(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world.dies_at_s = 11.0
    record, folder, _ = try_once(world, tmp_path, monkeypatch)
    assert (record.status, record.reason) == ("infra_error", "the probe has ended: Killed")
    assert "Killed" not in (folder / record.files["probe"]).read_text(), "its log has its own lines only"


def test_a_probe_that_dies_in_the_tail_leaves_no_figures(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.dies_at_s = 18.0
    record, _, _ = try_once(world, tmp_path, monkeypatch)
    assert record.status == "infra_error" and record.metrics.rto_ms is None
    assert record.reason == "the probe ended before the trial did; it printed last: Killed"


def test_writes_that_are_never_acknowledged_are_an_infra_error(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.broken = True
    monkeypatch.setattr(probe, "FIRST_WRITE_LIMIT_S", 0.2)
    record, _, _ = try_once(world, tmp_path, monkeypatch)
    assert record.status == "infra_error"
    assert record.reason == "the probe's writes are not acknowledged: 0 writes in 0 s"


def test_a_node_that_cannot_be_read_leaves_what_is_not_known(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(world)
    stack.unreadable["mysql1"] = "OperationalError(2013, 'Lost connection')"
    record, _, _ = try_once(world, tmp_path, monkeypatch, stack=stack)
    assert record.status == "ok" and record.metrics.lost is None
    (lost,) = (check for check in record.checks if check.name == "lost")
    assert lost.verdict == "unknown" and "mysql1: OperationalError(2013" in lost.detail


def test_a_node_without_an_address_is_not_asked(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = TrialStack(world)

    class Losing(FakeBreaking):
        def heal(self, key: str) -> int:
            stack.controls["replica1"].at, stack.controls["replica1"].shown = None, "exited (1)"
            return super().heal(key)

    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=Losing(world), stack=stack)
    assert record.status == "ok" and checks_of(record)["lost"] == "pass"
    assert checks_of(record)["divergence"] == "unknown"
    (divergence,) = (check for check in record.checks if check.name == "divergence")
    assert "replica1: its container is exited (1)" in divergence.detail


def test_errant_transactions_are_a_divergence(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = TrialStack(world)
    stack.gtids["replica1"] = f"{stack.gtids['mysql1']},4e11fa47-71ca-11e1-9e33-c80aa9429562:1"
    record, _, _ = try_once(world, tmp_path, monkeypatch, stack=stack)
    assert checks_of(record)["divergence"] == "fail"


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


def test_a_load_that_does_not_work_fails_the_run_before_any_fault(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(world, load_lines=["FATAL: unable to connect to MySQL server, error 2003"], load_code=1)
    record, _, _ = try_once(world, tmp_path, monkeypatch, stack=stack, workload="oltp_write_only", loaded=True)
    assert record.status == "failed" and world.probe is None and not world.events
    assert str(record.reason).startswith("the load does not work before any fault: ") and "2003" in str(record.reason)


def test_a_silent_server_at_the_start_is_an_infra_error(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(world, fail_sql={"SELECT @@version": (2003, "Can't connect")})
    record, _, _ = try_once(world, tmp_path, monkeypatch, stack=stack)
    assert record.status == "infra_error" and str(record.reason).startswith("a server does not answer: ")


def test_no_password_is_saved_anywhere(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try_once(world, tmp_path, monkeypatch)
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or PASSWORD not in path.read_text(), path


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


def test_what_is_random_is_drawn_from_the_seed_of_the_run(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = {"faults": ["hang"], "count": 1, "every": "20s..40s", "for": "5s..15s"}
    scenario = Scenario((FaultProfile.model_validate({"title": "-", "random": random}),))
    record, _, _ = try_once(world, tmp_path, monkeypatch, scenario=scenario)
    assert record.seed == 7
    drawn = scenario.schedule(7).steps[0]
    assert [step.at_s for step in trial_of(record).steps] == [drawn.at_s] != [scenario.schedule(1).steps[0].at_s]


def test_refused_connections_are_reported(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world.code = 1040
    record, _, _ = try_once(world, tmp_path, monkeypatch)
    (check,) = [check for check in record.checks if check.name == "connections_allowed"]
    assert check.verdict == "unknown" and check.detail.endswith(": 437 operations of the probe got error 1040")


HAPROXY = server("haproxy1", "proxy", component="haproxy", family=None, topology=None, port=3307)


class TwoPorts(FakeStack):
    """Its proxy has a port for reads."""

    def entry_point(self, via: str | None, roles: Any = None) -> EntryPoint:
        if via == "haproxy1:ro":
            return EntryPoint("haproxy1", "haproxy1", 3308, 1, via)
        raise SandboxError(f"{via} has no port 'ro'", "load can go to rw", "try: make ps")


@pytest.mark.parametrize(
    ("entry", "nodes", "write", "read"),
    [
        ("mysql1", (), [("mysql1", 3306), ("replica1", 3306)], [("replica1", 3306)]),
        ("replica1", (), [("replica1", 3306), ("mysql1", 3306)], [("replica1", 3306)]),
        ("haproxy1", (HAPROXY,), [("haproxy1", 3307)], [("haproxy1", 3308)]),
        ("router1", (server("router1", "proxy"),), [("router1", 3307)], [("replica1", 3306)]),
    ],
)
def test_a_probe_goes_through_the_proxy_or_knows_every_server(
    entry: str, nodes: Sequence[Any], write: list[tuple[str, int]], read: list[tuple[str, int]]
) -> None:
    members = [server("mysql1"), server("replica1", "replica"), server("other1", group_index=2), CLIENT, *nodes]
    roles: Any = {"mysql1": "writer", "replica1": "reader", "other1": "reader"}
    asked = TrialRequest(Schedule(steps=[CRASH]), rates=ProbeRates(pooled=50), timeout_s=1.0)
    plan = probe_plan(TwoPorts(), EntryPoint(entry, entry, 3307, 1, entry), members, roles, asked, 3)
    assert (list(plan.write), list(plan.read)) == (write, read)
    assert [node.name for node in plan.observe] == ["mysql1", "replica1"]
    assert (plan.schema, plan.rates.pooled, plan.timeout_s, plan.seed) == ("sandbox", 50, 1.0, 3)


def test_in_a_cluster_of_writers_the_others_are_read() -> None:
    members = [server(f"galera{number}", topology="galera") for number in (1, 2, 3)]
    entry = EntryPoint("galera2", "galera2", 3306, 1, "writer")
    roles: Any = dict.fromkeys(("galera1", "galera2", "galera3"), "writer")
    plan = probe_plan(FakeStack(), entry, [*members, CLIENT], roles, TrialRequest(Schedule(steps=[CRASH])), 1)
    assert [node for node, _ in plan.write] == ["galera2", "galera1", "galera3"]
    assert [node for node, _ in plan.read] == ["galera1", "galera3"]


def test_a_trial_does_not_spread_over_members() -> None:
    with pytest.raises(SandboxError, match="a trial does not go through VIA=members") as refused:
        BenchRequest(
            find_workload("noop", PROFILES), Parameters(), "members", trial=TrialRequest(Schedule(steps=[CRASH]))
        )
    assert refused.value.exit_code == 2


def test_an_external_server_has_its_own_schema_and_no_observer() -> None:
    outside = server("external1", "external", has_container=False)
    entry = EntryPoint("external1", "db.example.com", 3306, 1, "external", schema="app")
    plan = probe_plan(FakeStack(), entry, [outside, CLIENT], {}, TrialRequest(Schedule(steps=[CRASH])), 1)
    assert plan.schema == "app" and list(plan.write) == [("external1", 3306)] and not plan.observe


def test_how_long_a_trial_takes() -> None:
    def lasts(*steps: Step, loaded: bool = False) -> float:
        return trial_s(TrialRequest(Schedule(steps=list(steps)), loaded=loaded))

    rest = trial.TYPICAL_RETURN_S + trial.TAIL_S + trial.OTHER_S
    assert lasts(Step(at_s=10, fault="hang", for_s=20)) == 30 + rest
    assert lasts(CRASH) == 10 + conductor.BACK_S + trial.TYPICAL_OUTAGE_S + rest
    assert lasts(CRASH, Step(at_s=30, action="rejoin")) == 30 + Rejoin().typical_s + rest
    assert lasts(Step(at_s=10, action="join", options={"away_s": 100})) > 110 + rest
    assert lasts(CRASH, loaded=True) - lasts(CRASH) == 10


def test_the_guard_is_what_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr(trial, "Guard", made.append)
    stack = object()
    trial._breaking(types.SimpleNamespace(stack=stack))  # type: ignore[arg-type]
    assert made == [stack]
