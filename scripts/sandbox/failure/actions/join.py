"""Joining: a node leaves its group in order, and joins it again, with the data that it had or with
none.
"""

import time
from contextlib import suppress
from typing import ClassVar, Literal

from pydantic import Field

from sandbox.core.errors import SandboxError
from sandbox.failure.action import ActionRefusedError, Operation, StoppingAction
from sandbox.failure.actions.common.joining import ready_nodes, wait_until_back
from sandbox.failure.actions.common.replication import Replica, replication_password
from sandbox.stack.protocol import StackNode

_ANSWER_LIMIT_S = 120.0


class Join(StoppingAction):
    """A node leaves in order and joins again: with its data, or empty.

    A member without data gets it from another one as its configuration says: by Galera's state
    transfer, by clone, or from binary logs. A replica without data replicates from the beginning of
    its source's binary logs.
    """

    starts_servers: ClassVar[bool] = True
    data: Literal["kept", "empty"] = Field(
        default="kept", description="what it joins with: its data, or nothing"
    )
    away_s: float = Field(
        default=10.0, ge=0, le=600, description="seconds between its end and its start"
    )
    ready_limit_s: float = Field(
        default=600.0, ge=1, le=3600, description="seconds for it to be ready again"
    )

    @property
    def typical_s(self) -> float:
        return self.away_s + {"kept": 10.0, "empty": 20.0}[self.data]

    def perform(self, operation: Operation) -> str:
        """One node after the other, where it is aimed at several."""
        nodes = [node for node in operation.servers if node.name in operation.targets]
        if not nodes:
            raise ActionRefusedError(
                "join has no server to act on",
                f"its target: {', '.join(operation.targets) or 'none'}",
            )
        if self.data == "empty":
            refuse_the_only_data(operation, nodes)
        before = ready_nodes(operation)
        words = {"kept": "with its data", "empty": "without data"}[self.data]
        took = [
            f"{node.name} {words} in {self._join(operation, node, before):.1f} s" for node in nodes
        ]
        return f"joined again: {', '.join(took)}"

    def _join(self, operation: Operation, node: StackNode, before: set[str]) -> float:
        """However it left, it is started again."""
        control = operation.stack.control(node.name)
        try:
            control.stop(self.grace_s)
            if self.data == "empty":
                control.empty_data()
            operation.wait_for(lambda: False, self.away_s)
        finally:
            control.start()
        started = time.monotonic()
        if self.data == "empty" and node.kind == "replica":
            follow_the_writer(operation, node)
        return wait_until_back(operation, node, {*before, node.name}, self.ready_limit_s, started)


def refuse_the_only_data(operation: Operation, nodes: list[StackNode]) -> None:
    """Raises ActionRefusedError where a new server would not get the data of the group, or nobody
    would be left.
    """
    others = [node for node in operation.members if node not in nodes]
    if operation.topology == "single":
        writer, _ = operation.places()
        _refuse_a_source(nodes, writer)
        others = [writer] if writer else []
    if not any(map(operation.answers, others)):
        names = ", ".join(node.name for node in nodes)
        raise ActionRefusedError(
            f"{names} would lose all data of the group", "no other server that has it answers"
        )


def _refuse_a_source(nodes: list[StackNode], writer: StackNode | None) -> None:
    """Whom a new server would follow: the profile's first source has nobody, and the writer would
    have itself.
    """
    for node in nodes:
        if node.kind != "replica":
            known = (
                "the profile's first source: a new one follows nobody, and would take writes beside"
                " the writer"
            )
        elif node == writer:
            known = (
                "the writer: a new one would follow itself, and what no replica has received would"
                " be lost"
            )
        else:
            continue
        raise ActionRefusedError(f"{node.name} cannot join without data", f"it is {known}")


def follow_the_writer(operation: Operation, node: StackNode) -> None:
    """A new replica begins with the profile's first source; by now another server may be the
    writer.
    """
    if operation.topology != "single":
        return
    operation.wait_for(lambda: operation.answers(node), _ANSWER_LIMIT_S)
    writer, _ = operation.places()
    replica = Replica(operation, node)
    # A server that does not answer yet is not ready, which is what is waited for next.
    with suppress(SandboxError):
        if writer is not None and replica.status().source != writer.host:
            replica.follow(writer, replication_password(operation))
