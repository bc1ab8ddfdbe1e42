"""server-crash: the server is killed and its container stays."""

from collections.abc import Mapping
from typing import ClassVar

from sandbox.failure.fault import Ending, Fault, Scene, soon
from sandbox.failure.faults.common.node import is_up, kill_server, listens, revive
from sandbox.stack.protocol import NodeControl


class ServerCrash(Fault):
    """The server is killed: its connections end, and its address refuses new ones at once (RST)."""

    ending: ClassVar[Ending] = "ends the server"
    heals_inside: ClassVar[bool] = True

    def inject(self, node: NodeControl, scene: Scene) -> None:  # noqa: ARG002  (peers do not matter)
        kill_server(node)

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (the same)
        return soon(lambda: _missing(node))

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:  # noqa: ARG002  (it needs nothing)
        revive(node)


def _missing(node: NodeControl) -> str | None:
    if not is_up(node):
        return f"its container, which stays, is {node.state()}"
    return "its port is still listened on" if listens(node) else None
