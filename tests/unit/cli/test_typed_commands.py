"""What is typed by its place: profiles, matrices, results, nodes; options say the same."""

import json
from collections.abc import Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from sandbox.cli.commands import exec as exec_command
from sandbox.cli.commands import sql
from sandbox.cli.common.options import either
from sandbox.cli.main import app
from sandbox.core.errors import ExitCode, SandboxError


class Handed:
    """A stack with two servers that remembers what its terminal was handed to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.argv: list[Sequence[str]] = []
        self.fed: list[bytes | None] = []
        self.docker = SimpleNamespace(hand_over=self._hand_over)
        self.client = SimpleNamespace(id="client", about={"sql_client": "mariadb"})
        self.members = [
            SimpleNamespace(node=node, kind="database", is_server=True, running=True, id=node)
            for node in ("mysql1", "mysql2")
        ]
        monkeypatch.setattr(sql, "read_stack", lambda *_: nullcontext(self))
        for module in (sql, exec_command):
            monkeypatch.setattr(module, "quiet_stack", lambda *_: self)
            monkeypatch.setattr(module, "ProgressDisplay", lambda _: nullcontext(lambda _: None))

    def _hand_over(self, *argv: str, feed: Any = None) -> int:
        self.argv.append(argv)
        self.fed.append(feed() if callable(feed) else feed)
        return 3 if "mysql1" in argv else 0

    def entry_point(self, via: str | None, roles: Any = None) -> Any:
        """Where a word leads."""
        return SimpleNamespace(
            node=via or "mysql1", via="writer", host=via or "mysql1", port=3306, user="sbtest"
        )

    def container(self, node: str) -> Any:
        """The container of a node."""
        return next(each for each in self.members if each.node == node)


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> Handed:
    return Handed(monkeypatch)


def run(*words: str) -> int:
    """The exit code of a command line."""
    ended = CliRunner().invoke(app, list(words), standalone_mode=False)
    if isinstance(ended.exception, SandboxError):
        raise ended.exception
    return int(ended.return_value or 0)


def test_statements_run_where_they_are_meant_to(handed: Handed) -> None:
    assert run("sql", "-e", "select 1", "--node", "mysql2") == 0
    assert handed.fed == [b"select 1\n"] and "mysql2" in handed.argv[-1]
    assert run("sql", "--all", "-e", "select 1") == 3, "the first code that is not 0"
    assert [argv[argv.index("-h") + 1] for argv in handed.argv[1:]] == ["mysql1", "mysql2"]


def test_a_command_runs_in_a_node_with_its_own_options(handed: Handed) -> None:
    assert run("exec", "mysql2", "--", "ls", "-l") == 0
    assert handed.argv[-1][-3:] == ("mysql2", "ls", "-l")
    run("exec", "--node", "mysql2", "--run", "cat 'a b'")
    assert handed.argv[-1][-3:] == ("mysql2", "cat", "a b")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("exec",), "no NODE was given"),
        (("exec", "mysql1"), "no command was given"),
        (("exec", "mysql1", "--run", "'"), "RUN=' cannot be read"),
        (("sql", "--all"), "--all needs statements"),
        (("sql", "--format", "xml"), "FORMAT=xml is no layout"),
        (("sql", "--format", "csv", "--force"), "FORMAT=csv and FORCE=1 exclude each other"),
        (("sql", "--format", "json", "-E"), "FORMAT=json and VERTICAL=1 exclude each other"),
        (("logs", "--save", "x", "--tail", "1"), "SAVE=x does not go with TAIL=1"),
        (("plan", "mysql", "--profile", "ps"), "'mysql' and PROFILE=ps contradict each other"),
        (("matrix", "no-such"), "there is no matrix 'no-such'"),
        (("compare", "only-one"), "compare needs B="),
        (("report", "no-such"), "there is no result 'no-such'"),
        (("list",), "no WHAT was given"),
        (("list", "matrixes"), "there is no list of 'matrixes'"),
    ],
)
def test_what_is_missing_or_contradicts_itself_is_refused(
    handed: Handed, words: tuple[str, ...], what: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        run(*words)
    assert refused.value.what == what and refused.value.exit_code is ExitCode.BAD_INPUT
    assert not handed.argv


@pytest.mark.parametrize(
    ("what", "known"),
    [
        ("workloads", "tpcc"),
        ("matrices", "quick"),
        ("settings", "semisync"),
        ("versions", "9.7"),
        ("results", ""),
    ],
)
def test_lists_fit_a_terminal_and_have_a_form_for_programs(what: str, known: str) -> None:
    shown = CliRunner().invoke(app, ["list", what]).stdout
    assert known in shown and all(
        len(line) <= 100 for line in shown.splitlines() if what != "results"
    )
    rows = json.loads(CliRunner().invoke(app, ["list", what, "--json"]).stdout)[what]
    assert isinstance(rows, list) and (
        not known or any(known in map(str, row.values()) for row in rows)
    )


def test_the_same_twice_is_no_contradiction() -> None:
    assert either("mysql", "mysql", "PROFILE") == either(None, "mysql", "PROFILE") == "mysql"
