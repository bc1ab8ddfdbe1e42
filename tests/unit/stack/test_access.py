"""The ways in: SQL client, shell, logs."""

import sys

import pytest

from sandbox.errors import ExitCode, SandboxError
from sandbox.stack.access import logs, shell, sql
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import Events, running_stack


@pytest.fixture
def docker() -> FakeDocker:
    """An engine whose servers all write."""
    fake = FakeDocker()
    fake.on("sh /sandbox/probe role", answer("writer\n"))
    return fake


class Terminal:
    """Standard input that is, or is not, a terminal."""

    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal

    def isatty(self) -> bool:
        """As a test asks."""
        return self._terminal


@pytest.mark.parametrize(("terminal", "option"), [(True, "-it"), (False, "-i")])
def test_sql_takes_the_terminal_or_reads_its_input(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch, terminal: bool, option: str
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(terminal))
    sql(running_stack(docker, "mysql+replica1"), "replica1", Events())
    command = docker.calls[-1]
    assert command[:2] == ("exec", option)
    assert command[3:] == ("mysql", "--defaults-file=/sandbox/root.cnf", "-h", "replica1", "-P", "3306")


def test_sql_through_a_proxy_is_the_applications_user(docker: FakeDocker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(False))
    sql(running_stack(docker, "mysql+balancer"), None, Events())
    assert "--defaults-file=/sandbox/app.cnf" in docker.calls[-1]
    assert docker.calls[-1][-3:] == ("balancer1", "-P", "3306")


def test_sql_hands_on_the_clients_exit_code(docker: FakeDocker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(False))
    docker.on("^exec -i ", answer(code=1))
    assert sql(running_stack(docker, "mysql"), None, Events()) == 1


def test_a_shell_needs_a_node_that_runs(docker: FakeDocker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(False))
    stack = running_stack(docker, "mysql")
    shell(stack, "mysql1")
    assert docker.calls[-1][:4] == ("exec", "-i", "--user", "0")
    docker.state("mysql1", "exited")
    with pytest.raises(SandboxError) as stopped:
        shell(stack.refreshed(), "mysql1")
    assert stopped.value.exit_code == ExitCode.ENVIRONMENT


def test_logs_of_several_nodes_come_in_the_order_of_time(
    docker: FakeDocker, capsys: pytest.CaptureFixture[str]
) -> None:
    docker.on("^logs .*mysql1", answer("2026-01-01T00:00:01Z one\n2026-01-01T00:00:03Z three\n"))
    docker.on("^logs .*replica1", answer("2026-01-01T00:00:02Z two\n"))
    docker.on("^logs .*client1", answer(""))
    assert logs(running_stack(docker, "mysql+replica1"), None, follow=False) == ExitCode.OK
    assert capsys.readouterr().out.splitlines() == ["mysql1 | one", "replica1 | two", "mysql1 | three"]


def test_the_log_of_one_node_is_its_own_lines(docker: FakeDocker, capsys: pytest.CaptureFixture[str]) -> None:
    docker.on("^logs", answer("2026-01-01T00:00:01Z one | two\n"))
    logs(running_stack(docker, "mysql"), "mysql1", follow=True)
    assert capsys.readouterr() == ("one | two\n", "")
    assert "--follow" in docker.calls[-1]


def test_followed_logs_all_arrive(docker: FakeDocker, capsys: pytest.CaptureFixture[str]) -> None:
    docker.on("^logs", lambda argv: answer(f"t {argv[-1][-6:]}\n"))
    logs(running_stack(docker, "mysql+replica1"), None, follow=True)
    assert sorted(capsys.readouterr().out.splitlines()) == ["client1 | lient1", "mysql1 | mysql1", "replica1 | plica1"]
