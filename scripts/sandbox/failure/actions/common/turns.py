"""Servers that go one after the other: in which order, and the wait until the group is whole again
in between.
"""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from sandbox.failure.action import Operation, TooLateError
from sandbox.failure.actions.common.failed_join import JoinWatch
from sandbox.stack.protocol import StackNode

_LOOK_S = 0.2


def writer_last(operation: Operation) -> list[StackNode]:
    """The servers of the group: readers first, then writers; at the end those that the action was
    aimed at.
    """
    roles, aimed_at = operation.stack.roles(), operation.targets
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
    """What is wrong, and why; None while nothing is."""

    def is_over(self) -> bool:
        """Every node is asked, which costs the machine most, only once this one answers at all."""
        name, stack = self.node.name, self.operation.stack
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
