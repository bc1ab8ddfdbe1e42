"""none: nothing breaks."""

from collections.abc import Mapping
from typing import ClassVar

from sandbox.failure.fault import Fault, Scene
from sandbox.profile.library import Kind
from sandbox.stack.protocol import NodeControl


class NoFault(Fault):
    """Nothing breaks: a control, which shows what a trial measures while every node is well."""

    kinds: ClassVar[frozenset[Kind]] = frozenset(
        {"database", "replica", "arbitrator", "proxy", "manager", "external"}
    )

    def inject(self, node: NodeControl, scene: Scene) -> None:
        pass

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (there is none to see)
        return None

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:
        pass
