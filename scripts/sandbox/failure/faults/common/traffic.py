"""Faults by traffic control: a queueing discipline for what a node sends, on its device in the
stack's network.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from sandbox.core.errors import MachineError
from sandbox.failure.fault import Fault, Scene
from sandbox.failure.faults.common.node import NODES, beside, has_processes
from sandbox.profile.library import Kind
from sandbox.stack.protocol import NodeControl


class TrafficFault(Fault):
    """What delay and bandwidth have in common. ``discipline``: its name for `tc`."""

    kinds: ClassVar[frozenset[Kind]] = NODES
    lives_in_container: ClassVar[bool] = True
    holds_device: ClassVar[bool] = True
    discipline: ClassVar[str]

    @abstractmethod
    def arguments(self) -> str:
        """Those of the discipline."""

    def before(self, node: NodeControl, scene: Scene) -> dict[str, str]:  # noqa: ARG002  (it slows down everyone)
        shown(node)  # the helper starts before it is needed
        return {}

    def inject(self, node: NodeControl, scene: Scene) -> None:  # noqa: ARG002  (the same)
        address = node.address()
        if address is None:
            raise MachineError(
                f"{node.name} has no address",
                "only a node on the network can be slowed",
                "try: make ps",
            )
        script = removing(self.discipline) + adding(
            address, f"{self.discipline} {self.arguments()}"
        )
        beside(node, script, f"slowing the network of {node.name}")

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (the same)
        there = any(
            line.startswith(f"qdisc {self.discipline} ") for line in shown(node).splitlines()
        )
        return None if there else f"no device of it has a {self.discipline}"

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:  # noqa: ARG002  (it needs nothing)
        try:
            if has_processes(node):
                beside(node, removing(self.discipline), f"restoring the network of {node.name}")
        finally:
            node.release()


def shown(node: NodeControl) -> str:
    """The disciplines of a node's devices, one a line."""
    return beside(node, "tc qdisc show", f"reading the traffic control of {node.name}")


def adding(address: str, discipline: str) -> str:
    """The script that gives the device of an address a discipline; a node plugged in again may have
    another device.
    """
    return f"""\
device=$(ip -o -4 address show | while read -r _ name _ own _; do
  case $own in {address}/*) printf '%s' "${{name%@*}}" ;; esac
done)
[ -n "$device" ] || {{ echo 'no device has the address {address}' >&2; exit 1; }}
tc qdisc add dev "$device" root {discipline}
"""


def removing(discipline: str) -> str:
    """The script that removes every such discipline, wherever it is; it fails where one is left."""
    return f"""\
tc qdisc show | while read -r _ name _ _ device _; do
  [ "$name" != {discipline} ] || tc qdisc del dev "$device" root
done
left=$(tc qdisc show) || exit
case $left in *'qdisc {discipline} '*) echo 'a {discipline} is left' >&2; exit 1 ;; esac
"""
