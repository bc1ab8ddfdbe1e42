"""The script that stops and starts appliers as it runs in the client node: each server's words, no
applier stopped.
"""

import io
import json
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pymysql
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.load.replica_catch_up import in_client_applier as applier

MYSQL, OLD_MYSQL, MARIADB = "9.7.0", "5.6.51-log", "11.8.2-MariaDB-log"


class FakeServer:
    """A replica that notes what it is asked, and answers what a test gives it by the beginning of a
    statement.
    """

    def __init__(self, version: str, answers: Mapping[str, list[Any]] | None = None) -> None:
        self.asked: list[str] = []
        self._answers = {
            "SELECT VERSION()": [version],
            **{start: list(v) for start, v in (answers or {}).items()},
        }
        self._row: Any = None

    def cursor(self) -> "FakeServer":
        return self

    def __enter__(self) -> "FakeServer":
        return self

    def __exit__(self, *_: object) -> None: ...

    def execute(self, statement: str, values: Any = None) -> None:
        self.asked.append(statement)
        found = next(
            (left for start, left in self._answers.items() if statement.startswith(start)), [None]
        )
        answer = found.pop(0) if len(found) > 1 else found[0]
        if isinstance(answer, Exception):
            raise answer
        self._row = answer if isinstance(answer, dict) or answer is None else {"x": answer}

    def fetchone(self) -> Any:
        return self._row

    def said(self, word: str) -> int:
        """How many statements had it."""
        return sum(word in statement for statement in self.asked)


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeServer]:
    """Makes a server that every connection reaches."""

    def make(version: str, answers: Mapping[str, list[Any]] | None = None) -> FakeServer:
        made = FakeServer(version, answers)
        monkeypatch.setattr(pymysql, "connect", lambda **given: made)
        return made

    return make


TARGET = {"name": "replica1", "host": "replica1", "port": 3306, "credentials": "/none"}


def run(commands: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: Any) -> list[Any]:
    """The whole script with these commands; its answers."""
    monkeypatch.setattr(sys, "argv", ["-", json.dumps([TARGET])])
    monkeypatch.setattr(
        sys, "stdin", io.StringIO("".join(json.dumps(each) + "\n" for each in commands))
    )
    monkeypatch.setattr(applier, "LOOK_S", 0)
    applier.main()
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (
            MYSQL,
            ["STOP REPLICA SQL_THREAD", "START REPLICA SQL_THREAD", "WAIT_FOR_EXECUTED_GTID_SET"],
        ),
        (
            "8.0.21",
            ["STOP SLAVE SQL_THREAD", "START SLAVE SQL_THREAD", "WAIT_FOR_EXECUTED_GTID_SET"],
        ),
        (
            OLD_MYSQL,
            [
                "STOP SLAVE SQL_THREAD",
                "START SLAVE SQL_THREAD",
                "WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS",
            ],
        ),
        (MARIADB, ["STOP SLAVE SQL_THREAD", "START SLAVE SQL_THREAD", "MASTER_GTID_WAIT"]),
    ],
)
def test_each_server_has_its_words(
    version: str, words: list[str], connected: Callable[..., FakeServer]
) -> None:
    server = connected(version, {"SELECT W": [1], "SELECT M": [1]})
    replica = applier.ReplicaApplier(TARGET)
    replica.stop()
    replica.start()
    assert replica.has_applied("0-1-7")
    assert [server.said(word) for word in words] == [1, 1, 1]


def held_script() -> list[Any]:
    """The commands of a measurement."""
    return [{"held": "0-1-7", "limit_s": 60}, {"limit_s": 60}]


def test_it_stops_waits_starts_and_times(
    connected: Callable[..., FakeServer],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    positions = [{"Gtid_IO_Pos": "0-1-6"}, {"Gtid_IO_Pos": "0-1-7"}, {"Slave_SQL_Running": "Yes"}]
    server = connected(MARIADB, {"SHOW SLAVE STATUS": positions, "SELECT MASTER": [0, 1]})
    monkeypatch.setattr(applier, "CommandLines", lambda: Scripted(held_script()))
    *steps, waiting, last = run([], monkeypatch, capsys)
    assert steps == [{"stopped": True}, {"received": True}]
    assert waiting["node"] == "replica1" and waiting["still_s"] >= 0
    assert last["node"] == "replica1" and last["caught_up_s"] >= 0
    assert server.asked[-1] == "START SLAVE SQL_THREAD"


class Scripted:
    """Commands that are there already, and an input that stays open."""

    def __init__(self, commands: list[Any]) -> None:
        self.ended = threading.Event()
        self._left = commands

    def next(self) -> Any:
        return self._left.pop(0)


def test_an_input_that_ends_at_once_lets_the_applier_run_again(
    connected: Callable[..., FakeServer],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = connected(MYSQL)
    assert run([], monkeypatch, capsys) == [{"stopped": True}]
    assert server.asked[-2:] == ["STOP REPLICA SQL_THREAD", "START REPLICA SQL_THREAD"]


def test_an_applier_that_has_ended_is_an_error_with_its_reason(
    connected: Callable[..., FakeServer],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = {"Replica_SQL_Running": "No", "Last_SQL_Error": "error 1062", "Retrieved_Gtid_Set": ""}
    server = connected(
        MYSQL, {"SHOW REPLICA STATUS": [status], "SELECT GTID_SUBSET": [1], "SELECT WAIT": [0]}
    )
    answers = run(held_script(), monkeypatch, capsys)
    assert answers[-1] == {"error": "replica1: its applier has ended: error 1062"}
    assert server.asked[-1] == "START REPLICA SQL_THREAD"


def test_transactions_that_never_arrive_are_an_error(
    connected: Callable[..., FakeServer],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    connected(MARIADB, {"SHOW SLAVE STATUS": [{"Gtid_IO_Pos": ""}]})
    monkeypatch.setattr(
        applier, "CommandLines", lambda: Scripted([{"held": "0-1-7", "limit_s": 0}])
    )
    assert run([], monkeypatch, capsys)[-1] == {
        "error": "replica1: the relay log lacks transactions after 0 s"
    }


@given(st.dictionaries(st.integers(0, 5), st.integers(1, 99), min_size=1), st.integers(0, 5))
def test_a_position_covers_itself_and_what_is_behind_it_in_each_domain(
    far: dict[int, int], domain: int
) -> None:
    def text(position: dict[int, int]) -> str:
        return ",".join(f"{each}-1-{number}" for each, number in position.items())

    assert applier.covers(text(far), text(far)) and applier.covers(text(far), "")
    assert not applier.covers(text(far), text({**far, domain: far.get(domain, 0) + 1}))
