"""The program that holds the sessions of a repro: each in a thread, in order, with every answer."""

import io
import json
import queue
import socket
import sys
from collections.abc import Iterator
from typing import Any

import pymysql
import pytest

from sandbox.repro.in_client import sessions


class FakeCursor:
    """Answers `execute` by what the test says; a result set is columns and rows."""

    def __init__(self, connection: "FakeConnection") -> None:
        self._connection = connection
        self._sets: list[tuple[list[str], list[tuple[Any, ...]]]] = []
        self.rowcount = -1

    def __enter__(self) -> "FakeCursor":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def description(self) -> list[tuple[str]] | None:
        return [(name,) for name in self._sets[0][0]] if self._sets and self._sets[0][0] else None

    def execute(self, sql: str) -> None:
        self._connection.executed.append(sql)
        found = self._connection.answers.get(sql, [([], [])])
        if isinstance(found, Exception):
            raise found
        self._sets = list(found)
        self.rowcount = 3

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._sets[0][1]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._sets[0][1])

    def nextset(self) -> bool:
        self._sets.pop(0)
        return bool(self._sets)


class FakeConnection:
    """A connection; `answers`: SQL → result sets, or an error."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.executed: list[str] = []
        self.cut = False
        self._sock, self.server = socket.socketpair()

    def cursor(self) -> FakeCursor:
        return FakeCursor(self)

    def thread_id(self) -> int:
        return 42

    def _force_close(self) -> None:
        self.cut = True


class Rig:
    """A session, and what it says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answers: dict[str, Any]) -> None:
        self.connections: list[FakeConnection] = []
        self.asked: list[dict[str, Any]] = []
        self._said: queue.Queue[dict[str, Any]] = queue.Queue()

        def connect(**given: Any) -> FakeConnection:
            self.asked.append(given)
            self.connections.append(FakeConnection(answers))
            return self.connections[-1]

        monkeypatch.setattr(pymysql, "connect", connect)
        request = {"host": "mysql1", "port": 3306, "account": "root", "schema": "repro"}
        self.session = sessions.HeldSession(request, lambda **answer: self._said.put(answer))

    def run(self, *sql: str, warnings: bool = False) -> dict[str, Any]:
        """The last answer to some statements."""
        self.session.add({"run": 1, "sql": list(sql), "warnings": warnings})
        return self.answer()

    def answer(self) -> dict[str, Any]:
        """What comes of the statements that were added last."""
        while "done" not in (answer := self._said.get(timeout=10)):
            assert answer["connection"] == 42
        return answer


def test_every_cell_comes_as_the_server_sends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("1", None, b"text", b"\xff\x00")]
    rig = Rig(monkeypatch, {"select x": [(["a", "b", "c", "d"], rows)]})
    answer = rig.run("select x")
    assert answer["rows"] == [[["1", None, "text", "0xff00"]]]
    assert answer["columns"] == [["a", "b", "c", "d"]] and answer["error"] is None
    assert rig.asked[0]["conv"] == {} and rig.asked[0]["autocommit"] is None


def test_several_result_sets_and_a_count_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch, {"call p": [(["a"], [("1",)]), (["a"], [("2",)]), ([], [])]})
    answer = rig.run("call p")
    assert answer["rows"] == [[["1"]], [["2"]]] and answer["affected"] == 3


def test_an_error_has_its_code_and_text_and_ends_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = pymysql.err.OperationalError(1205, "Lock wait timeout exceeded")
    rig = Rig(monkeypatch, {"update t": wrong})
    answer = rig.run("update t", "select 1")
    assert answer["error"] == {"code": 1205, "text": "Lock wait timeout exceeded"}
    assert rig.connections[0].executed == ["update t"]


def test_a_lost_connection_is_made_anew_and_any_other_one_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lost = pymysql.err.OperationalError(2013, "Lost connection")
    refused = pymysql.err.ProgrammingError(1064, "syntax")
    rig = Rig(monkeypatch, {"kill me": lost, "selct": refused})
    rig.run("selct")
    rig.run("kill me")
    assert len(rig.connections) == 1
    rig.run("select 1")
    assert len(rig.connections) == 2


def test_a_server_that_refuses_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch, {})

    def refuse(**_: Any) -> None:
        raise pymysql.err.OperationalError(2003, "Can't connect")

    monkeypatch.setattr(pymysql, "connect", refuse)
    assert rig.run("select 1")["error"]["code"] == 2003


def test_warnings_are_asked_for_only_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    warned = [(["Level", "Code", "Message"], [("Warning", "1287", "deprecated")])]
    rig = Rig(monkeypatch, {"SHOW WARNINGS": warned})
    assert rig.run("set a")["warnings"] == []
    assert rig.run("set a", warnings=True)["warnings"] == [["Warning", "1287", "deprecated"]]
    assert rig.connections[0].executed == ["set a", "set a", "SHOW WARNINGS"]


def test_a_long_result_says_how_much_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_ROWS", 2)
    rows = [(str(number),) for number in range(5)]
    rig = Rig(monkeypatch, {"select x": [(["a"], rows)]})
    answer = rig.run("select x")
    assert (answer["rows"], answer["left_out"]) == ([[["0"], ["1"]]], 3)


def test_a_closed_session_cuts_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch, {})
    rig.run("select 1")
    rig.session.close()
    assert rig.connections[0].cut


def test_a_cut_session_says_nothing_and_connects_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch, {})
    rig.run("select 1")
    rig.session.cut()
    assert rig.connections[0].server.recv(10) == b""
    rig.run("select 2")
    assert rig.connections[0].cut and rig.connections[1].executed == ["select 2"]


def half_of(rig: Rig, sql: str) -> bytes:
    """What the server receives of half a statement."""
    rig.run("select 1")
    rig.session.add({"run": 2, "sql": [sql], "warnings": False, "half": True})
    return rig.connections[0].server.recv(100)


def test_half_of_a_statement_has_the_header_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch, {})
    assert half_of(rig, "select 2") == b"\x09\0\0\0\x03s"
    rig.session.cut()
    assert rig.answer()["error"]["code"] == 2013


def test_a_server_that_gives_up_on_half_a_statement_may_say_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig(monkeypatch, {})
    half_of(rig, "select 2")
    rig.connections[0].server.sendall(b"\x0d\0\0\1\xff\x87\x04#08S01late")
    rig.connections[0].server.close()
    assert rig.answer()["error"] == {"code": 1159, "text": "#08S01late"}


def test_requests_are_lines_of_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    requests = [
        {"clock": 5},
        {"open": "s1", "host": "h", "port": 1, "account": "root", "schema": "repro"},
        {"close": "s1"},
        {"close": "s9"},
    ]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(map(json.dumps, requests))))
    sessions.main()
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [next(iter(each)) for each in said] == ["clock", "closed", "closed"]
    assert said[0]["clock"] == 5 and said[0]["us"] >= 0
