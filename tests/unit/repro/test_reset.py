"""What a stack that was used needs to be as new; for what a session waits."""

from dataclasses import replace
from typing import Any

import pytest

from sandbox.core.errors import MachineError
from sandbox.measure.counters import ServerState
from sandbox.repro import reset as reset_module
from sandbox.repro.blockers import waited_for
from sandbox.repro.reset import Appearance, changed_variables, look_at, reset
from sandbox.stack.client_python import QueryResult
from unit.fake_stack import FakeStack


def test_only_variables_that_stay_by_themselves_are_compared() -> None:
    before = {"max_connections": "151", "gtid_executed": "a:1", "timestamp": "1", "sql_mode": ""}
    after = {"max_connections": "152", "gtid_executed": "a:2", "timestamp": "2", "sql_mode": ""}
    assert changed_variables(before, after) == {"max_connections": "151"}


def rows(*cells: str | int) -> QueryResult:
    return QueryResult(((tuple(cells),),), None, None) if cells else QueryResult((), None, None)


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        (
            [rows(7, "repro", "t", "PRIMARY", "X"), rows(), rows("updating")],
            "s2 (X of repro.t, PRIMARY)",
        ),
        (
            [rows(9, "`repro`.`t`", "", "PRIMARY", "X"), rows(), rows()],
            "connection 9 (X of repro.t, PRIMARY)",
        ),
        (
            [rows(), rows(7, "repro", "t", "EXCLUSIVE"), rows("x")],
            "s2 (metadata lock EXCLUSIVE of repro.t)",
        ),
        (
            [rows(), rows(), rows("Waiting for table metadata lock")],
            "Waiting for table metadata lock",
        ),
        ([rows(), rows(), rows()], None),
    ],
)
def test_the_first_answer_that_says_something_counts(
    answers: list[QueryResult], text: str | None
) -> None:
    assert waited_for(answers, {7: "s2"}) == text


def appearance(**changed: Any) -> Appearance:
    """What a new stack of two servers looks like."""
    state = ServerState("11.8.3", "/var/lib/mysql/", {"sql_mode": "", "a": "1"}, {}, None)
    things = QueryResult(((("mysql",),), (("root", "%"),), ()), None, None)
    given: dict[str, Any] = {
        "roles": {"mysql1": "writer", "replica1": "reader"},
        "states": {"mysql1": state, "replica1": state},
        "things": {"mysql1": things, "replica1": things},
        "not_ready": {},
    }
    return Appearance(**{**given, **changed})


class Looks:
    """A stack that looks so the first, the second, … time; notes what is set back."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *looks: Appearance | Exception) -> None:
        self.looks = iter(looks)
        self.asked: list[Any] = []
        monkeypatch.setattr(reset_module, "look_at", self._look)
        monkeypatch.setattr(reset_module, "ask", self._ask)
        self.error: str | None = None

    def _look(self, _: object) -> Appearance:
        found = next(self.looks)
        if isinstance(found, Exception):
            raise found
        return found

    def _ask(self, _: object, __: str, targets: Any, statements: Any) -> dict[str, QueryResult]:
        self.asked.append((targets[0].name, list(statements)))
        return {targets[0].name: QueryResult((), self.error, None)}


def changed_state(value: str) -> dict[str, ServerState]:
    states = appearance().states
    return {**states, "mysql1": replace(states["mysql1"], variables={"sql_mode": "", "a": value})}


def test_a_stack_that_looks_as_it_did_is_as_new(monkeypatch: pytest.MonkeyPatch) -> None:
    later = appearance()
    Looks(monkeypatch, later)
    assert reset(FakeStack(), appearance()) is later


@pytest.mark.parametrize(
    "changed",
    [
        {"not_ready": {"haproxy1": "not every server is in place"}},
        {"roles": {"mysql1": "reader", "replica1": "writer"}},
        {"roles": {"mysql1": "writer", "replica1": None}},
        {"states": {"mysql1": appearance().states["mysql1"]}},
        {"things": {**appearance().things, "mysql1": QueryResult((), "gone", 2013)}},
        {"things": {**appearance().things, "replica1": QueryResult(((("x",),),), None, None)}},
    ],
)
def test_whatever_else_it_looks_like_it_is_restored(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any]
) -> None:
    monkeypatch.setattr(reset_module, "_MOMENT_S", 0.0)
    Looks(monkeypatch, appearance(**changed))
    assert reset(FakeStack(), appearance()) is None


def test_a_replica_that_still_applies_the_last_write_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    later = appearance()
    behind = appearance(not_ready={"replica1": "reader, 1 s behind"})
    Looks(monkeypatch, behind, behind, later)
    assert reset(FakeStack(), appearance()) is later


def test_variables_are_set_back_and_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    later = appearance()
    looks = Looks(monkeypatch, appearance(states=changed_state("2")), later)
    assert reset(FakeStack(), appearance()) is later
    assert looks.asked == [("mysql1", [("SET GLOBAL a = %s", (1,))])]


def test_a_variable_that_cannot_be_set_back_is_no_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Looks(monkeypatch, appearance(states=changed_state("2")))
    looks.error = "read only"
    assert reset(FakeStack(), appearance()) is None
    still = appearance(states=changed_state("2"))
    Looks(monkeypatch, still, still)
    assert reset(FakeStack(), appearance()) is None


def test_a_stack_that_does_not_answer_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    Looks(monkeypatch, MachineError("no client", "it has gone", "try: make ps"))
    assert reset(FakeStack(), appearance()) is None
    Looks(monkeypatch, TimeoutError())
    assert reset(FakeStack(), appearance()) is None


def test_a_look_asks_every_node_and_every_server_once() -> None:
    stack = FakeStack()
    stack.answers = {"SELECT user": [["root", "%"]], "SELECT schema_name": [["mysql"]]}
    stack.not_ready = {"replica1": "2 s behind"}
    seen = look_at(stack)
    assert seen.roles == {"mysql1": "writer", "replica1": "reader"}
    assert seen.not_ready == {"replica1": "2 s behind"}
    assert seen.states["mysql1"].variables["innodb_flush_log_at_trx_commit"] == "1"
    assert seen.things["mysql1"].results == ((("mysql",),), (("root", "%"),), ())
    statements = [text for server, text in stack.asked if server == "mysql1"]
    assert len(statements) == len(set(statements)), "no question is asked twice"
