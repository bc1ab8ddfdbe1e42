"""SQL asked from the client node: what goes in, what comes out, what a failure looks like."""

import json
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import pymysql
import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.stack.client_python import Target, ask, targets_of
from sandbox.stack.in_client import sql
from sandbox.stack.protocol import ExecResult
from unit.fake_stack import CLIENT, FakeStack, server


def test_servers_are_asked_as_root_and_an_external_one_as_the_application() -> None:
    targets = targets_of([server("mysql1"), server("db", "external", has_container=False), CLIENT])
    assert [(target.name, target.account) for target in targets] == [
        ("mysql1", "root"),
        ("db", "app"),
    ]


def test_a_server_that_fails_is_an_answer() -> None:
    stack = FakeStack(dead={"replica1": "exited (137)"})
    targets = targets_of(stack.nodes())
    answers = ask(stack, "client1", targets, ["SELECT @@version", "SHOW GLOBAL STATUS"])
    assert answers["mysql1"].error is None and len(answers["mysql1"].results) == 2
    assert answers["replica1"].error_code == 2003 and answers["replica1"].rows(1) == ()


class BrokenClient(FakeStack):
    """A client node without Python."""

    def run(
        self, node: str, argv: Sequence[str], stdin: str | None = None, timeout_s: float = 60.0
    ) -> ExecResult:
        return ExecResult(127, "", "sh: python3: not found\n")


def test_a_client_that_fails_is_an_error_of_the_environment() -> None:
    with pytest.raises(SandboxError) as caught:
        ask(BrokenClient(), "client1", [Target("mysql1", "mysql1", 3306, "root")], ["SELECT 1"])
    assert caught.value.exit_code is ExitCode.ENVIRONMENT
    assert caught.value.known == "sh: python3: not found"


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (b"0.1", "0.1"),
        (Decimal("12"), 12),
        (Decimal("1.5"), 1.5),
        (None, None),
        (7, 7),
        (datetime(2025, 1, 31, 23, 59, 59), "2025-01-31 23:59:59"),
    ],
)
def test_cells_become_what_json_can_carry(cell: Any, shown: Any) -> None:
    assert sql.readable(cell) == shown
    json.dumps(sql.readable(cell))


def test_a_server_that_cannot_be_reached_gives_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**given: Any) -> None:
        raise pymysql.err.OperationalError(2003, "Can't connect")

    monkeypatch.setattr(pymysql, "connect", refuse)
    target = {"name": "a", "host": "a", "port": 1, "schema": None, "account": "none"}
    answer = sql.ask(target, [("SELECT 1", None)], 1.0)
    assert answer == {
        "results": [],
        "error": 'OperationalError(2003, "Can\'t connect")',
        "error_code": 2003,
    }
