"""The ways into a node: a shell, a command."""

import sys

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.stack.stack import execute, open_shell
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import running_stack


class Terminal:
    """Standard input that is, or is not, a terminal."""

    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal

    def isatty(self) -> bool:
        """As a test asks."""
        return self._terminal


def test_a_shell_needs_a_node_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(False))
    docker = FakeDocker()
    stack = running_stack(docker, "mysql")
    open_shell(stack, "mysql1")
    assert docker.calls[-1][:4] == ("exec", "-i", "--user", "0")
    docker.state("mysql1", "exited")
    with pytest.raises(SandboxError) as stopped:
        open_shell(stack.refreshed(), "mysql1")
    assert stopped.value.exit_code == ExitCode.ENVIRONMENT


def test_what_runs_in_a_node_is_interrupted_with_its_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C ends the engine's client alone."""
    monkeypatch.setattr(sys, "stdin", Terminal(False))
    docker = FakeDocker()
    stack = running_stack(docker, "mysql")
    docker.on("^exec -i ", answer(code=ExitCode.INTERRUPTED))
    assert execute(stack, "mysql1", ["sleep", "60"]) == ExitCode.INTERRUPTED
    started, ended = docker.calls[-2:]
    (mark,) = [word for word in started if word.startswith("SANDBOX_CALL=")]
    assert (
        ended[-1] == mark
        and "kill -INT" in " ".join(ended)
        and ended[3] == stack.container("mysql1").id
    )
    docker.on("^exec -i ", answer(code=1))
    assert execute(stack, "mysql1", ["false"]) == 1 and docker.calls[-1][-1] == "false"
