"""graceful: a node is shut down in order."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from sandbox.failure.fault import Ending, Fault, Scene, soon
from sandbox.failure.faults.common.node import (
    NODES,
    SERVERS,
    has_ended,
    is_up,
    listens,
    missing_end,
    wait_for_end,
)
from sandbox.profile.library import Kind
from sandbox.stack.protocol import NodeControl


class Graceful(Fault):
    """The server shuts down in order: it ends its connections, leaves its cluster, and its address
    vanishes.
    """

    kinds: ClassVar[frozenset[Kind]] = NODES
    ending: ClassVar[Ending] = "ends the container"
    grace_s: float = Field(default=60, ge=1, le=600, description="seconds after which it is killed")

    def longest_s(self) -> float:
        return self.grace_s

    def inject(self, node: NodeControl, scene: Scene) -> None:  # noqa: ARG002  (peers do not matter)
        node.stop(self.grace_s)

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (the same)
        return soon(lambda: missing_end(node))

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:  # noqa: ARG002  (it needs nothing)
        if is_up(node):
            # The signal may still be on its way.
            soon(lambda: None if _is_ending(node) else "not yet")
        if node.kind in SERVERS:
            # The engine ends it, whatever became of the command that asked for it.
            wait_for_end(node, self.grace_s)
        if has_ended(node):
            node.start()


def _is_ending(node: NodeControl) -> bool:
    """A server ceases to listen long before it ends; of any other node nothing shows it."""
    return has_ended(node) or (node.kind in SERVERS and not listens(node))
