"""A transaction whose row another session changes: what each outcome means."""

from collections.abc import Sequence
from typing import Any

import pytest

from sandbox.repro.sessions import Sent
from sandbox.upgrade.transactions import ReadThenWrite, read_then_writes
from sandbox.upgrade.two_sessions import TwoSessions, probed_transaction
from unit.fake_stack import server
from unit.upgrade.logged import logged

READ = "select copies from book where id = 1"
WRITE = "update book set copies = copies - 1\nwhere id = 1"
NODE = server("mariadb2")


class Scripted:
    """Sessions that answer what a test gives, by (session, statement)."""

    def __init__(self, **answers: dict[str, Any]) -> None:
        self.answers = {("first", WRITE): answers.get("tried", {}),
                        ("second", WRITE): {"affected": 1, **answers.get("other", {})},
                        ("first", READ): answers.get("read", {})}  # fmt: skip
        self.ran: list[tuple[str, str]] = []
        self.opened: list[tuple[str, str]] = []
        self.closed = 0

    def open(self, session: str, host: str, port: int, account: str, schema: str) -> None:
        assert (host, port, account) == ("mariadb2", 3306, "root")
        self.opened.append((session, schema))

    def send(self, session: str, sql: Sequence[str]) -> Sent:
        (statement,) = sql
        self.ran.append((session, statement))
        given = self.answers.get((session, statement), {})
        return Sent(session, began_us=0, ended_us=1000, **given)

    def wait(self, sent: Sent, limit_s: float) -> bool:
        return sent.ended_us is not None

    def close_all(self) -> None:
        self.closed += 1


def tried() -> ReadThenWrite:
    (found,) = read_then_writes(logged("set names utf8mb4", "begin", READ, WRITE, "commit"))
    return found


def probe(sessions: Scripted) -> tuple[bool | None, str]:
    return TwoSessions(sessions, "ours").probe(NODE, tried())  # type: ignore[arg-type]


def test_the_other_session_changes_the_row_between_the_read_and_the_write() -> None:
    sessions = Scripted()
    assert probe(sessions) == (False, "no error")
    assert sessions.opened == [("first", "library"), ("second", "library")]
    assert sessions.ran == [
        ("first", "set names utf8mb4"),
        ("first", "begin"),
        ("first", READ),
        ("second", "SET SESSION innodb_lock_wait_timeout = 2"),
        ("second", WRITE),
        ("first", WRITE),
        ("first", "ROLLBACK"),
    ]
    assert sessions.closed == 1


@pytest.mark.parametrize(
    ("answers", "fails", "said"),
    [
        (
            {"tried": {"error_code": 1020, "error": "Record has changed"}},
            True,
            "error 1020: Record",
        ),
        ({"tried": {"error_code": 1213, "error": "Deadlock"}}, False, "error 1213: Deadlock"),
        ({"other": {"affected": 0}}, None, "the other session finds no row to change"),
        ({"other": {"error_code": 1205, "error": "wait"}}, None, "the other session cannot change"),
        ({"read": {"error_code": 1146, "error": "no table"}}, None, "cannot begin: error 1146"),
    ],
)
def test_outcomes(answers: dict[str, Any], fails: bool | None, said: str) -> None:
    found, seen = probe(Scripted(**answers))
    assert found is fails and seen.startswith(said)


def test_the_record_has_each_statement_on_one_line() -> None:
    found = probed_transaction(tried(), (False, "no error"), (True, "error 1020: changed"))
    assert found.statements == ["begin", READ, WRITE.replace("\n", " ")]
    assert (found.other, found.fails_on_to) == (WRITE.replace("\n", " "), True)


def test_times_are_of_both_servers_alternately() -> None:
    sessions = Scripted()
    two = TwoSessions(sessions, "ours")  # type: ignore[arg-type]
    assert two.fastest_ms(NODE, NODE, "select 1", None) == (1.0, 1.0)
    assert sessions.opened == [("old", "ours"), ("new", "ours")]
    assert [session for session, _ in sessions.ran[:4]] == ["old", "new", "old", "new"]
