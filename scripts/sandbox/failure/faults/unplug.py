"""unplug: a node loses the network."""

from collections.abc import Mapping
from typing import ClassVar

from sandbox.failure.fault import Fault, Scene, soon
from sandbox.failure.faults.common.node import NODES
from sandbox.profile.library import Kind
from sandbox.stack.protocol import NodeControl


class Unplug(Fault):
    """The node loses the network: connections hang without RST; plugged in again, it may have
    another address.
    """

    kinds: ClassVar[frozenset[Kind]] = NODES
    holds_device: ClassVar[bool] = True

    def befalls_host(self) -> bool:
        return True

    def inject(self, node: NodeControl, scene: Scene) -> None:  # noqa: ARG002  (peers do not matter)
        node.disconnect()

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (the same)
        return soon(lambda: _missing(node))

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:  # noqa: ARG002  (it needs nothing)
        if node.state() != "gone":
            node.connect()


def _missing(node: NodeControl) -> str | None:
    address = node.address()
    return f"it still has the address {address}" if address else None
