"""One trial from start to record, on a stack without Docker: what broke and what it shows."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.judge.compare import lasted
from sandbox.measure.trial import conductor
from sandbox.measure.trial.schedule import Step
from sandbox.stack.protocol import ServerRole
from unit.fake_stack import CLIENT
from unit.measure.trial.trial_runs import checks_of, trial_of, try_once
from unit.measure.trial.trial_world import BASELINE_US, HEADER, FakeBreaking, TrialStack, World


def test_a_good_trial(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    breaking = FakeBreaking(world)
    record, folder, said = try_once(world, tmp_path, monkeypatch, breaking=breaking)
    assert (record.status, record.reason) == ("ok", None)
    assert record.metrics.rto_ms == pytest.approx(2000, abs=20) and record.metrics.lost == 0
    assert record.metrics.write_errors == 199 + 39 and record.metrics.read_errors == 199
    assert record.metrics.redundancy_ms == pytest.approx(6000, abs=20), (
        "the fifth second with writes"
    )
    found = trial_of(record)
    (step,) = found.steps
    assert (step.fault, step.action, step.nodes, step.at_s) == (
        "server-crash",
        None,
        ["mysql1"],
        10,
    )
    assert step.began_ms == pytest.approx(10_000 + BASELINE_US / 1000, abs=1)
    assert step.healed_ms == pytest.approx(step.began_ms + 6000, abs=20)
    assert found.t0_ms == step.began_ms and found.direct and found.load_rate_per_s is None
    assert [(each.at_ms, each.nodes) for each in found.writers][-1] == (0.0, ["mysql1"])
    assert found.clock_uncertainty_ms == 0 and found.moved == {}
    assert breaking.requests["0"].nodes == ["mysql1"]
    assert checks_of(record) == {
        "settings_in_effect": "skipped",
        "set_in_effect": "pass",
        "connections_allowed": "pass",
        "actions_done": "skipped",
        "divergence": "pass",
        "duplicate": "pass",
        "lost": "pass",
        "non_monotonic": "pass",
        "phantom": "pass",
        "same_rows": "pass",
        "same_transactions": "skipped",
        "split_brain": "skipped",
        "stale_reads": "pass",
    }
    assert (folder / record.files["probe"]).read_text().startswith('{"probe": 1')
    assert (
        "trial: server-crash on mysql1" in said and "trial: healed server-crash on mysql1" in said
    )
    assert [text for text in said if text.endswith("begins")] == [
        "prove settings: begins",
        "prepare: begins",
        "prober: begins",
        "faults: begins",
        "ledger: begins",
    ]
    assert (
        tmp_path / "latest" / "runs" / "trial.1" / "record.json"
    ).read_text() == record.to_json()
    manifest = json.loads((tmp_path / "latest" / "manifest.json").read_text())
    assert (manifest["kind"], manifest["slug"]) == ("trial", "mysql-9.7-replica1-trial")


def test_the_client_has_precedence_while_its_probe_runs(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.interrupt_at_s = 11.5
    stack = TrialStack(world)
    try_once(world, tmp_path, monkeypatch, stack=stack)
    assert stack.controls[CLIENT.name].done == ["weigh 16", "weigh 1"], "also after Ctrl-C"


def test_the_guard_is_there_before_the_client_has_precedence(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack, breaking = TrialStack(world), FakeBreaking(world)

    def refuse(weight: float) -> None:
        raise (
            MachineError("docker update failed", "-", "try: make doctor")
            if weight > 1
            else AssertionError
        )

    closed: list[bool] = []
    monkeypatch.setattr(breaking, "close", lambda: closed.append(True))
    monkeypatch.setattr(stack.controls[CLIENT.name], "weigh", refuse)
    with pytest.raises(AssertionError):
        try_once(world, tmp_path, monkeypatch, breaking=breaking, stack=stack)
    assert closed


def test_a_trial_that_ends_before_its_prober_starts_closes_the_guard(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack, breaking, closed = TrialStack(world), FakeBreaking(world), list[bool]()
    stack.not_ready = {
        "replica1": "receiver No, applier Yes: Got fatal error 1236 from source: purged"
    }
    monkeypatch.setattr(breaking, "close", lambda: closed.append(True))
    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=breaking, stack=stack)
    assert record.status == "infra_error" and world.prober is None and closed == [True]


class ClusterStack(TrialStack):
    """Its servers count what members of a Galera cluster count: from 10 s on, a quarter of the time
    is paused.
    """

    def _samples(self, request: dict[str, Any]) -> list[str]:
        lines: list[dict[str, Any]] = [{"node": None, "began_utc_s": HEADER["began_utc_s"]}]
        for slot, target in itertools.product(range(60), request["targets"]):
            status = {
                "wsrep_flow_control_paused_ns": 0.25e9 * max(0, slot - 10),
                "wsrep_local_recv_queue": slot % 7,
            }
            lines.append(
                {"node": target["name"], "slot": slot, "t_s": float(slot), "status": status}
            )
        return [
            *map(json.dumps, lines),
            *(line for line in super()._samples(request) if '"host"' in line),
        ]


def test_a_workload_that_ends_with_its_work_is_no_load_of_a_trial(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SandboxError) as refused:
        try_once(world, tmp_path, monkeypatch, workload="replica-catch-up", loaded=True)
    assert refused.value.exit_code is ExitCode.BAD_INPUT and len(refused.value.lines()) == 3
    assert world.prober is None and not list(tmp_path.iterdir())


def test_pauses_and_queues_of_a_cluster_are_figures_of_its_trial(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, folder, _ = try_once(world, tmp_path, monkeypatch, stack=ClusterStack(world))
    metrics = record.metrics
    assert (
        metrics.flow_control_paused_percent == pytest.approx(25, abs=0.5) and metrics.queue_max == 6
    )
    assert metrics.load_tps_change_percent is None, "there was no load"
    assert (folder / record.files["samples"]).read_text().count('"slot": 59') == 2


def test_the_latency_is_that_of_writes_that_were_due_while_something_was_broken(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, _, _ = try_once(world, tmp_path / "1", monkeypatch, breaking=FakeBreaking(world, 0.02))
    assert short.metrics.latency_p50_ms == 2.2 and short.metrics.latency_p99_ms == 2.2
    long, _, _ = try_once(world, tmp_path / "2", monkeypatch, breaking=FakeBreaking(world, 2.0))
    assert lasted(long, "latency_p50_ms") == (2.2, False)
    assert lasted(long, "latency_p95_ms") == (2_000, True), "never acknowledged within the time-out"


def test_the_ledger_is_made_anew_on_the_writer(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(world)
    try_once(world, tmp_path, monkeypatch, stack=stack)
    assert [
        name for name, text in stack.asked if text.startswith("CREATE TABLE `sandbox`.ledger")
    ] == ["mysql1"]
    assert world.prober and world.prober.request["schema"] == "sandbox"


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
        "infra_error",
        "the ledger is not on every server: replica1: its newest row is 99, not None",
    )
    assert world.prober is None


def test_a_length_heals_in_time(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [
        Step(at_s=10, fault="hang", for_s=3),
        Step(at_s=11, fault="reset", target="one-reader", for_s=5),
    ]
    try_once(world, tmp_path, monkeypatch, steps=steps)
    assert world.events[:4] == [
        "inject 0 at 10.00",
        "inject 1 at 11.00",
        "heal 0 at 13.00",
        "heal 1 at 16.00",
    ]


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


def test_a_lost_write_is_a_result(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Losing(FakeBreaking):
        def heal(self, key: str) -> int:
            for rows in world.rows.values():
                rows -= {70, 71}
            return super().heal(key)

    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=Losing(world))
    assert record.status == "ok" and record.metrics.lost == 2
    (lost,) = (check for check in record.checks if check.name == "lost")
    assert lost.verdict == "fail" and "are not on the writer: op 70, 71" in lost.detail


@pytest.mark.parametrize(("fault", "lag_ms"), [("slow-node", 0), ("clock-skew", None)])
def test_a_server_with_a_wrong_clock_leaves_no_lag(
    fault: str, lag_ms: float | None, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [Step(at_s=10, fault=fault, for_s=3)]
    record, _, _ = try_once(world, tmp_path, monkeypatch, steps=steps)
    figures = trial_of(record).figures
    assert (
        record.metrics.lag_max_ms == lag_ms
        and figures
        and bool(figures.lag) == (lag_ms is not None)
    )


def test_redundancy_that_is_not_reached_is_a_result(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(world, not_ready={"replica1": "receiver No"})
    record, _, said = try_once(world, tmp_path, monkeypatch, stack=stack)
    assert record.status == "ok"
    assert trial_of(record).whole_ms is None and record.metrics.redundancy_ms is None
    assert "trial: replica1 is not ready: after 180.0 s" in said


def test_a_server_that_is_ready_but_out_of_its_group_is_no_redundancy(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old source that was refused to rejoin lacks writes, is not waited for, and makes nothing
    unknown.
    """

    class Left(TrialStack):
        def wait_until_ready(self, timeout_s: float) -> None:
            self.role_of = {**self.role_of, "replica1": None}

    record, _, said = try_once(world, tmp_path, monkeypatch, stack=Left(world))
    assert record.status == "ok" and "trial: not whole: out of the group: replica1" in said
    assert trial_of(record).whole_ms is None and record.metrics.redundancy_ms is None
    (lost,) = (check for check in record.checks if check.name == "lost")
    assert lost.verdict == "pass" and lost.detail.endswith("out of the group: replica1")
    (divergence,) = (check for check in record.checks if check.name == "divergence")
    assert (
        divergence.verdict == "unknown"
        and "replica1: out of its group (no role)" in divergence.detail
    )


@pytest.mark.parametrize("looks", [3, 1_000_000])
def test_a_server_is_not_back_before_it_has_what_the_others_had(
    looks: int, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member of a cluster is ready while its queue is full."""
    monkeypatch.setattr(conductor, "CAUGHT_UP_S", 0.001)

    class Queued(TrialStack):
        looked = 0

        def wait_until_ready(self, timeout_s: float) -> None:
            self.looked = looks

        def _rows(self, name: str, text: str, values: list[Any] | None) -> list[list[Any]]:
            if name != "replica1" or not text.startswith("SELECT MAX(op_id)") or self.looked < 1:
                return super()._rows(name, text, values)
            self.looked -= 1
            return [[1]]

    stack = Queued(world)
    record, _, said = try_once(world, tmp_path, monkeypatch, stack=stack, redundancy_limit_s=0.2)
    trial = trial_of(record)
    assert (trial.whole_ms is not None) == (looks == 3) and trial.watched_ms
    assert ("trial: not whole: not caught up: replica1" in said) == (looks != 3)


@pytest.mark.parametrize("rejoins", ["by GTID", ""])
def test_who_makes_a_server_follow_again_has_a_while_for_it(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rejoins: str
) -> None:
    monkeypatch.setattr(conductor, "FOLLOW_S", 0.005)

    class Managed(TrialStack):
        looks = 0

        def wait_until_ready(self, timeout_s: float) -> None:
            self.looks = 3

        def roles(self) -> Mapping[str, ServerRole | None]:
            self.looks -= 1
            return {**self.role_of, **({"replica1": None} if self.looks > 0 else {})}

    stack = Managed(world)
    stack.members = [*stack.members, replace(CLIENT, name="mha1", kind="manager", rejoins=rejoins)]
    record, _, said = try_once(world, tmp_path, monkeypatch, stack=stack)
    assert (trial_of(record).whole_ms is not None) == bool(rejoins)
    assert ("trial: not whole: out of the group: replica1" in said) == (not rejoins)
    assert checks_of(record)["lost"] == "pass"


def test_a_node_that_cannot_be_read_leaves_what_is_not_known(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(world)
    stack.unreadable["mysql1"] = "OperationalError(2013, 'Lost connection')"
    record, _, _ = try_once(world, tmp_path, monkeypatch, stack=stack)
    assert record.status == "ok" and record.metrics.lost is None
    (lost,) = (check for check in record.checks if check.name == "lost")
    assert lost.verdict == "unknown" and "mysql1: OperationalError(2013" in lost.detail


def test_a_node_without_an_address_is_not_asked(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(world)

    class Losing(FakeBreaking):
        def heal(self, key: str) -> int:
            stack.controls["replica1"].at, stack.controls["replica1"].shown = None, "exited (1)"
            return super().heal(key)

    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=Losing(world), stack=stack)
    assert record.status == "ok" and checks_of(record)["lost"] == "unknown"
    assert checks_of(record)["divergence"] == "unknown"
    (divergence,) = (check for check in record.checks if check.name == "divergence")
    assert "replica1: its container is exited (1)" in divergence.detail


def test_errant_transactions_are_a_divergence(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(world)
    stack.gtids["replica1"] = f"{stack.gtids['mysql1']},4e11fa47-71ca-11e1-9e33-c80aa9429562:1"
    record, _, _ = try_once(world, tmp_path, monkeypatch, stack=stack)
    assert checks_of(record)["divergence"] == "fail"


def test_refused_connections_are_reported(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.code = 1040
    record, _, _ = try_once(world, tmp_path, monkeypatch)
    (check,) = [check for check in record.checks if check.name == "connections_allowed"]
    assert check.verdict == "unknown" and check.detail.endswith(
        ": 437 operations of the prober got error 1040"
    )
