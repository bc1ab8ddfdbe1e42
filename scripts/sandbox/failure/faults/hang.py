"""hang: a node or its server stops without ending."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from sandbox.core.errors import SandboxError
from sandbox.failure.fault import Fault, Scene, soon
from sandbox.failure.faults.common.node import (
    NODES,
    SERVERS,
    is_up,
    process_state,
    server_lives,
    signal_server,
)
from sandbox.profile.library import Kind
from sandbox.stack.protocol import NodeControl


class Hang(Fault):
    """The node freezes; connections stay open, the kernel still accepts new ones, and nothing
    answers.
    """

    kinds: ClassVar[frozenset[Kind]] = NODES
    what: Literal["container", "server"] = Field(
        default="container",
        description="what stops: every process of the container, or the server alone",
    )

    def befalls_host(self) -> bool:
        return self.what == "container"

    def before(self, node: NodeControl, scene: Scene) -> dict[str, str]:  # noqa: ARG002  (peers do not matter)
        if self.what == "server" and node.kind not in SERVERS:
            known = f"{node.name} is a {node.kind}: only its container can"
            raise SandboxError(
                "what=server stops a database server",
                known,
                "try: make fault FAULT=hang TARGET=proxy",
            )
        return {}

    def inject(self, node: NodeControl, scene: Scene) -> None:  # noqa: ARG002  (the same)
        if self.what == "container":
            node.pause()
        else:
            signal_server(node, "STOP")

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (the same)
        return soon(lambda: self._missing(node))

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:  # noqa: ARG002  (it needs nothing)
        if self.what == "container":
            node.unpause()
        elif is_up(node) and server_lives(node):
            signal_server(node, "CONT")

    def _missing(self, node: NodeControl) -> str | None:
        if self.what == "container":
            return None if node.state().startswith("paused") else f"its container is {node.state()}"
        state = process_state(node)
        return None if state == "T" else f"the state of its server is '{state}', not T"
