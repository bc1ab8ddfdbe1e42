"""An external server as a fault sees it: it is asked from the client node, and all else is
refused.
"""

import inspect

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.stack.control import ExternalControl
from sandbox.stack.protocol import NodeControl
from sandbox.stack.stack import Stack
from unit.stack.fake_docker import HANGS, FakeDocker, answer
from unit.stack.small_stack import running_stack

ABLE = {"ask", "state", "release"}
VERBS = sorted(
    name
    for name, _ in inspect.getmembers(NodeControl, inspect.isfunction)
    if not name.startswith("_")
)


@pytest.fixture
def stack(docker: FakeDocker) -> Stack:
    """A stack of nothing but an external server, beside it one of our own."""
    return running_stack(docker, "external+mysql", external="mysql://app@db.example:3307/shop")


def test_it_is_asked_through_the_external_entry_point(docker: FakeDocker, stack: Stack) -> None:
    docker.on("^exec -i .*client1 ", answer("1\n"))
    control: NodeControl = stack.control("external1")
    assert (control.name, control.kind) == ("external1", "external")
    assert control.ask("SET GLOBAL read_only = ON; SELECT 1").stdout == "1\n"
    argv = docker.calls[-1]
    assert argv[3:8] == ("mysql", "--defaults-file=/sandbox/app.cnf", "-h", "db.example", "-P")
    assert argv[8] == "3307" and argv[-2:] == ("-N", "-B")
    assert docker.inputs[-1] == "SET GLOBAL read_only = ON; SELECT 1"
    assert not any("read_only" in word or "password" in word for word in argv)


def test_a_statement_has_its_own_limit_and_a_connection_a_shorter_one(
    docker: FakeDocker, stack: Stack
) -> None:
    docker.on("^exec ", HANGS)
    with pytest.raises(TimeoutError):
        stack.control("external1").ask("DO SLEEP(9)", timeout_s=0.01)
    assert "--connect-timeout=5" in docker.calls[-1]


@pytest.mark.parametrize("verb", sorted({*VERBS} - ABLE))
def test_whatever_needs_a_container_is_refused(docker: FakeDocker, stack: Stack, verb: str) -> None:
    control = stack.control("external1")
    before = len(docker.calls)
    with pytest.raises(SandboxError) as refused:
        getattr(control, verb)(
            *(["x"] * (len(inspect.signature(getattr(NodeControl, verb)).parameters) - 1))
        )
    assert (
        refused.value.what == "external1 has no container here" and len(refused.value.lines()) == 3
    )
    assert refused.value.exit_code is ExitCode.BAD_INPUT
    assert len(docker.calls) == before, "nothing was asked of the engine"


def test_it_neither_runs_nor_has_it_ended(stack: Stack) -> None:
    control = stack.control("external1")
    assert isinstance(control, ExternalControl) and control.state() == "external"
    control.release()


def test_a_name_of_neither_kind_is_unknown(stack: Stack) -> None:
    assert stack.control("mysql1").kind == "database"
    with pytest.raises(SandboxError, match="has no node 'external2'"):
        stack.control("external2")
