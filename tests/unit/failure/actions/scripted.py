"""A group of servers that answer what a test gives them, and keep the statements that they were
given.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from sandbox.core.errors import ExitCode, MachineError
from sandbox.failure import action
from sandbox.failure.action import Action, ActionRefusedError, Operation
from sandbox.stack.protocol import ExecResult, ReadyAnswer, StackNode
from unit.fake_stack import CLIENT, FakeStack, server

ROW = "*************************** 1. row ***************************\n"


@dataclass
class ScriptedControl:
    """A container. ``hears``: where what is done to it is kept, in order with all else."""

    name: str
    hears: list[str]
    at: str | None = "172.18.0.2"
    fails: str | None = None

    def address(self) -> str | None:
        return self.at

    def stop(self, grace_s: float) -> None:
        self.hears.append(f"stop {self.name} {grace_s:g}")
        if self.fails == "stop":
            raise MachineError("docker stop failed", "it hangs", "try: make ps")

    def start(self) -> None:
        self.hears.append(f"start {self.name}")

    def empty_data(self) -> None:
        self.hears.append(f"empty {self.name}")
        if self.fails == "empty":
            raise MachineError("docker run failed", "no space left", "try: make ps")


Answer = str | Mapping[str, str] | Exception | Callable[[], Mapping[str, str]]


@dataclass
class Clock:
    """Stands for the module `time`; ``then``: what happens while somebody sleeps."""

    now: float = 100.0
    then: Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.then()


class ClockEvent(threading.Event):
    """Time moves where somebody waits for it."""

    def wait(self, timeout: float | None = None) -> bool:
        vars(action)["time"].sleep(timeout or 0)  # the clock of the test
        return self.is_set()


class ScriptedGroup(FakeStack):
    """``says``: (node, beginning of a statement) → what it answers; without one, an empty
    result.
    """

    def __init__(
        self, servers: Sequence[StackNode], roles: Mapping[str, Any], version: str = "8.4.3"
    ) -> None:
        super().__init__()
        self.members = [*servers, CLIENT]
        self.role_of = dict(roles)
        self.heard: list[str] = []
        self.given: list[tuple[str, str]] = []
        """(node, statements) of everything but questions."""
        self.says: dict[tuple[str, str], Answer] = {}
        self.programs: set[tuple[str, ...]] = set()
        self.version = version
        self.controls = {node.name: ScriptedControl(node.name, self.heard) for node in servers}
        self.waits: list[float] = []
        self.unready: list[set[str]] = []
        """Nodes that are not ready, at each time when somebody looks."""
        self.password = "pw"
        self.versions: dict[str, str] = {}
        """Node → its own, where it is another one."""
        self.says_of: dict[str, str] = {}
        """Node → what it answers while it is not ready."""
        self.log_of: dict[str, str] = {}
        self.shell = ExecResult(0, "", "")
        """How a script in a node ends."""

    def run(
        self, node: str, argv: Sequence[str], stdin: str | None = None, timeout_s: float = 60.0
    ) -> ExecResult:
        if argv[0] == "sed":
            return ExecResult(0, f"{self.password}\n", "")
        if argv[0] in ("sh", "bash"):
            self.heard.append(f"run {node} {argv[2]}")
            return self.shell
        if argv[0] not in ("mysql", "mariadb"):
            return super().run(node, argv, stdin, timeout_s)
        text = stdin or ""
        self.programs.add(tuple(argv))
        self.waits.append(timeout_s)
        if not text.startswith(("SELECT", "SHOW")):
            self.given.append((node, text))
        return self._said(node, text)

    def _said(self, node: str, text: str) -> ExecResult:
        if text.startswith("SELECT @@version"):
            return ExecResult(0, f"{ROW}version: {self.versions.get(node, self.version)}-log\n", "")
        answer = next(
            (
                each
                for (who, start), each in self.says.items()
                if who == node and text.startswith(start)
            ),
            {},
        )
        answer = answer() if callable(answer) else answer
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            return ExecResult(1, "", answer)
        return ExecResult(
            0, ROW + "".join(f"{name}: {value}\n" for name, value in answer.items()), ""
        )

    def upgrade(self, node: str, version: str) -> None:
        self.heard.append(f"upgrade {node} {version}")
        self.versions[node] = f"{version}.6"

    def readiness(self) -> Mapping[str, ReadyAnswer]:
        late = (
            (self.unready.pop(0) if len(self.unready) > 1 else self.unready[0])
            if self.unready
            else set()
        )
        return {
            node.name: ReadyAnswer(node.name not in late, self.says_of.get(node.name, ""))
            for node in self.members
        }

    def log(self, node: str, since: datetime | None = None) -> str:
        return self.log_of.get(node, "")


def servers(family: str = "mysql", replicas: int = 2, topology: str = "single") -> list[StackNode]:
    """A source and its replicas."""
    first = {"mysql": "mysql1", "mariadb": "mariadb1"}[family]
    given: dict[str, Any] = {"family": family, "topology": topology}
    return [
        server(first, **given),
        *(server(f"replica{n}", "replica", **given) for n in range(1, replicas + 1)),
    ]


def group(family: str = "mysql", version: str = "8.4.3", replicas: int = 2) -> ScriptedGroup:
    """A source and its replicas, all well."""
    members = servers(family, replicas)
    roles = {node.name: "writer" if node.kind == "database" else "reader" for node in members}
    return ScriptedGroup(members, roles, version)


def operation(stack: ScriptedGroup, targets: Sequence[str] = ()) -> Operation:
    """On all servers of the stack's first group."""
    own = [node for node in stack.members if node.is_server and node.group_index == 1]
    return Operation(stack, "client1", own, list(targets), ClockEvent())


def refused(action: Action, given: Operation) -> ActionRefusedError:
    with pytest.raises(ActionRefusedError) as caught:
        action.perform(given)
    assert caught.value.exit_code is ExitCode.FAILED
    return caught.value


def following(stack: ScriptedGroup, source: str = "mysql1", **held: str) -> ScriptedGroup:
    """Every replica follows a source; ``held``: what each has."""
    maria = stack.members[0].family == "mariadb"
    for node in stack.members:
        if node.kind != "replica":
            continue
        question, host = (
            ("SHOW ALL SLAVES STATUS", "Master_Host")
            if maria
            else ("SHOW REPLICA STATUS", "Source_Host")
        )
        stack.says[node.name, question] = {
            host: source,
            "Replica_IO_Running": "Yes",
            "Slave_IO_Running": "Yes",
        }
        variable = "@@gtid_current_pos" if maria else "@@gtid_executed"
        stack.says[node.name, f"SELECT {variable}"] = {"held": held.get(node.name, "")}
    return stack
