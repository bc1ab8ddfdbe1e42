"""Servers that start anew, one after the other, and join their group again; what a joining server
that cannot says, found without a time-out.
"""

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sandbox.core.errors import SandboxError
from sandbox.failure.action import Operation, TooLateError
from sandbox.stack.protocol import ReadyAnswer, RunningStack, StackNode

_LOOK_S = 0.2
LASTS_S = 5.0
"""An answer that cannot become another one by itself, for so long: a server that is only starting
has it for less.
"""
LOG_EVERY_S = 3.0
_FINAL = (
    (re.compile(r"^\d*,Disconnected,\d*$"), "it has left its cluster"),
    (re.compile(r"^receiver(?=[^:]*\bNo\b)[^:]*: (?P<why>.+)"), "its replication has stopped"),
)
"""Answers of a server that is not ready → their meaning: Galera without its provider, a replica
with an error.
"""
_IN_GROUP = re.compile(r"\[ERROR\].*\[MY-(?:010584|010586|011451|011526|013146)\]")
"""Group Replication's applier failed, or the member has transactions of its own: no attempt ends
otherwise.
"""
_ATTEMPTS = 2
_CAUSES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\[ERROR\].*(?:errno[ :=]|error[ _]code[ :=]|last_errno)",
        _IN_GROUP.pattern,
        r"inconsisten(?:t|cy) ",
        r"\[ERROR\].*(?:SST|state transfer|mariabackup|xtrabackup|rsync|clone)",
        r"WSREP_SST: \[ERROR\]",
        r"\[ERROR\]",
    )
)
"""Lines of a log that say why, the most telling first."""
_STAMP = re.compile(r"^\S+Z\s+")
_LONGEST = 240


def cause_in(log: str) -> str | None:
    """The line of a log that says why a server failed: the first of the most telling kind; None
    without any.
    """
    lines = log.splitlines()
    for kind in _CAUSES:
        for line in lines:
            if kind.search(line):
                return _shortened(line)
    return None


def _shortened(line: str) -> str:
    text = " ".join(_STAMP.sub("", line).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def final_state(answer: str) -> str | None:
    """The meaning of an answer that does not become another one by itself; None for any other
    answer.
    """
    for pattern, meaning in _FINAL:
        if found := pattern.search(answer):
            why = found.groupdict().get("why")
            return f"{meaning}: {why}" if why else f"{meaning} ({answer})"
    return None


def final_states(servers: Collection[str], answers: Mapping[str, ReadyAnswer]) -> dict[str, str]:
    """The meaning of each answer that is final, by server that is not ready."""
    found = {}
    for name, answer in answers.items():
        if name not in servers or answer.ready:
            continue
        state = final_state(answer.text)
        if state:
            found[name] = state
    return found


@dataclass
class JoinWatch:
    """Watches the servers of a group while one of them joins. ``clock``: monotonic, s."""

    stack: RunningStack
    servers: frozenset[str]
    clock: Callable[[], float]
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    _since_s: dict[str, float] = field(default_factory=dict)
    """Since when a server gives an answer that is final."""
    _log_s: float = float("-inf")

    def failure(self, joiner: str, answers: Mapping[str, ReadyAnswer]) -> str | None:
        """Why the joiner, or another server, is not going to be ready; None while it may be.
        ``answers``: as now.
        """
        now_s = self.clock()
        final = final_states(self.servers, answers)
        self._since_s = {name: self._since_s.get(name, now_s) for name in final}
        for name, state in final.items():
            if now_s - self._since_s[name] >= LASTS_S:
                return f"{name}: {state}; {self.why(name)}"
        if joiner in answers and not answers[joiner].ready and now_s - self._log_s >= LOG_EVERY_S:
            self._log_s = now_s
            return self._repeated(joiner)
        return None

    def why(self, node: str) -> str:
        """The reason in its log since the watch began."""
        cause = cause_in(self._log(node))
        return f"its log: {cause}" if cause else "its log has no error"

    def _repeated(self, joiner: str) -> str | None:
        lines = [line for line in self._log(joiner).splitlines() if _IN_GROUP.search(line)]
        if len(lines) < _ATTEMPTS:
            return None
        return f"{joiner}: it cannot stay in its group; its log: {_shortened(lines[0])}"

    def _log(self, node: str) -> str:
        with suppress(SandboxError):
            return self.stack.log(node, self.began)
        return ""


def writer_last(operation: Operation) -> list[StackNode]:
    """The servers of the group: readers first, then writers; at the end those that the action was
    aimed at.
    """
    roles = operation.stack.roles()
    aimed_at = operation.targets
    return sorted(
        operation.servers,
        key=lambda node: (roles.get(node.name) == "writer", node.name in aimed_at),
    )


def ready_nodes(operation: Operation) -> set[str]:
    """Every node of the stack that is ready now."""
    return {node for node, answer in operation.stack.readiness().items() if answer.ready}


def to_be_ready(operation: Operation) -> set[str]:
    """Every server of the group, even where one of them is away when the turns begin; and what else
    is ready now.
    """
    return ready_nodes(operation) | {node.name for node in operation.servers}


def in_turn(
    operation: Operation,
    order: Sequence[StackNode],
    restart: Callable[[StackNode], object],
    limit_s: float,
) -> None:
    """Does something to each server that starts it anew; the next one follows when all are ready
    again.

    Raises TooLateError where they are not, within the limit.
    """
    before = to_be_ready(operation)
    for node in order:
        restart(node)
        wait_until_back(operation, node, before, limit_s, time.monotonic())


def wait_until_back(
    operation: Operation, node: StackNode, before: Collection[str], limit_s: float, started: float
) -> float:
    """Waits until all nodes that were ready before are so again, and notes how many seconds after
    the start that was.

    ``started``: when the node was, on the monotonic clock. Raises TooLateError, with the line of
    its log that says why, where the node ends instead or cannot join any more, and where they are
    not ready within the limit: it has taken the limit at least.
    """
    servers = frozenset(each.name for each in operation.servers)
    waiting = _Return(operation, node, before, JoinWatch(operation.stack, servers, time.monotonic))
    is_over = operation.wait_for(waiting.is_over, limit_s, _LOOK_S)
    took_s = time.monotonic() - started if is_over and not waiting.failed else limit_s
    operation.joined_s.append((took_s, not is_over or bool(waiting.failed)))
    if waiting.failed:
        raise TooLateError(*waiting.failed)
    if not is_over:
        text = f"not ready within {limit_s:g} s: {', '.join(late(operation, before))}"
        raise TooLateError(f"it stopped after {node.name}", text)
    return took_s


@dataclass
class _Return:
    """The wait for one server: over when all are ready, or when it has failed."""

    operation: Operation
    node: StackNode
    before: Collection[str]
    watch: JoinWatch
    failed: tuple[str, str] | None = None
    """The failure, and its reason; None while there is none."""

    def is_over(self) -> bool:
        """Every node is asked, which costs the machine most, only once this one answers at all."""
        name = self.node.name
        stack = self.operation.stack
        if state := stack.dead_nodes().get(name):
            self.failed = (
                f"{name} ended instead of joining",
                f"it is {state}; {self.watch.why(name)}",
            )
            return True
        if not self.operation.answers(self.node):
            return False
        answers = stack.readiness()
        if all(answer.ready for node, answer in answers.items() if node in self.before):
            return True
        if reason := self.watch.failure(name, answers):
            self.failed = f"{name} cannot join", reason
        return self.failed is not None


def late(operation: Operation, wanted: Collection[str]) -> list[str]:
    """Nodes of those that are not ready now."""
    return [
        node
        for node, answer in operation.stack.readiness().items()
        if node in wanted and not answer.ready
    ]
