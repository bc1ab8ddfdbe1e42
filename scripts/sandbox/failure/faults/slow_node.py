"""slow-node: a node has hardly any processor time."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from sandbox.failure.fault import Fault, Scene
from sandbox.failure.faults.common.node import NODES, limit_now, restore_limit
from sandbox.profile.library import Kind
from sandbox.stack.protocol import NodeControl


class SlowNode(Fault):
    """The node has little processor time: it answers, but late; checks with short time-outs may
    give it up.
    """

    kinds: ClassVar[frozenset[Kind]] = NODES
    same_before: ClassVar[bool] = True
    cpus: float = Field(default=0.1, ge=0.01, le=64, description="processors that it may use")

    def before(self, node: NodeControl, scene: Scene) -> dict[str, str]:  # noqa: ARG002  (peers do not matter)
        return limit_now(node, "cpus")

    def inject(self, node: NodeControl, scene: Scene) -> None:  # noqa: ARG002  (the same)
        node.limit(replace(node.limits(), cpus=self.cpus))

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (the same)
        cpus = node.limits().cpus
        if cpus is None:
            return "it may use all processors"
        if math.isclose(cpus, self.cpus, abs_tol=0.001):
            return None
        return f"it may use {cpus:g} processors"

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:
        restore_limit(node, "cpus", before)
