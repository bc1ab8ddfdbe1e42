"""Writers: what runs in the client node, where it connects, and the verdicts on its ledger."""

import importlib
import io
import json
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pymysql
import pytest

from sandbox.core.errors import SandboxError
from sandbox.load.common.workload import make_parameters, refuse_as_companion
from sandbox.load.writers import LEDGER, Writers, WritersOutput, entries_of, programs
from sandbox.load.writers.verdicts import caught_up, verdicts
from sandbox.stack.protocol import EntryPoint, ExecResult
from unit.fake_stack import CLIENT, FakeStack, server
from unit.load.test_sysbench import session_of

GALERA = [server(f"galera{number}", topology="galera") for number in (1, 2, 3)]


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> tuple[ModuleType, ModuleType]:
    """Both programs, as they import what is shipped beside them."""
    folder = tmp_path_factory.mktemp("client")
    for name, text in programs().items():
        (folder / name).write_text(text)
    sys.path.insert(0, str(folder))
    try:
        writers = importlib.import_module("in_client_writers")
        return writers, importlib.import_module("in_client_ledger")
    finally:
        sys.path.remove(str(folder))
        for name in programs():
            sys.modules.pop(name.removesuffix(".py"), None)


@dataclass
class FakeServer:
    """A server by its host. ``errors``: of its next statements, in turn; None: it takes the row."""

    up: bool = True
    errors: list[int | None] = field(default_factory=list)
    rows: list[tuple[str, int, int]] = field(default_factory=list)
    """Statement, writer, op."""
    connections: int = 0


class FakeConnection:
    """A connection, which is its own cursor."""

    def __init__(self, at: FakeServer) -> None:
        self.at = at

    def cursor(self) -> "FakeConnection":
        return self

    def __enter__(self) -> "FakeConnection":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass

    def execute(self, statement: str, values: tuple[int, int, str]) -> None:
        if not self.at.up:
            raise pymysql.err.OperationalError(2013, "Lost connection")
        error = self.at.errors.pop(0) if self.at.errors else None
        if error is not None:
            raise pymysql.err.OperationalError(error, f"error {error}")
        self.at.rows.append((statement, values[0], values[1]))


class Cluster(dict[str, FakeServer]):
    """Servers by host, in place of ``pymysql.connect``."""

    def connect(self, host: str, **_: Any) -> FakeConnection:
        there = self[host]
        if not there.up:
            raise pymysql.err.OperationalError(2003, "Can't connect")
        there.connections += 1
        return FakeConnection(there)


@pytest.fixture
def cluster(shipped: tuple[ModuleType, ModuleType], monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Three servers, at hosts that are their own addresses."""
    made = Cluster({f"galera{number}": FakeServer() for number in (1, 2, 3)})
    monkeypatch.setattr(shipped[0].pymysql, "connect", made.connect)
    monkeypatch.setattr(shipped[0].socket, "gethostbyname", lambda host: host)
    return made


def writer(shipped: tuple[ModuleType, ModuleType], number: int, ledger: Path, **given: Any) -> Any:
    """A writer at three servers, with what it recorded."""
    module = shipped[0]
    request = {
        "first_op": 1000,
        "entries": [{"name": each.name, "host": each.name, "port": 3306} for each in GALERA],
        "spread": False,
        "tables": ["writers_1", "writers_2"],
        "row_bytes": 3,
        "schema": "sbtest",
        "writers": 4,
        "rate_per_s": None,
        **given,
    }
    recorder = module.Recorder(io.StringIO(), 4)
    made = module.RowWriter(
        number,
        request,
        recorder,
        module.OutcomeFile(str(ledger), 1000),
        module.Addresses(request["entries"]),
    )
    made.recorder = recorder
    return made


def outcomes(folder: Path) -> list[str]:
    """The outcomes in the only ledger."""
    (path,) = folder.glob("*.tsv")
    return [line.split("\t")[0] for line in path.read_text().splitlines()]


@pytest.mark.usefixtures("cluster")
def test_each_writer_has_its_table_and_begins_where_it_is_asked_to(
    shipped: tuple[ModuleType, ModuleType], cluster: Cluster, tmp_path: Path
) -> None:
    for number in range(3):
        writer(shipped, number, tmp_path / "a").write()
    assert {statement.split("`")[1] for statement, _, _ in cluster["galera1"].rows} == {
        "writers_1",
        "writers_2",
    }
    for number in range(3):
        writer(shipped, number, tmp_path / "b", spread=True, tables=["writers_all"]).write()
    assert [each.connections for each in cluster.values()] == [4, 1, 1]


def test_a_writer_that_loses_its_server_goes_on_at_the_next_one(
    shipped: tuple[ModuleType, ModuleType], cluster: Cluster, tmp_path: Path
) -> None:
    made = writer(shipped, 0, tmp_path)
    made.write()
    cluster["galera1"].up = False
    cluster["galera2"].up = False
    for _ in range(4):
        made.write()
    assert [op for _, _, op in cluster["galera1"].rows] == [1000]
    assert [op for _, _, op in cluster["galera3"].rows] == [1002, 1003], "none is sent again"
    assert outcomes(tmp_path) == ["acked", "unknown", "acked", "acked"]
    assert made.recorder.whole.reconnects == 1 and made.recorder.whole.transactions == 3
    assert made.recorder.whole.errors == Counter({"2013": 1, "2003": 1})


def test_a_conflict_and_a_refusal_are_failed_and_only_the_refusal_moves_it(
    shipped: tuple[ModuleType, ModuleType], cluster: Cluster, tmp_path: Path
) -> None:
    cluster["galera1"].errors = [1213, None, 1290]
    made = writer(shipped, 0, tmp_path)
    for _ in range(4):
        made.write()
    assert outcomes(tmp_path) == ["failed", "acked", "failed", "acked"]
    assert [each.connections for each in cluster.values()] == [1, 1, 0]
    assert made.recorder.whole.conflicts == Counter({"1213": 1})


def test_all_out_is_no_busy_loop_and_ends_with_the_clock(
    shipped: tuple[ModuleType, ModuleType], cluster: Cluster, tmp_path: Path
) -> None:
    for each in cluster.values():
        each.up = False
    made = writer(shipped, 0, tmp_path)
    made.work(shipped[0].time.monotonic() + 0.3)
    assert outcomes(tmp_path) == [] and made.recorder.whole.errors["2003"] < 20


def test_the_whole_load_prints_seconds_and_a_summary(
    shipped: tuple[ModuleType, ModuleType], cluster: Cluster, tmp_path: Path
) -> None:
    out = io.StringIO()
    request = {
        "entries": [{"name": "galera1", "host": "galera1", "port": 3306}],
        "spread": False,
        "tables": ["writers_1"],
        "row_bytes": 3,
        "schema": "sbtest",
        "writers": 2,
        "seconds": 1,
        "rate_per_s": 40,
        "ledger": str(tmp_path),
    }
    shipped[0].main(request, out)
    output = WritersOutput("measure")
    seconds = [second for line in out.getvalue().splitlines() if (second := output.feed(line))]
    assert [each.threads for each in seconds] == [2] and output.failure(0) is None
    metrics = output.metrics()
    assert metrics.transactions == len(cluster["galera1"].rows) and metrics.transactions in range(
        10, 42
    )
    assert len(outcomes(tmp_path)) == metrics.transactions and metrics.connections == 2


def test_a_load_without_any_acknowledged_write_has_failed() -> None:
    output = WritersOutput("measure")
    output.feed(json.dumps({"error": 1146, "message": "no such table"}))
    summary = {"kinds": {}, "errors": {"1146": 3}, "conflicts": {}, "seconds": 1.0}
    output.feed(json.dumps({"summary": summary}))
    assert output.failure(0) == "no write was acknowledged: error 1146: no such table"


# The ledger.


def test_a_server_is_compared_with_the_ledger(shipped: tuple[ModuleType, ModuleType]) -> None:
    lines = ["acked\t1\t10\n", "acked\t1\t11\n", "failed\t2\t10\n", "unknown\t2\t11\n", "acked\t2"]
    ledger = shipped[1].read_ledger(lines)
    assert ledger == {"acked": {(1, 10), (1, 11)}, "failed": {(2, 10)}, "unknown": {(2, 11)}}
    found = shipped[1].compared(ledger, Counter({(1, 10): 2, (2, 10): 1, (2, 11): 1}))
    assert found == {
        "rows": 4,
        "lost": {"count": 1, "examples": [(1, 11)]},
        "phantom": {"count": 1, "examples": [(2, 10)]},
        "duplicate": {"count": 1, "examples": [(1, 10)]},
    }


class Parts:
    """A cursor on a table whose rows come in two parts."""

    def __init__(self, *parts: list[tuple[int, int, int, Any]]) -> None:
        self.parts = [*parts, []]
        self.asked: list[int] = []

    def execute(self, _: str, values: tuple[int]) -> int:
        self.asked.append(values[0])
        return len(self.parts[0])

    def fetchall(self) -> list[tuple[int, int, int, Any]]:
        return self.parts.pop(0)


def test_rows_are_read_in_parts(shipped: tuple[ModuleType, ModuleType]) -> None:
    cursor = Parts([(1, 2, 7, "10,11"), (2, 1, 9, b"10")], [(1, 1, 12, "10")])
    assert shipped[1].read_rows(cursor, "writers_all") == {(1, 10): 2, (1, 11): 1, (2, 10): 1}
    assert cursor.asked == [0, 9, 12]
    with pytest.raises(BufferError):
        shipped[1].read_rows(Parts([(1, 3, 7, "10,11")]), "writers_all")


def answer(**servers: dict[str, int] | str) -> dict[str, Any]:
    """What the client node answers: counts by server, or an error."""
    none = {"count": 0, "examples": []}
    found: dict[str, Any] = {}
    for name, counts in servers.items():
        if isinstance(counts, str):
            found[name] = {"error": counts}
            continue
        wrong = {what: {"count": count, "examples": [(1, 10)]} for what, count in counts.items()}
        empty = dict.fromkeys(("lost", "phantom", "duplicate"), none)
        found[name] = {"error": None, "rows": 1, **empty, **wrong}
    return {"acked": 1000, "failed": 5, "unknown": 2, "servers": found}


@pytest.mark.parametrize(
    ("servers", "behind", "expected"),
    [
        ({"galera1": {}, "galera2": {}}, {}, ("pass", "pass", "pass")),
        ({"galera1": {"lost": 2}, "galera2": {}}, {}, ("fail", "pass", "pass")),
        ({"galera1": {"lost": 2}}, {"galera1": "late"}, ("fail", "pass", "pass")),
        ({"galera1": {}, "galera2": {"lost": 2}}, {}, ("fail", "pass", "pass")),
        ({"galera1": {}, "galera2": {"lost": 2}}, {"galera2": "late"}, ("unknown", "pass", "pass")),
        ({"galera1": {}, "galera2": "2003"}, {}, ("unknown", "unknown", "unknown")),
        ({"galera1": "2003", "galera2": {}}, {}, ("unknown", "unknown", "unknown")),
        ({"galera1": {"phantom": 1}, "galera2": "2003"}, {}, ("unknown", "fail", "unknown")),
        ({"galera1": {}, "galera2": {"duplicate": 1}}, {}, ("pass", "pass", "fail")),
    ],
)
def test_verdicts(
    servers: dict[str, Any], behind: dict[str, str], expected: tuple[str, ...]
) -> None:
    found = verdicts(answer(**servers), "galera1", behind)
    assert tuple(each.verdict for each in found) == expected
    assert [each.name for each in found] == [*Writers(ledger=True).verdicts_of_ledger]


def test_an_empty_ledger_proves_nothing() -> None:
    found = verdicts({**answer(galera1={}), "acked": 0}, "galera1", {})
    assert {each.verdict for each in found} == {"unknown"}


def test_a_writer_that_takes_no_write_leaves_its_readers_behind() -> None:
    stack = FakeStack(fail_sql={"REPLACE INTO sandbox_watermark": (1290, "read only")})
    session = session_of(stack)
    assert [*caught_up(session, session.servers)] == ["mysql1", "replica1"]


# This side.


def test_its_entries_are_every_server_or_every_proxy_of_the_kind() -> None:
    direct = FakeStack(members=[*GALERA, CLIENT])
    at_second = EntryPoint("galera2", "galera2", 3306, 1, "galera2")
    names = [each["name"] for each in entries_of(session_of(direct, entry=at_second))]
    assert names == ["galera2", "galera1", "galera3"]
    proxies = [
        server(name, "proxy", component=component, family=None, topology=None, port=3307)
        for name, component in (
            ("haproxy1", "haproxy"), ("haproxy2", "haproxy"), ("checker1", "checker"),
        )
    ]  # fmt: skip
    behind = FakeStack(members=[*GALERA, *proxies, CLIENT])
    at_proxy = EntryPoint("haproxy1", "haproxy1", 3306, 1, "haproxy1:rw")
    found = entries_of(session_of(behind, entry=at_proxy))
    assert [(each["name"], each["port"]) for each in found] == [
        ("haproxy1", 3306), ("haproxy2", 3306),
    ]  # fmt: skip


class LedgerStack(FakeStack):
    """Answers the program that compares."""

    def run(self, node: str, argv: Any, stdin: Any = None, timeout_s: float = 60.0) -> ExecResult:
        if argv[1].endswith("in_client_ledger.py"):
            self.ran.append([*argv])
            return ExecResult(0, json.dumps(answer(mysql1={}, replica1={})), "")
        return super().run(node, argv, stdin, timeout_s)


def test_a_prepared_ledger_is_empty_and_is_compared_on_request(tmp_path: Path) -> None:
    stack = LedgerStack()
    session = session_of(stack, parameters=make_parameters(threads=3))
    load = Writers(ledger=True)
    made = load.prepare(session, tmp_path / "prepare.log")
    assert made and made.tables == 3 and ["rm", "-rf", LEDGER] in stack.ran
    created = [text for _, text in stack.asked if text.startswith("CREATE TABLE `writers_")]
    assert [text.split("`")[1] for text in created] == ["writers_1", "writers_2", "writers_3"]
    assert {each.verdict for each in load.judge_ledger(session)} == {"pass"}
    asked = json.loads(stack.ran[-1][2])
    assert [each["name"] for each in asked["servers"]] == ["mysql1", "replica1"]
    assert asked["tables"] == ["writers_1", "writers_2", "writers_3"]
    plain = replace(session)
    assert Writers().judge_ledger(plain) == () and Writers(table="shared").tables(3) == [
        "writers_all"
    ]


def test_it_may_be_the_load_of_a_trial() -> None:
    refuse_as_companion(Writers(), "writers", make_parameters())
    with pytest.raises(SandboxError):
        Writers().with_options({"table": "mine"})
