"""List-append and bank: what runs in the client node, what it records, and what the run's record
says of it.
"""

import importlib
import io
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pymysql
import pytest

from sandbox.load.bank import Bank
from sandbox.load.common import history_load
from sandbox.load.common.history_load import HistoryLoad
from sandbox.load.common.in_client_conflicts import CONFLICTS, is_conflict
from sandbox.load.common.isolation.history import read_history
from sandbox.load.common.workload import Second, WorkloadError
from sandbox.load.list_append import ListAppend
from sandbox.stack.protocol import EntryPoint
from unit.fake_stack import CLIENT, PASSWORD, FakeStack, server
from unit.load.serial_server import SerialServer
from unit.load.test_sysbench import session_of

COMMON = Path(history_load.__file__).parent
FOLDER = COMMON.parent
LOADS: list[HistoryLoad] = [ListAppend(), ListAppend(append="read-modify-write"), Bank()]


def in_client(load: HistoryLoad) -> tuple[ModuleType, ModuleType]:
    """The shared module and the workload's own, which import each other from one folder."""
    own = FOLDER / ("bank" if isinstance(load, Bank) else "list_append")
    sys.path[:0] = [str(COMMON), str(own)]
    try:
        shared = importlib.import_module("in_client_history")
        return shared, importlib.import_module(f"in_client_{own.name}")
    finally:
        del sys.path[:2]


class HurriedClock:
    """In place of ``time`` in the program: a second takes a quarter of one, but is not over before
    the server has answered enough, however busy this machine is.
    """

    FACTOR = 4

    def __init__(self, there: SerialServer, enough: int) -> None:
        """``enough``: statements."""
        self._there, self._enough = there, enough
        self._began_ns = self._held_ns = self.FACTOR * time.monotonic_ns()

    def monotonic(self) -> float:
        return self.monotonic_ns() / 1e9

    def monotonic_ns(self) -> int:
        now_ns = self.FACTOR * time.monotonic_ns()
        if self._there.statements < self._enough:  # it all but stands still
            self._held_ns = now_ns
            return self._began_ns + self._there.statements
        return self._began_ns + self._enough + now_ns - self._held_ns

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds / self.FACTOR)


def lines_of(
    load: HistoryLoad,
    there: SerialServer,
    monkeypatch: pytest.MonkeyPatch,
    seconds: int = 1,
    enough: int = 200,
) -> list[str]:
    """What the program prints in front of a server."""
    shared, own = in_client(load)
    monkeypatch.setattr(pymysql, "connect", there.connect)
    monkeypatch.setattr(shared, "time", HurriedClock(there, enough))
    nodes = [{"name": name, "host": name, "port": 3306} for name in ("mysql1", "replica1")]
    request: dict[str, Any] = {
        "nodes": nodes,
        "servers": nodes,
        "schema": "sbtest",
        "threads": 3,
        "seconds": seconds,
        "seed": 7,
        "isolation": "READ-COMMITTED",
        "options": load.client_options(),
    }
    out = io.StringIO()
    made = own.BankTransactions if isinstance(load, Bank) else own.ListTransactions
    shared.main(made(**request["options"]), request, out)
    return out.getvalue().splitlines()


def judged(
    load: HistoryLoad, lines: Sequence[str], tmp_path: Path, **changed: Any
) -> tuple[Any, list[Any]]:
    """What the workload makes of those lines, and the events on the way."""
    stack, events = FakeStack(load_lines=list(lines)), list[Any]()
    session = session_of(stack, events, **changed)
    load.prepare(session, tmp_path / "prepare.log")
    return load.load(session, "measure", tmp_path / "load.log"), events


@pytest.mark.parametrize("load", LOADS, ids=["list", "list-overwritten", "bank"])
def test_one_transaction_at_a_time_shows_no_anomaly(
    load: HistoryLoad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = SerialServer()
    outcome, events = judged(load, lines_of(load, there, monkeypatch), tmp_path)
    assert outcome.failure is None and {check.verdict for check in outcome.findings} == {"pass"}
    assert outcome.metrics.lost_updates == outcome.metrics.fractured_reads == 0
    assert outcome.metrics.transactions > 10 and len(outcome.metrics.by_kind) == 2
    assert outcome.metrics.queries == there.statements and outcome.metrics.connections == 5
    assert [event.second for event in events if isinstance(event, Second)] == [1]
    history = (tmp_path / "history.jsonl").read_text().splitlines()
    assert [json.loads(line)["index"] for line in history] == list(range(len(history)))
    assert not any('"index"' in line for line in (tmp_path / "load.log").read_text().splitlines())
    assert {txn.node for txn in read_history(history) if txn.final} == {"mysql1", "replica1"}
    assert all(given["read_default_file"] == "/sandbox/app.cnf" for given in there.connected)


@pytest.mark.parametrize("load", LOADS[1:], ids=["list-overwritten", "bank"])
def test_writes_that_replace_each_other_break_the_promise_but_not_the_run(
    load: HistoryLoad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome, _ = judged(load, lines_of(load, SerialServer(careless=True), monkeypatch), tmp_path)
    assert (
        outcome.failure is None
        and outcome.metrics.lost_updates > 0
        and outcome.metrics.lost_writes > 0
    )
    assert {check.name: check.verdict for check in outcome.findings}["no_lost_updates"] == "fail"


@pytest.mark.parametrize(
    ("statement", "code", "outcome", "failure"),
    [
        ("COMMIT", 1213, "fail", None),
        ("COMMIT", 1180, "info", "error 1180: lost"),
        ("COMMIT", 2013, "info", "error 2013: lost"),
        ("UPDATE", 1020, "fail", None),
        ("UPDATE", 1064, "fail", "error 1064: lost"),
    ],
)
def test_an_error_decides_what_is_known_of_its_transaction(
    statement: str,
    code: int,
    outcome: str,
    failure: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = SerialServer(fails={statement: pymysql.OperationalError(code, "lost")}, careless=True)
    lines = lines_of(Bank(), there, monkeypatch)
    ends = [
        json.loads(line) for line in lines if '"type": "fail"' in line or '"type": "info"' in line
    ]
    assert [(each["type"], each["error"]) for each in ends] == [(outcome, code)]
    made, _ = judged(Bank(), lines, tmp_path)
    assert made.failure == failure and bool(made.findings) is (failure is None)
    if failure is None:
        assert made.metrics.conflicts_by_code == {str(code): 1} and made.metrics.errors == 0


def test_a_commit_that_fails_for_another_reason_than_a_deadlock_is_no_conflict() -> None:
    """As engine.lua has it, whose codes are the same."""
    text = (COMMON / "engine.lua").read_text(encoding="utf-8")
    (codes,) = re.findall(r"^local CONFLICTS = \{(.*), \"expected\"\}$", text, re.MULTILINE)
    assert tuple(int(code.strip('" ')) for code in codes.split(",")) == CONFLICTS
    assert is_conflict(1180, "Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT")
    assert not is_conflict(1180, "Got error 28 - 'No space left on device' during COMMIT")
    assert is_conflict(1213, "Deadlock found") and not is_conflict(1064, "error 149")


def test_a_process_of_unknown_outcome_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    there = SerialServer(
        fails={"COMMIT": pymysql.OperationalError(1180, "Got error 149")}, careless=True
    )
    txns = read_history(
        line for line in lines_of(Bank(), there, monkeypatch) if line.startswith('{"index"')
    )
    (unknown,) = [txn for txn in txns if txn.outcome == "info"]
    later = [txn.process for txn in txns if txn.index > unknown.index and not txn.final]
    assert unknown.process not in later and unknown.process + 3 in later


def test_the_last_reads_are_sent_but_belong_to_no_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All keys of all nodes, twice: far more than what the load itself sends in a second."""
    shared, _ = in_client(ListAppend())
    monkeypatch.setattr(
        shared,
        "work",
        lambda link, *_: link.execute("reads", "SELECT val FROM list WHERE id=%s", [1]),
    )
    there = SerialServer()
    lines = lines_of(ListAppend(), there, monkeypatch, enough=0)
    metrics = judged(ListAppend(), lines, tmp_path)[0].metrics
    assert metrics.queries == there.statements > 30
    assert metrics.reads_per_s == metrics.qps == pytest.approx(3, abs=0.2), "one of each thread"


def request_of(stack: FakeStack) -> dict[str, Any]:
    """What the program was given last."""
    found: dict[str, Any] = json.loads(stack.streamed[-1][-1])
    return found


@pytest.mark.parametrize(
    ("placement", "nodes"),
    [("writer", ["haproxy1"]), ("all", ["galera1", "galera2"])],
    ids=["writer", "all"],
)
def test_threads_stand_at_the_entry_point_or_at_every_server(
    placement: str, nodes: list[str], tmp_path: Path
) -> None:
    members = [server(f"galera{number}", family="mariadb", topology="galera") for number in (1, 2)]
    stack = FakeStack(members=[*members, CLIENT])
    entry = EntryPoint("haproxy1", "haproxy1", 3307, 1, "haproxy1:rw")
    load = ListAppend.model_validate({"placement": placement, "isolation": "SERIALIZABLE"})
    load.load(session_of(stack, entry=entry), "measure", tmp_path / "load.log")
    request = request_of(stack)
    assert [each["name"] for each in request["nodes"]] == nodes
    assert [each["name"] for each in request["servers"]] == ["galera1", "galera2"]
    assert (request["isolation"], request["seed"], request["seconds"]) == ("SERIALIZABLE", 7, 3)
    assert PASSWORD not in json.dumps(stack.streamed)


def test_a_load_at_the_members_stands_at_each_that_takes_writes(tmp_path: Path) -> None:
    """Then a read may miss what another member has taken, and a promise of one node does not
    hold.
    """
    members = [
        server(f"galera{number}", family="mariadb", topology="galera") for number in (1, 2, 3)
    ]
    stack = FakeStack(members=[*members, server("replica1", "replica"), CLIENT])
    entry = EntryPoint("galera2", "galera2", 3306, 1, "members", others=("galera1", "galera3"))
    session = session_of(stack, entry=entry)
    ListAppend().load(session, "measure", tmp_path / "load.log")
    assert [each["name"] for each in request_of(stack)["nodes"]] == [
        "galera2",
        "galera1",
        "galera3",
    ]
    assert ListAppend()._spread(session) and not ListAppend()._spread(
        replace(session, entry=session.writer)
    )


def test_independent_servers_are_not_read(tmp_path: Path) -> None:
    """The tables are on the writer alone."""
    stack = FakeStack(members=[server("mysql1"), server("mysql2"), CLIENT])
    ListAppend().load(session_of(stack), "measure", tmp_path / "load.log")
    assert [each["name"] for each in request_of(stack)["servers"]] == ["mysql1"]


@pytest.mark.parametrize(
    ("lacks", "looks", "alike"),
    [
        (lambda look: max(0, 400 - look), 400, True),  # it applies a write between two looks
        (lambda look: 1, 302, False),  # 15 s of looks 50 ms apart
        (lambda look: look, 6002, False),
    ],
    ids=["late", "another history", "never done"],
)
def test_the_end_is_when_all_hold_the_same_or_nothing_changes_any_more(
    monkeypatch: pytest.MonkeyPatch, lacks: Callable[[int], int], looks: int, alike: bool
) -> None:
    shared, _ = in_client(Bank())
    now, seen = [0.0], [0]

    def carry_out(link: Any, ops: object) -> int:
        seen[0] += link.node == "replica1"
        return lacks(seen[0]) if link.node == "replica1" else 0

    clock = SimpleNamespace(
        monotonic=lambda: now[0], sleep=lambda pause_s: now.append(now.pop() + pause_s)
    )
    monkeypatch.setattr(shared, "time", clock)
    links = [SimpleNamespace(node=name, execute=lambda *_: ()) for name in ("mysql1", "replica1")]
    first, second = shared.agreed(links, SimpleNamespace(all_reads=list, carry_out=carry_out))
    assert seen[0] == pytest.approx(looks, abs=2) and (first == second) == alike


def test_the_warm_up_keeps_no_history_and_judges_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = lines_of(Bank(), SerialServer(careless=True), monkeypatch)
    outcome = Bank().load(
        session_of(FakeStack(load_lines=lines)), "warm-up", tmp_path / "warmup.log"
    )
    assert not outcome.findings and outcome.metrics.lost_updates is None
    assert not (tmp_path / "history.jsonl").exists()


def test_a_level_that_the_server_has_is_left_alone(tmp_path: Path) -> None:
    stack = FakeStack(load_lines=[])
    outcome = Bank().load(session_of(stack), "measure", tmp_path / "load.log")
    assert request_of(stack)["isolation"] is None
    assert outcome.failure == "the load failed with exit code 0: no summary"


def test_the_programs_are_shipped_and_tables_made_anew(tmp_path: Path) -> None:
    stack = FakeStack()
    for _ in range(2):
        record = Bank(accounts=3).prepare(session_of(stack), tmp_path / "prepare.log")
        assert record is not None and not record.reused
    assert set(stack.shipped) == {
        "in_client_history.py",
        "in_client_conflicts.py",
        "in_client_bank.py",
    }
    asked = [text for _, text in stack.asked if "bank_accounts" in text]
    assert (
        len(asked) == 4
        and asked[1] == "INSERT INTO bank_accounts VALUES (0, 100, 0), (1, 100, 0), (2, 100, 0)"
    )
    failing = replace(stack, fail_sql={"CREATE TABLE bank": (1142, "denied")})
    with pytest.raises(WorkloadError, match="denied"):
        Bank().prepare(session_of(failing), tmp_path / "prepare.log")
