"""by-hand: an operator breaks something."""

from collections.abc import Mapping
from typing import ClassVar

from sandbox.failure.fault import Ending, Fault, Scene
from sandbox.profile.library import Kind
from sandbox.stack.protocol import NodeControl


class ByHand(Fault):
    """An operator breaks and heals it, in whatever way: this tool does nothing but measure."""

    kinds: ClassVar[frozenset[Kind]] = frozenset(
        {"database", "replica", "arbitrator", "proxy", "manager", "external"}
    )
    ending: ClassVar[Ending] = "ends the container"

    def inject(self, node: NodeControl, scene: Scene) -> None:
        pass

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (it cannot be seen)
        return None

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:
        pass
