"""Rolling restart: every server is stopped and started in turn, the writer last, and the group is
whole in between.
"""

from typing import ClassVar

from pydantic import Field

from sandbox.failure.action import Operation, StoppingAction
from sandbox.failure.actions.common.joining import in_turn, writer_last
from sandbox.failure.actions.switchover import move_writer
from sandbox.stack.protocol import StackNode


class RollingRestart(StoppingAction):
    """Each server gets its graceful stop; the next one follows when all are ready again.

    With asynchronous replication a replica takes the writer's place before that is stopped, as in a
    rolling upgrade; a writer that no replica can replace restarts where it is.
    """

    starts_servers: ClassVar[bool] = True
    ready_limit_s: float = Field(
        default=300.0, ge=1, le=3600, description="seconds for the group to be ready again"
    )

    @property
    def typical_s(self) -> float:
        return 30.0

    def perform(self, operation: Operation) -> str:
        """Readers first, so that the writer moves once at most."""
        order = writer_last(operation)
        in_turn(operation, order, lambda node: self._restart(operation, node), self.ready_limit_s)
        return f"restarted in turn: {', '.join(node.name for node in order)}"

    def _restart(self, operation: Operation, node: StackNode) -> None:
        """However the stop went, the server is started again."""
        move_writer(operation, node)
        control = operation.stack.control(node.name)
        try:
            control.stop(self.grace_s)
        finally:
            control.start()
