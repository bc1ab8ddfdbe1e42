"""The ledger on the servers: made anew, left alone by abandoned writes, read from every node
whatever became of it.
"""

import json
from collections.abc import Sequence
from typing import Any

import pymysql
import pytest

from sandbox.load.common.workload import Parameters, Session
from sandbox.measure.run import RunEndedError
from sandbox.measure.trial import ledger_on_servers as module
from sandbox.measure.trial.in_client import read_ledger
from sandbox.measure.trial.ledger_on_servers import (
    NodeReading,
    end_abandoned,
    lacking,
    make_ledger,
    newest_operation,
    reachable,
    read_ledgers_of,
    wait_for_readers,
)
from sandbox.stack.protocol import ExecResult, StackNode
from unit.fake_stack import FakeStack, server
from unit.measure.trial.trial_world import FakeControl

SERVERS = [server("mysql1"), server("replica1", "replica")]
UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


class LedgerStack(FakeStack):
    """Its servers have what a test gives them; ``readings``: host → the answer of the client's
    `read_ledger`.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.newest: dict[str, list[Any]] = {"mysql1": [9], "replica1": [9]}
        """The newest op of each server, as it is asked again and again."""
        self.writing: dict[str, list[list[int]]] = {}
        """Sessions of the prober on each server, likewise."""
        self.readings: dict[str, ExecResult | Exception] = {}
        self.requests: list[dict[str, Any]] = []

    def ask_session(
        self, node: str, argv: Sequence[str], line: str, timeout_s: float = 60.0
    ) -> ExecResult:
        request = json.loads(line)
        if "family" not in request:
            return super().ask_session(node, argv, line, timeout_s)
        self.requests.append(request)
        answer = self.readings.get(
            request["host"], ExecResult(0, json.dumps({"gtid": "x", "rows": 1}), "")
        )
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _rows(self, name: str, text: str, values: list[Any] | None) -> list[list[Any]]:
        if text.startswith("SELECT MAX(op_id)"):
            return [[_next(self.newest[name])]]
        if "processlist" in text:
            return [[session] for session in _next(self.writing.get(name, [[]]))]
        return super()._rows(name, text, values)


def _next(answers: list[Any]) -> Any:
    return answers.pop(0) if len(answers) > 1 else answers[0]


class Clock:
    """Stands for the module `time`."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def session_of(stack: FakeStack) -> Session:
    return Session(
        stack, "client1", stack.entry, stack.entry, SERVERS, Parameters(), 7, lambda _: None
    )


def test_the_table_is_made_anew() -> None:
    stack = LedgerStack()
    make_ledger(session_of(stack), "sandbox")
    (_, dropped), (node, created) = stack.asked
    assert dropped == "DROP TABLE IF EXISTS `sandbox`.ledger" and node == "mysql1"
    assert created.startswith(
        "CREATE TABLE `sandbox`.ledger (id BIGINT AUTO_INCREMENT PRIMARY KEY, op_id BIGINT"
    )
    assert "KEY (op_id)) ENGINE=InnoDB" in created and "UNIQUE" not in created


def test_a_writer_that_refuses_it_ends_the_run() -> None:
    stack = LedgerStack(fail_sql={"CREATE TABLE": (1044, "Access denied")})
    with pytest.raises(RunEndedError) as ended:
        make_ledger(session_of(stack), "sandbox")
    assert (ended.value.status, ended.value.reason) == (
        "infra_error",
        "the ledger could not be made: Access denied",
    )


def test_servers_are_asked_at_their_addresses() -> None:
    stack = LedgerStack(
        controls={
            "mysql1": FakeControl("mysql1", "172.18.0.2"),
            "replica1": FakeControl("replica1", None, "exited (1)"),
        }
    )
    outside = server("external1", "external", has_container=False, host="db.example.com")
    there, others = reachable(stack, [*SERVERS, outside])
    assert [(node.name, node.host) for node in there] == [
        ("mysql1", "172.18.0.2"),
        ("external1", "db.example.com"),
    ]
    assert others == {"replica1": "its container is exited (1), without an address"}


def test_writes_that_end_by_themselves_are_not_killed(clock: Clock) -> None:
    stack = LedgerStack()
    stack.writing = {"mysql1": [[7, 8], [8], []]}
    assert end_abandoned(session_of(stack), SERVERS) == 0
    assert not [text for _, text in stack.asked if text.startswith("KILL")]
    assert clock.now == pytest.approx(100.4)


def test_writes_that_do_not_end_are_killed_where_they_run(clock: Clock) -> None:
    stack = LedgerStack()
    stack.writing = {"replica1": [[7, 8]]}
    assert end_abandoned(session_of(stack), SERVERS) == 2
    assert [each for each in stack.asked if each[1].startswith("KILL")] == [
        ("replica1", "KILL 7"),
        ("replica1", "KILL 8"),
    ]
    assert clock.now <= 100 + module._ABANDONED_LIMIT_S + 1


def test_a_commit_of_the_probe_is_a_write_and_that_of_a_load_is_none(clock: Clock) -> None:
    """A load has another schema."""
    stack = LedgerStack()
    end_abandoned(session_of(stack), SERVERS)
    (asked,) = {text for _, text in stack.asked if "processlist" in text}
    assert "OR (db = %s AND info = 'COMMIT')" in asked


def test_a_server_that_does_not_answer_has_no_write_to_end() -> None:
    stack = LedgerStack(dead={"mysql1": "exited (137)"})
    assert end_abandoned(session_of(stack), SERVERS) == 0


def test_readers_that_catch_up_are_waited_for(clock: Clock) -> None:
    stack = LedgerStack()
    stack.newest["replica1"] = [None, 8, 9]
    assert wait_for_readers(session_of(stack), SERVERS) == {}
    assert clock.now == pytest.approx(100.4)


def test_the_newest_of_all_is_what_each_must_have() -> None:
    stack = LedgerStack()
    stack.newest["replica1"] = [None]
    assert newest_operation(session_of(stack), SERVERS) == 9
    stack.newest["replica1"] = [8, 9, 10]
    assert [lacking(session_of(stack), SERVERS, 9) for _ in range(3)] == [["replica1"], [], []]
    silent = LedgerStack(dead={"replica1": "exited (137)"})
    assert lacking(session_of(silent), SERVERS, 0) == ["replica1"], "nothing is known of it"


def test_readers_that_do_not_catch_up_are_named(clock: Clock) -> None:
    stack = LedgerStack()
    stack.newest["replica1"] = [8]
    assert wait_for_readers(session_of(stack), SERVERS) == {
        "replica1": "its newest row is 8, not 9"
    }
    assert clock.now > 100 + module._CAUGHT_UP_LIMIT_S


@pytest.mark.parametrize("dead", ["mysql1", "replica1"])
def test_a_node_that_does_not_answer_raises_nothing(dead: str) -> None:
    stack = LedgerStack(dead={dead: "exited (137)"})
    behind = wait_for_readers(session_of(stack), SERVERS)
    assert behind[dead] == "cannot connect"


def test_every_node_is_read_and_the_writer_last() -> None:
    stack = LedgerStack()
    rows = {
        "hosts": {"mysql1": ["1-3"]},
        "more_than_once": {},
        "gtid": f"{UUID}:1-3",
        "rows": 3,
        "error": None,
    }
    stack.readings = {
        "mysql1": ExecResult(0, json.dumps(rows), ""),
        "replica1": ExecResult(
            0, json.dumps({**rows, "gtid": None, "rows": None, "error": "Error(1146)"}), ""
        ),
    }
    found = read_ledgers_of(session_of(stack), "sandbox", SERVERS)
    assert found == {
        "mysql1": NodeReading(rows, f"{UUID}:1-3"),
        "replica1": NodeReading(None, None, "Error(1146)"),
    }
    assert [request["host"] for request in stack.requests] == ["replica1", "mysql1"]
    assert stack.requests[1] == {
        "host": "mysql1",
        "port": 3306,
        "user_file": "/sandbox/root.cnf",
        "schema": "sandbox",
        "table": "ledger",
        "family": "mysql",
        "timeout_s": module._READ_S,
    }


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (TimeoutError("no answer within 300 s"), "no answer within 300 s"),
        (ExecResult(1, "", "Traceback\nKeyError: 'host'"), "KeyError: 'host'"),
        (ExecResult(1, "", ""), "no answer"),
    ],
)
def test_a_node_that_cannot_be_read_says_why(answer: ExecResult | Exception, problem: str) -> None:
    stack = LedgerStack()
    stack.readings = {"replica1": answer}
    found = read_ledgers_of(session_of(stack), "sandbox", SERVERS)
    assert found["replica1"] == NodeReading(None, None, problem) and found["mysql1"].problem is None


def test_the_request_is_what_the_client_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    stack, given = LedgerStack(), dict[str, Any]()
    outside = server(
        "external1", "external", has_container=False, host="db.example.com", family=None
    )
    read_ledgers_of(session_of(stack), "app", [outside])

    def connect(**options: Any) -> None:
        given.update(options)
        raise pymysql.err.OperationalError(2003, "Can't connect")

    monkeypatch.setattr(pymysql, "connect", connect)
    (request,) = stack.requests
    answer = read_ledger.answer(request)
    assert (
        answer["rows"] is None
        and "2003" in answer["error"]
        and request["family"] in read_ledger.GTID
    )
    assert (given["host"], given["database"], given["connect_timeout"]) == (
        "db.example.com",
        "app",
        module._READ_S,
    )
    assert given["read_default_file"] == "/sandbox/app.cnf"


def test_a_server_without_a_port_is_not_read() -> None:
    hidden: StackNode = server("hidden1", port=None)
    assert read_ledgers_of(session_of(LedgerStack()), "sandbox", [hidden]) == {}
