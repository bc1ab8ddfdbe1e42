"""Servers that go one after the other: in which order, and the wait until the group is whole again in between."""

import time
from collections.abc import Callable, Collection, Sequence

from sandbox.actions.common.model import Operation, TooLateError
from sandbox.stack.protocol import StackNode

_LOOK_S = 0.2


def writer_last(operation: Operation) -> list[StackNode]:
    """The servers of the group: readers first, then writers; at the end those that the action was aimed at."""
    roles, aimed_at = operation.stack.roles(), operation.targets
    return sorted(operation.servers, key=lambda node: (roles.get(node.name) == "writer", node.name in aimed_at))


def ready_nodes(operation: Operation) -> set[str]:
    """Every node of the stack that is ready now."""
    return {node for node, answer in operation.stack.readiness().items() if answer.ready}


def to_be_ready(operation: Operation) -> set[str]:
    """Every server of the group, even where one of them is away when the turns begin; and what else is ready now."""
    return ready_nodes(operation) | {node.name for node in operation.servers}


def in_turn(
    operation: Operation, order: Sequence[StackNode], restart: Callable[[StackNode], object], limit_s: float
) -> None:
    """Does something to each server that starts it anew; the next one follows when all are ready again.

    Raises TooLateError where they are not, within the limit.
    """
    before = to_be_ready(operation)
    for node in order:
        restart(node)
        wait_until_back(operation, node, before, limit_s, time.monotonic())


def wait_until_back(
    operation: Operation, node: StackNode, before: Collection[str], limit_s: float, started: float
) -> float:
    """Waits until all nodes that were ready before are so again, and notes how many seconds after the start that was.

    ``started``: when the node was, on the monotonic clock. Raises TooLateError where they are not, within the limit, or
    where the node ends instead: it has taken the limit at least.
    """
    is_over = operation.wait_for(lambda: _is_over(operation, node, before), limit_s, _LOOK_S)
    state = _ended(operation, node)
    took_s = time.monotonic() - started if is_over and not state else limit_s
    operation.joined_s.append((took_s, not is_over or bool(state)))
    if state:
        raise TooLateError(f"{node.name} ended instead of joining", f"it is {state}; its log says why")
    if not is_over:
        text = f"not ready within {limit_s:g} s: {', '.join(late(operation, before))}"
        raise TooLateError(f"it stopped after {node.name}", text)
    return took_s


def _is_over(operation: Operation, node: StackNode, before: Collection[str]) -> bool:
    """Every node is asked, which costs the machine most, only once this one answers at all."""
    return bool(_ended(operation, node)) or (operation.answers(node) and not late(operation, before))


def _ended(operation: Operation, node: StackNode) -> str:
    """How its container ended; empty while it runs."""
    return operation.stack.dead_nodes().get(node.name, "")


def late(operation: Operation, wanted: Collection[str]) -> list[str]:
    """Nodes of those that are not ready now."""
    return [node for node, answer in operation.stack.readiness().items() if node in wanted and not answer.ready]
