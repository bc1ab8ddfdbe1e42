"""Rolling restart: every server is stopped and started in turn, the writer last, and the group is whole in between."""

from typing import ClassVar

from pydantic import Field

from sandbox.actions.common.model import Action, Operation
from sandbox.actions.common.turns import in_turn, writer_last
from sandbox.stack.protocol import StackNode


class RollingRestart(Action):
    """Each server gets its graceful stop; the next one follows when all are ready again."""

    starts_servers: ClassVar[bool] = True
    grace_s: float = Field(default=60.0, ge=0, le=600, description="seconds that a server may take to stop")
    ready_limit_s: float = Field(default=300.0, ge=1, le=3600, description="seconds for the group to be ready again")

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
        control = operation.stack.control(node.name)
        try:
            control.stop(self.grace_s)
        finally:
            control.start()
