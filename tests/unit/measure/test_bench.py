"""One measurement from start to record, on a stack without Docker."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.load.common.registry import NamedWorkload, find_workload, own_workload
from sandbox.load.common.workload import (
    Event,
    Outcome,
    Parameters,
    Phase,
    Progress,
    Second,
    Session,
)
from sandbox.load.sysbench import Sysbench
from sandbox.measure import bench as run_module
from sandbox.measure.bench import BenchRequest, bench
from sandbox.measure.execute import EXIT_CODES, tool_commit
from sandbox.measure.run import open_stack
from sandbox.profile.plan import UserFile
from sandbox.record.record import CheckRecord, Record
from sandbox.stack.protocol import EntryPoint, SettingProof, followers
from unit.fake_stack import CLIENT, PASSWORD, FakeStack, captured, server

PROFILES = [Path(__file__).parents[3] / "profiles" / "workloads"]
PARAMETERS = Parameters(threads=8, seconds=4, warmup_s=1, tables=2, rows_per_table=1000)


def run_bench(
    stack: FakeStack, results: Path, workload: NamedWorkload | None = None, **changed: Any
) -> tuple[Record, Path, list[Event]]:
    """Benches the fake; returns the record, its folder and the events."""
    events: list[Event] = []
    named = workload or find_workload("oltp_write_only", PROFILES)
    given: dict[str, Any] = {
        "parameters": PARAMETERS,
        "seed": 7,
        "command": ("sandbox", "bench"),
        **changed,
    }
    record, result = bench(stack, BenchRequest(named, **given), results, events.append)
    return record, result.path / "runs" / "bench.1", events


def test_a_good_run(tmp_path: Path) -> None:
    record, _, events = run_bench(FakeStack(), tmp_path)
    assert (record.status, record.reason) == ("ok", None)
    assert EXIT_CODES[record.status] is ExitCode.OK
    assert record.metrics.tps == 268.03
    assert record.metrics.conflicts_by_code == {"1213": 31}
    assert record.metrics.transactions and record.metrics.proxy_cpu_ms_per_tx is None
    # Of each node; the warm-up, as long, is no part of it.
    ms_per_tx = 710 / record.metrics.transactions
    assert record.metrics.server_cpu_ms_per_tx == pytest.approx(2 * ms_per_tx, abs=1e-6)
    assert record.metrics.client_cpu_ms_per_tx == pytest.approx(ms_per_tx, abs=1e-6)
    assert [node.cpu_s for node in record.nodes] == [pytest.approx(0.71)] * 3
    assert record.workload.entry and record.workload.entry.answered == {"mysql1": 7100}
    assert (
        record.status_delta["mysql1"]["Questions"] == 7100
        and record.status_delta["replica1"]["Questions"] == 0
    )
    assert [(node.name, node.role) for node in record.nodes] == [
        ("mysql1", "writer"),
        ("replica1", "reader"),
        ("client1", "client"),
    ]
    assert record.environment.during.steal_percent == 5.0
    assert (
        tmp_path / "latest" / "runs" / "bench.1" / "record.json"
    ).read_text() == record.to_json()
    steps_text = [
        event.step for event in events if isinstance(event, Progress) and event.text == "begins"
    ]
    assert steps_text == ["prove settings", "prepare", "warm up", "catch up", "measure"]


def test_every_file_of_the_record_is_there(tmp_path: Path) -> None:
    record, folder, _ = run_bench(FakeStack(), tmp_path)
    assert set(record.files) == {
        *(
            "prepare_log",
            "warmup_log",
            "load_log",
            "series",
            "samples",
            "log_mysql1",
            "log_replica1",
        ),
    }
    for name in record.files.values():
        assert (folder / name).stat().st_size > 0, name
    assert (folder / "load.log").read_text().splitlines() == captured("conflicts-mysql-9.7")
    assert len((folder / "seconds.csv").read_text().splitlines()) == 1 + 4 + 4
    samples = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    assert {sample["node"] for sample in samples} == {None, "mysql1", "replica1"}


def test_no_password_is_saved_anywhere(tmp_path: Path) -> None:
    record, _, _ = run_bench(FakeStack(), tmp_path)
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or PASSWORD not in path.read_text(), path
    assert record.variables["mysql1"]["wsrep_sst_auth"] == "********"
    assert record.variables["mysql1"]["report_host"] == "********"


def test_a_password_in_a_reason_is_masked(tmp_path: Path) -> None:
    stack = FakeStack(load_lines=[f"FATAL: error 1045: Access denied, {PASSWORD}"], load_code=1)
    record, _, _ = run_bench(stack, tmp_path)
    assert record.status == "failed" and "********" in str(record.reason)


def test_a_setting_not_in_effect_fails_before_any_load(tmp_path: Path) -> None:
    stack = FakeStack(proofs=[SettingProof("threadpool", "mysql1", "ON", "OFF")])
    record, _, _ = run_bench(stack, tmp_path)
    assert record.status == "failed" and EXIT_CODES[record.status] is ExitCode.FAILED
    assert "threadpool on mysql1: expected 'ON', got 'OFF'" in str(record.reason)
    assert not stack.streamed and record.metrics.tps is None


def test_a_load_that_never_reached_the_server_is_a_failure_and_no_zero(tmp_path: Path) -> None:
    record, _, _ = run_bench(FakeStack(statements_per_load=40), tmp_path)
    assert record.status == "failed"
    assert "the load sent 7040 statements, the servers counted 40" in str(record.reason)


def test_an_error_of_the_load_is_a_failure_with_its_code(tmp_path: Path) -> None:
    stack = FakeStack(load_lines=captured("read-only"), load_code=1)
    record, _, _ = run_bench(
        stack, tmp_path, parameters=PARAMETERS.model_copy(update={"warmup_s": 0})
    )
    assert record.status == "failed" and "1290" in str(record.reason)
    assert record.metrics.errors_by_code == {"1290": 2} and record.metrics.tps is None


def test_a_failing_warm_up_ends_the_run(tmp_path: Path) -> None:
    stack = FakeStack(load_lines=captured("read-only"), load_code=1)
    record, _, _ = run_bench(stack, tmp_path)
    assert record.status == "failed" and str(record.reason).startswith("during the warm-up: ")
    assert record.metrics.errors_by_code == {"1290": 2}
    assert "samples" not in record.files


class DyingStack(FakeStack):
    """Its source dies in the measured load."""

    def _count_load(self) -> None:
        super()._count_load()
        self.dead["mysql1"] = "exited (137), out of memory"


def test_a_node_that_dies_is_the_reason_whatever_followed(tmp_path: Path) -> None:
    stack = DyingStack(load_lines=captured("killed-server"), load_code=1)
    record, folder, _ = run_bench(
        stack, tmp_path, parameters=PARAMETERS.model_copy(update={"warmup_s": 0})
    )
    assert record.status == "infra_error" and EXIT_CODES[record.status] is ExitCode.ENVIRONMENT
    assert "mysql1: exited (137), out of memory" in str(record.reason)
    assert "ready" in (folder / record.files["log_mysql1"]).read_text()
    assert record.metrics.errors_by_code == {"2013": 4}


def test_a_node_that_dies_in_the_warm_up_is_the_reason_too(tmp_path: Path) -> None:
    stack = DyingStack(load_lines=captured("killed-server"), load_code=1)
    record, _, _ = run_bench(stack, tmp_path)
    assert record.status == "infra_error" and "then: during the warm-up" in str(record.reason)


def test_a_server_that_restarted_is_noticed(tmp_path: Path) -> None:
    stack = FakeStack()
    stack.on_load = lambda: stack.status["mysql1"].update(Uptime=1, Questions=5)
    record, _, _ = run_bench(
        stack, tmp_path, parameters=PARAMETERS.model_copy(update={"warmup_s": 0})
    )
    assert record.status == "infra_error" and "mysql1: its server restarted" in str(record.reason)


def test_a_node_down_from_the_start_is_said_and_does_not_fail(tmp_path: Path) -> None:
    record, _, _ = run_bench(FakeStack(dead={"replica1": "exited (0)"}), tmp_path)
    assert record.status == "ok"
    verdicts = {check.name: check.verdict for check in record.checks}
    assert verdicts["nodes_alive"] == "unknown"
    assert set(record.variables) == {"mysql1"}


def interrupt(phase: str) -> Any:
    """A load hook that interrupts the first or the second load."""
    seen: list[int] = []

    def hook() -> None:
        seen.append(1)
        if len(seen) == (1 if phase == "warm-up" else 2):
            raise KeyboardInterrupt

    return hook


@pytest.mark.parametrize(
    ("phase", "step", "sent"), [("warm-up", "warm up", []), ("measure", "measure", ["begin"])]
)
def test_ctrl_c_leaves_a_record_and_no_sampler(
    tmp_path: Path, phase: str, step: str, sent: list[str]
) -> None:
    stack = FakeStack(on_load=interrupt(phase))
    record, folder, _ = run_bench(stack, tmp_path)
    sampler = next(
        stream
        for stream, argv in zip(stack.streams, stack.streamed, strict=False)
        if argv[0] == "python3"
    )
    assert sampler.closed.is_set() and sampler.sent == sent
    assert record.status == "interrupted" and str(record.reason).startswith(
        f"interrupted during {step}"
    )
    assert EXIT_CODES[record.status] is ExitCode.INTERRUPTED
    assert Record.model_validate_json((folder / "record.json").read_text()) == record
    assert record.metrics.tps is None


def test_ctrl_c_in_the_middle_of_a_load_keeps_the_seconds_and_ends_sampler_and_load(
    tmp_path: Path,
) -> None:
    stack = FakeStack()
    events: list[Event] = []

    def show(event: Event) -> None:
        events.append(event)
        if isinstance(event, Second) and event.phase == "measure" and event.second == 2:
            raise KeyboardInterrupt

    request = BenchRequest(find_workload("oltp_write_only", PROFILES), PARAMETERS, seed=7)
    record, result = bench(stack, request, tmp_path, show)
    assert record.status == "interrupted"
    assert (
        record.reason == "interrupted during measure; the figures are those of its first 2 of 4 s"
    )
    seconds = [event for event in events if isinstance(event, Second) and event.phase == "measure"]
    metrics = record.metrics
    assert metrics.tps == round(sum(each.tps for each in seconds) / 2, 2) > 0
    assert (metrics.measured_s, metrics.points_1s) == (2, 2)
    assert metrics.transactions == round(sum(each.tps for each in seconds))
    assert metrics.latency_p95_ms is None, "percentiles of seconds are none of the whole"
    series = (result.path / "runs" / "bench.1" / "seconds.csv").read_text().splitlines()
    assert [line.split(",")[:2] for line in series[-2:]] == [["measure", "1"], ["measure", "2"]]
    assert all(stream.closed.is_set() for stream in stack.streams)
    assert set(record.status_delta) == {"mysql1", "replica1"}


def test_an_unforeseen_error_leaves_a_record_and_goes_on(tmp_path: Path) -> None:
    def broken() -> None:
        raise ZeroDivisionError("a defect")

    with pytest.raises(ZeroDivisionError):
        run_bench(FakeStack(on_load=broken), tmp_path)
    record = Record.model_validate_json(
        (tmp_path / "latest" / "runs" / "bench.1" / "record.json").read_text()
    )
    assert record.status == "failed" and record.reason == "unexpected ZeroDivisionError: a defect"


class EnginelessStack(FakeStack):
    """The engine goes away when settings are to be proved."""

    def prove_settings(self) -> Sequence[SettingProof]:
        raise MachineError("the engine does not answer", "it did before", "make doctor")


def test_an_engine_that_goes_away_is_an_infra_error(tmp_path: Path) -> None:
    record, _, _ = run_bench(EnginelessStack(), tmp_path)
    assert (record.status, record.reason) == (
        "infra_error",
        "the engine does not answer: it did before",
    )


class EngineGoneInWarmUp(FakeStack):
    """The engine goes away in the warm-up, which fails for that."""

    def dead_nodes(self) -> dict[str, str]:
        if self.streamed:
            raise MachineError("the engine does not answer", "it did before", "make doctor")
        return {}


def test_a_failure_after_which_the_engine_is_gone_is_an_infra_error(tmp_path: Path) -> None:
    record, _, _ = run_bench(EngineGoneInWarmUp(load_code=255), tmp_path)
    assert record.status == "infra_error"
    assert str(record.reason).startswith(
        "the engine does not answer: it did before; then: during the warm-up: "
    )


def test_an_impossible_request_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="nowhere"):
        run_bench(FakeStack(), tmp_path / "results", via="nowhere")
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("stack", "sent"),
    [
        (FakeStack(members=[server("mysql1")]), "no running client"),
        (FakeStack(dead={"client1": "exited (0)"}), "no running client"),
        (FakeStack(role_of={"mysql1": "reader", "replica1": None}), "no writer"),
    ],
)
def test_a_stack_that_cannot_be_loaded_is_refused(
    tmp_path: Path, stack: FakeStack, sent: str
) -> None:
    with pytest.raises(SandboxError, match=sent) as caught:
        run_bench(stack, tmp_path)
    assert caught.value.exit_code is ExitCode.ENVIRONMENT


def test_the_seed_is_drawn_and_recorded(tmp_path: Path) -> None:
    stack = FakeStack()
    record, _, _ = run_bench(stack, tmp_path, seed=None)
    assert record.seed > 0 and f"--rand-seed={record.seed}" in (record.workload.load_command or [])


@pytest.mark.parametrize("seed", [0, -1, 2**31])
def test_a_seed_that_sysbench_would_not_take_is_refused(tmp_path: Path, seed: int) -> None:
    with pytest.raises(SandboxError, match=f"SEED={seed}"):
        run_bench(FakeStack(), tmp_path, seed=seed)


def test_the_measured_load_waits_until_replicas_have_caught_up(tmp_path: Path) -> None:
    record, _, events = run_bench(FakeStack(polls_behind=2), tmp_path)
    assert record.status == "ok"
    waits = [
        event.text for event in events if isinstance(event, Progress) and event.step == "catch up"
    ]
    assert any("replica1 has not applied the last write" in text for text in waits)


def test_a_replica_that_never_catches_up_is_an_infra_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "CATCH_UP_LIMIT_S", 0.0)
    record, _, _ = run_bench(FakeStack(polls_behind=10**6), tmp_path)
    assert record.status == "infra_error" and "replica1 has not applied" in str(record.reason)


def test_noop_loads_nothing_and_is_ok(tmp_path: Path) -> None:
    stack = FakeStack(load_lines=[], statements_per_load=0)
    record, _, _ = run_bench(stack, tmp_path, find_workload("noop", PROFILES))
    assert record.status == "ok" and record.metrics.tps is None
    assert record.workload.preparation is None
    assert not [text for _, text in stack.asked if "sandbox_" in text]


class Checked(Sysbench):
    """Whose data a check finds broken."""

    def check(self, session: Session) -> Sequence[CheckRecord]:
        return [CheckRecord(name="sums", verdict="fail", detail="7 is not 8")]


def test_a_check_of_the_workload_stands_in_the_record_and_fails_the_run(tmp_path: Path) -> None:
    named = NamedWorkload("checked", "help", Checked(script="oltp_write_only"))
    record, _, _ = run_bench(FakeStack(), tmp_path, named)
    assert record.status == "failed" and record.reason == "sums: 7 is not 8"
    assert record.metrics.tps == 268.03


class Observing(Sysbench):
    """Whose load finds that the servers broke a promise, and leaves a file."""

    @property
    def leaves(self) -> Mapping[str, str]:
        return {"history": "history.jsonl"}

    def load(self, session: Session, phase: Phase, log: Path) -> Outcome:
        log.with_name("history.jsonl").write_text("{}\n")
        found = CheckRecord(name="no_lost_updates", verdict="fail", detail="3 lost updates")
        return replace(super().load(session, phase, log), findings=(found,))


def test_what_a_load_finds_of_the_servers_is_a_result_and_no_failure_of_the_run(
    tmp_path: Path,
) -> None:
    named = NamedWorkload("observing", "help", Observing(script="oltp_write_only"))
    record, _, _ = run_bench(FakeStack(), tmp_path, named)
    assert record.status == "ok" and record.reason is None
    assert [check.verdict for check in record.checks if check.name == "no_lost_updates"] == ["fail"]
    assert record.files["history"] == "history.jsonl"


def test_the_file_of_the_users_own_workload_stands_in_the_record(tmp_path: Path) -> None:
    named = own_workload("x/mine.lua", UserFile("mine.lua", 'require("oltp_common")', "abc"))
    record, _, _ = run_bench(FakeStack(), tmp_path, named)
    assert (
        record.workload.name == record.workload.file_name == "mine.lua"
        and record.workload.file_sha256 == "abc"
    )
    assert (
        record.workload.rows_per_table == 1000 and record.workload.options["script"] == "mine.lua"
    )


def test_what_a_workload_does_not_support_is_null_in_the_record(tmp_path: Path) -> None:
    record, _, _ = run_bench(
        FakeStack(load_lines=[], statements_per_load=0), tmp_path, find_workload("noop", PROFILES)
    )
    assert record.workload.tables is None and record.workload.distribution is None
    assert record.workload.threads == 8


GROUPS = {
    "a source and its replica": (
        [server("mysql1"), server("replica1", "replica")],
        "mysql1",
        ["mysql1", "replica1"],
    ),
    "a cluster": (
        [server(f"gr{i}", topology="gr") for i in (1, 2, 3)],
        "gr2",
        ["gr1", "gr2", "gr3"],
    ),
    "independent servers": ([server("mysql1"), server("mysql2")], "mysql2", ["mysql2"]),
    "independent servers, the first with a replica": (
        [server("mysql1"), server("mysql2"), server("replica1", "replica")],
        "mysql1",
        ["mysql1", "replica1"],
    ),
    "a replica that was promoted": (
        [server("mysql1"), server("replica1", "replica")],
        "replica1",
        ["mysql1", "replica1"],
    ),
}


@pytest.mark.parametrize(("servers", "writer", "expected"), GROUPS.values(), ids=GROUPS)
def test_who_follows_the_writer(servers: list[Any], writer: str, expected: list[str]) -> None:
    assert [node.name for node in followers(servers, writer)] == expected


def test_a_schema_is_chosen_on_somebody_elses_server_alone(tmp_path: Path) -> None:
    outside = EntryPoint("external1", "db", 3306, 1, "external", schema="shop")
    stack = FakeStack(
        members=[server("external1", "external", has_container=False), CLIENT], entry=outside
    )
    request = BenchRequest(find_workload("oltp_write_only", PROFILES), PARAMETERS, schema="bench_1")
    assert open_stack(stack, request, lambda _: None).session.entry.schema == "bench_1"
    with pytest.raises(SandboxError, match="SCHEMA=bench_1 applies only to an external server"):
        open_stack(FakeStack(), request, lambda _: None)
    with pytest.raises(SandboxError, match="SCHEMA=a-b is not valid"):
        open_stack(stack, replace(request, schema="a-b"), lambda _: None)


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    command = ["git", "-C", str(folder), *identity, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_commit_with_a_plus_for_changed_files(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("1")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-q", "-m", "first")
    git(tmp_path, "tag", "v1")
    commit = git(tmp_path, "rev-parse", "--short=12", "HEAD")
    assert tool_commit(tmp_path) == commit, "the commit itself, whatever tags there are"
    (tmp_path / "file").write_text("2")
    assert tool_commit(tmp_path) == f"{commit}+"


def test_outside_of_git_nothing_is_known(tmp_path: Path) -> None:
    assert tool_commit(tmp_path / "none") is None
