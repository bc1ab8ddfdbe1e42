"""Emergency promotion: the writer is gone, and its most advanced replica takes its place."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from pydantic import Field

from sandbox.core.errors import SandboxError
from sandbox.failure.action import Action, ActionRefusedError, Operation, names_of
from sandbox.failure.actions.common.replication import Replica, replication_password
from sandbox.failure.gtid import transactions
from sandbox.stack.protocol import StackNode

_GONE_LIMIT_S = 60.0
_LOOK_S = 0.1
_APPLY_LIMIT_S = 30.0


class Promote(Action):
    """Once the writer has not answered for a while, the replica that received most applies it all
    and takes writes.

    The other replicas then follow it. As Orchestrator and MHA do: by what the network shows, so
    that a writer which is only cut off keeps taking writes of whoever reaches it.
    """

    after_s: float = Field(
        default=0.0,
        ge=0,
        le=60,
        description="seconds without an answer of the writer before it acts",
    )

    def perform(self, operation: Operation) -> str:
        """Nothing to do in a cluster: one schedule serves all topologies. Refused while the old
        writer answers.
        """
        if operation.topology != "single":
            return "nothing to do: a cluster elects its writer itself"
        old = [
            node for node in operation.servers if node.name in operation.targets
        ] or operation.members[:1]
        self._wait_until_gone(operation, old)
        others = [node for node in operation.servers if node not in old and operation.answers(node)]
        # A server that follows nobody is another history: one of its own, or one that was left
        # behind.
        replicas = [
            each for each in (Replica(operation, node) for node in others) if each.status().source
        ]
        if not replicas:
            raise ActionRefusedError(
                "there is no replica to promote", f"that answer: {names_of(others)}"
            )
        with receiving_again(replicas):
            chosen = most_advanced(replicas)
            chosen.become_writer()
        follow(operation, chosen.node, [each for each in replicas if each is not chosen])
        return f"{chosen.name} promoted"

    def _wait_until_gone(self, operation: Operation, old: Sequence[StackNode]) -> None:
        """Returns when none of them has answered for so long."""
        since: float | None = None

        def gone() -> bool:
            nonlocal since
            asked = time.monotonic()
            if any(operation.answers(node) for node in old):
                since = None
                return False
            since = asked if since is None else since
            return time.monotonic() - since >= self.after_s

        if not operation.wait_for(gone, _GONE_LIMIT_S + self.after_s, _LOOK_S):
            text = "an emergency promotion would make a second writer"
            raise ActionRefusedError(f"the old writer answers: {names_of(old)}", text)


@contextmanager
def receiving_again(replicas: Sequence[Replica]) -> Iterator[None]:
    """Where the block fails, all of them receive again: a promotion that failed changes nothing."""
    try:
        yield
    except SandboxError:
        for each in replicas:
            with suppress(SandboxError):  # it may be the one that does not answer
                each.start_receiving()
        raise


def most_advanced(replicas: Sequence[Replica]) -> Replica:
    """The one that has most, once each has applied what it had received; the first of equals.

    Raises SandboxError where one has not, or does not answer.
    """
    for each in replicas:
        each.stop_receiving()
    for each in replicas:
        each.apply_received(_APPLY_LIMIT_S)
    return max(replicas, key=lambda each: transactions(each.held()))


def follow(operation: Operation, source: StackNode, others: Sequence[Replica]) -> None:
    """Points servers to another source: all that it can. Raises SandboxError where it could not,
    for the first one.
    """
    password = replication_password(operation)
    failed = None
    for each in others:
        try:
            each.follow(source, password)
        except SandboxError as error:
            failed = failed or error
    if failed:
        raise failed
