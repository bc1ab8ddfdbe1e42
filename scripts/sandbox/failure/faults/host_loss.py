"""host-loss: a node vanishes without a last packet."""

from collections.abc import Mapping
from typing import ClassVar

from sandbox.failure.fault import Ability, Ending, Fault, Scene, soon
from sandbox.failure.faults.common.node import NODES, has_ended, missing_end
from sandbox.failure.faults.common.packets import CHAIN, clear, put, start_helper
from sandbox.profile.library import Kind
from sandbox.stack.protocol import NodeControl

_CHAIN = f"{CHAIN}-HOST"


class HostLoss(Fault):
    """The node vanishes: no FIN, no RST; open connections and new ones get no answer."""

    needs: ClassVar[frozenset[Ability]] = frozenset({"iptables"})
    kinds: ClassVar[frozenset[Kind]] = NODES
    ending: ClassVar[Ending] = "ends the container"

    def befalls_host(self) -> bool:
        return True

    def before(self, node: NodeControl, scene: Scene) -> dict[str, str]:  # noqa: ARG002  (peers do not matter)
        start_helper(node)
        return {}

    def inject(self, node: NodeControl, scene: Scene) -> None:  # noqa: ARG002  (the same)
        put(node, _CHAIN, ["-j DROP"])
        # The helper keeps the namespace and its rules: no packet leaves it afterwards either.
        node.signal("KILL")

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (the same)
        return soon(lambda: missing_end(node))

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:  # noqa: ARG002  (it needs nothing)
        clear(node, _CHAIN)  # of one that was not killed
        if has_ended(node):
            node.start()
