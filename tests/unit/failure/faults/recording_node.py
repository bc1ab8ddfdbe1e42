"""A node that only records what is done to it, and refuses what a test says."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from sandbox.profile.library import Kind
from sandbox.stack.protocol import ExecResult, Limits, NodeControl


@dataclass
class RecordingNode(NodeControl):
    """Everything that a test may change is a field. ``log`` may be shared: it then holds the order
    among nodes.
    """

    name: str = "mysql1"
    kind: Kind = "database"
    log: list[str] = field(default_factory=list)
    status: str = "running"
    now: Limits = field(default_factory=Limits)
    refuses: dict[str, BaseException] = field(default_factory=dict)
    """Action → what it raises instead."""
    on: dict[str, Callable[[], object]] = field(default_factory=dict)
    """Action → what happens beside it."""
    said: ExecResult = field(default_factory=lambda: ExecResult(0, "", ""))
    """By every script."""
    asked: list[str] = field(default_factory=list)
    """Statements, in order."""
    answers: list[ExecResult] = field(default_factory=list)
    """To the first of them; the others are answered as every script is."""

    def _act(self, action: str, detail: object = None) -> None:
        self.on.get(action, lambda: None)()
        if action in self.refuses:
            raise self.refuses[action]
        self.log.append(f"{action} {self.name}" + (f" {detail}" if detail is not None else ""))

    def state(self) -> str:
        return self.status

    def address(self) -> str | None:
        return f"address of {self.name}"

    def signal(self, name: str) -> None:
        self._act("signal", name)

    def pause(self) -> None:
        self._act("pause")
        self.status = "paused"

    def unpause(self) -> None:
        self._act("unpause")
        self.status = "running"

    def stop(self, grace_s: float) -> None:
        self._act("stop")

    def start(self) -> None:
        self._act("start")

    def in_volumes(self, script: str) -> ExecResult:
        self._act("in_volumes")
        return self.said

    def empty_data(self) -> None:
        self._act("empty_data")

    def disconnect(self) -> None:
        self._act("disconnect")

    def connect(self) -> None:
        self._act("connect")

    def limits(self) -> Limits:
        return self.now

    def limit(self, limits: Limits) -> None:
        self._act("limit", limits.cpus)
        self.now = limits

    def weigh(self, weight: float) -> None:
        self._act("weigh", weight)

    def execute(self, script: str, timeout_s: float = 10.0) -> ExecResult:
        self._act("execute")
        return self.said

    def ask(self, statement: str, timeout_s: float = 10.0) -> ExecResult:
        self._act("ask")
        self.asked.append(statement)
        return self.answers.pop(0) if self.answers else self.said

    def in_network(self, script: str, timeout_s: float = 10.0) -> ExecResult:
        self._act("in_network")
        return self.said

    def beside_disk(self, script: str, timeout_s: float = 10.0) -> ExecResult:
        self._act("beside_disk")
        return self.said

    def write_limit(self, bytes_per_s: int | None) -> None:
        self._act("write_limit", bytes_per_s)

    def release(self) -> None:
        self._act("release")


def together(nodes: int, action: str) -> dict[str, Callable[[], object]]:
    """Lets an action happen only while as many nodes do it at once."""
    return {action: threading.Barrier(nodes, timeout=10).wait}
