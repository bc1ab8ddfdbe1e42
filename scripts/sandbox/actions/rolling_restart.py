"""Rolling restart: every server is stopped and started in turn, the writer last, and the group is whole in between."""

from collections.abc import Collection

from pydantic import Field

from sandbox.actions.common.model import Action, ActionRefusedError, Operation
from sandbox.stack.protocol import StackNode

_LOOK_S = 0.5


class RollingRestart(Action):
    """Each server gets its graceful stop; the next one follows when all are ready again."""

    grace_s: float = Field(default=60.0, ge=0, le=600, description="seconds that a server may take to stop")
    ready_limit_s: float = Field(default=300.0, ge=1, le=3600, description="seconds for the group to be ready again")

    def perform(self, operation: Operation) -> str:
        """Readers first, so that the writer moves once at most."""
        roles = operation.stack.roles()
        order = sorted(operation.servers, key=lambda node: roles.get(node.name) == "writer")
        before = {node for node, answer in operation.stack.readiness().items() if answer.ready}
        for node in order:
            self._restart(operation, node)
            ready = operation.wait_for(lambda: not late(operation, before), self.ready_limit_s, _LOOK_S)
            if not ready:
                text = f"not ready within {self.ready_limit_s:g} s: {', '.join(late(operation, before))}"
                raise ActionRefusedError(f"it stopped after {node.name}", text)
        return f"restarted in turn: {', '.join(node.name for node in order)}"

    def _restart(self, operation: Operation, node: StackNode) -> None:
        """However the stop went, the server is started again."""
        control = operation.stack.control(node.name)
        try:
            control.stop(self.grace_s)
        finally:
            control.start()


def late(operation: Operation, wanted: Collection[str]) -> list[str]:
    """Nodes that were ready before and are not now."""
    return [node for node, answer in operation.stack.readiness().items() if node in wanted and not answer.ready]
