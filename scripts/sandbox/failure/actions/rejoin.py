"""Rejoining: a server that neither writes for its group nor follows it becomes a replica of its
writer.
"""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from sandbox.failure.action import Action, ActionRefusedError, Operation
from sandbox.failure.actions.common.replication import Replica, replication_password
from sandbox.stack.protocol import StackNode

_START_LIMIT_S = 10.0


class OwnHistoryError(ActionRefusedError):
    """A server holds transactions that the writer lacks, which are named."""


class Rejoin(Action):
    """Reattaches detached servers, and those whose replication failed, as replicas, keeping their
    data.

    Refused where it holds transactions that the writer lacks: they would be lost, or break
    replication later. It takes no more writes then.
    """

    findings: ClassVar[tuple[type[ActionRefusedError], ...]] = (ActionRefusedError,)
    wait_s: float = Field(
        default=30.0,
        ge=0,
        le=600,
        description="seconds to wait for servers that do not answer yet; then without them",
    )

    def perform(self, operation: Operation) -> str:
        """Nothing to do is no failure."""
        if operation.topology != "single":
            return "a member of a cluster rejoins by itself"
        operation.wait_for(lambda: all(map(operation.answers, operation.servers)), self.wait_s)
        writer, _ = operation.places()
        if writer is None:
            raise ActionRefusedError(
                "there is no writer to rejoin", "a group needs one server that takes writes"
            )
        others = [
            node
            for node in operation.servers
            if node.name != writer.name and operation.answers(node)
        ]
        apart = _all_apart([Replica(operation, node) for node in others], others, writer)
        for each in apart:
            each.become_read_only()  # else it could take another write once it was compared
        extra = _held_beyond(Replica(operation, writer), apart)
        able = [each for each in apart if each.name not in extra]
        password = replication_password(operation) if able else ""
        for each in able:
            each.follow(writer, password)
        for each in able:
            self._check(operation, each)
        if extra:
            text = "; ".join(
                f"{name} holds what {writer.name} lacks: {beyond}" for name, beyond in extra.items()
            )
            raise OwnHistoryError(text, "it must be rebuilt")
        return (
            f"rejoined: {', '.join(each.name for each in able)}"
            if able
            else "every server is in its place"
        )

    def _check(self, operation: Operation, replica: Replica) -> None:
        """MariaDB finds out at the source whether the histories are one."""

        def settled() -> bool:
            status = replica.status()
            return status.has_failed or status.is_receiving

        operation.wait_for(settled, _START_LIMIT_S)
        status = replica.status()
        if status.has_failed:
            replica.forget_source()
            raise ActionRefusedError(
                f"{replica.name} cannot follow: {status.error}", "its history is not the writer's"
            )
        if status.error:
            raise ActionRefusedError(
                f"{replica.name} does not follow yet: {status.error}", "it tries again by itself"
            )
        if not status.is_receiving:
            known = f"no answer of its source within {_START_LIMIT_S:g} s; it tries again by itself"
            raise ActionRefusedError(f"{replica.name} does not follow yet", known)


def _all_apart(
    replicas: Sequence[Replica], nodes: Sequence[StackNode], writer: StackNode
) -> list[Replica]:
    """Replicas that are apart, and replicas that follow one of them."""
    apart = [each for each in replicas if _is_apart(each, writer)]
    lost = {node.host for node in nodes if node.name in {each.name for each in apart}}
    return [each for each in replicas if each in apart or each.status().source in lost]


def _held_beyond(writer: Replica, apart: Sequence[Replica]) -> dict[str, str]:
    """The transactions that the writer lacks, by the server that holds them."""
    lacks = {each.name: writer.lacks(each.held()) for each in apart}
    return {name: transactions for name, transactions in lacks.items() if transactions}


def _is_apart(replica: Replica, writer: StackNode) -> bool:
    """Whether it follows nobody, failed to, or waits for another source than the writer, such as
    one that is lost.
    """
    status = replica.status()
    return (
        not status.source
        or status.has_failed
        or (status.source != writer.host and not status.is_receiving)
    )
