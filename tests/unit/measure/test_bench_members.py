"""A bench on every member of a cluster of which one leaves: its figures stay, and whether it was on
purpose.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.record.record import Record
from sandbox.stack.journal import Breakage, note_breakage
from sandbox.stack.protocol import EntryPoint
from unit.fake_stack import CLIENT, FakeStack, captured, server
from unit.measure.test_bench import run_bench

LOST = (
    "member galera2 lost at 2.20 s: error 1047 (WSREP has not yet prepared node for application"
    " use)"
)
MEMBERS = EntryPoint("galera1", "galera1", 3306, 1, "members", others=("galera2", "galera3"))


def cluster(lines: list[str] | None = None, **given: Any) -> FakeStack:
    """Three members, of which the load loses the second."""
    found = lines or captured("conflicts-mysql-9.7")
    nodes = [
        server(f"galera{n}", component="galera", topology="galera", family="mariadb")
        for n in (1, 2, 3)
    ]
    return FakeStack(
        members=[*nodes, CLIENT],
        role_of=dict.fromkeys(("galera1", "galera2", "galera3"), "writer"),
        entry=MEMBERS,
        load_lines=[*found[:16], LOST, *found[16:]],
        started=dict.fromkeys(("galera1", "galera2", "galera3", "client1"), "1"),
        **given,
    )


def in_the_measured_load(do: Callable[[], object]) -> Callable[[], None]:
    """Not in the warm-up before it."""
    loads: list[int] = []

    def hook() -> None:
        loads.append(1)
        if len(loads) == 2:
            do()

    return hook


def bench_of(stack: FakeStack, results: Path) -> Record:
    record, _, _ = run_bench(stack, results, via="members")
    return record


def absence_of(record: Record) -> tuple[str, bool]:
    """Who was away, and whether on purpose."""
    assert record.workload.entry
    (absence,) = record.workload.entry.absences
    return absence.member, absence.on_purpose


def verdicts(record: Record) -> dict[str, str]:
    return {check.name: check.verdict for check in record.checks}


def test_one_that_somebody_restarted_leaves_figures_that_do_not_count(tmp_path: Path) -> None:
    stack = cluster()
    stack.on_load = in_the_measured_load(lambda: stack.started.update(galera2="2"))
    record = bench_of(stack, tmp_path)
    assert (record.status, record.reason) == ("ok", None) and record.metrics.tps == 268.03
    assert absence_of(record) == ("galera2", True)
    assert (
        verdicts(record)["members_loaded"] == "unknown"
        and verdicts(record)["nodes_alive"] == "pass"
    )
    assert not record.model_copy(update={"block": 1}).counts, "a comparison is one of all members"


def test_one_that_is_down_on_purpose_is_no_dead_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    stack = cluster()

    def breaks() -> None:
        stack.dead["galera2"] = "exited (137)"
        note_breakage(Breakage(project=stack.project, fault="host-loss", node="galera2"))

    stack.on_load = in_the_measured_load(breaks)
    record = bench_of(stack, tmp_path)
    assert record.status == "ok" and absence_of(record) == ("galera2", True)


def test_one_that_was_shut_down_says_so_in_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = cluster()
    log = "mariadbd (initiated by: unknown): Normal shutdown"
    monkeypatch.setattr(stack, "log", lambda node, since=None: log if node == "galera2" else "")
    assert absence_of(bench_of(stack, tmp_path)) == ("galera2", True)


def test_one_that_nobody_touched_fails_the_run_with_its_figures(tmp_path: Path) -> None:
    record = bench_of(cluster(), tmp_path)
    assert record.status == "failed" and "nobody had stopped or broken it" in str(record.reason)
    assert record.metrics.tps == 268.03 and absence_of(record) == ("galera2", False)


def test_one_that_died_is_the_environments_with_its_figures(tmp_path: Path) -> None:
    stack = cluster()
    stack.on_load = in_the_measured_load(lambda: stack.dead.update(galera2="exited (139)"))
    record = bench_of(stack, tmp_path)
    assert record.status == "infra_error" and "galera2: exited (139)" in str(record.reason)
    assert record.metrics.tps == 268.03


def test_a_load_that_ends_with_its_member_keeps_what_it_had(tmp_path: Path) -> None:
    """Sysbench ends with an error that no loss of a member gives."""
    stack = cluster()
    seconds = [line for line in captured("conflicts-mysql-9.7") if line.startswith("[ ")]
    failing = [*seconds[:3], "FATAL: mysql_stmt_execute() returned error 1146 (no table) for query"]

    def let_the_next_one_fail() -> None:
        stack.load_lines, stack.load_code = failing, 1

    stack.load_lines, stack.on_load = captured("conflicts-mysql-9.7"), let_the_next_one_fail
    record = bench_of(stack, tmp_path)
    assert record.status == "failed" and str(record.reason).endswith(
        "; the figures are those of its first 3 s"
    )
    assert (
        record.metrics.tps
        and record.metrics.points_1s == 3
        and record.metrics.latency_p95_ms is None
    )
    assert record.metrics.errors_by_code == {"1146": 1}
