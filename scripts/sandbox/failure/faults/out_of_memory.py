"""out-of-memory: the kernel kills a server that uses more memory than it may."""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import ClassVar

from pydantic import Field

from sandbox.core.errors import SandboxError
from sandbox.failure.fault import SETTLE_S, Ending, Fault, Scene, soon
from sandbox.failure.faults.common.node import (
    NODES,
    SERVERS,
    answer,
    is_up,
    limit_now,
    restore_limit,
    revive,
    server_lives,
    wait_for_end,
)
from sandbox.profile.library import Kind
from sandbox.stack.protocol import Limits, NodeControl

_LEAST_LIMIT = 8 * 1024 * 1024  # the engine refuses less than 6 MiB
_MARGIN = 4 * 1024 * 1024
_ALLOCATED = 64 * 1024 * 1024
_PATIENCE_S = 20.0
# Memory in use, in control groups of version 2 and 1.
_USED = (
    "cat /sys/fs/cgroup/memory.current 2>/dev/null || cat"
    " /sys/fs/cgroup/memory/memory.usage_in_bytes"
)
# As the largest process the server is the kernel's choice anyway; so it is for sure. Source:
# proc(5), oom_score_adj.
_CHOOSE_SERVER = 'read -r pid </sandbox/server.pid && printf 1000 >"/proc/$pid/oom_score_adj"'
_SPARE_SERVER = (
    'read -r pid </sandbox/server.pid && cat /proc/1/oom_score_adj >"/proc/$pid/oom_score_adj"'
)
_ALLOCATE = f"head -c {_ALLOCATED} /dev/zero | tail -c {_ALLOCATED} >/dev/null"


class OutOfMemory(Fault):
    """The kernel kills the server for want of memory, and its container ends with it: connections
    end, it is gone.
    """

    kinds: ClassVar[frozenset[Kind]] = NODES
    ending: ClassVar[Ending] = "ends the container"
    heals_inside: ClassVar[bool] = True
    same_before: ClassVar[bool] = True
    share: float = Field(
        default=0.5,
        ge=0.05,
        le=0.95,
        description="the limit, as a share of what is used; lowered until it kills",
    )

    def before(self, node: NodeControl, scene: Scene) -> dict[str, str]:  # noqa: ARG002  (peers do not matter)
        return limit_now(node, "memory_bytes")

    def inject(self, node: NodeControl, scene: Scene) -> None:  # noqa: ARG002  (the same)
        cpus = node.limits().cpus
        end_s = time.monotonic() + _PATIENCE_S
        if node.kind in SERVERS:
            answer(node, _CHOOSE_SERVER)
        while _missing(node) and time.monotonic() < end_s:
            self._squeeze(node, cpus)

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (the same)
        return soon(lambda: _missing(node))

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:
        restore_limit(node, "memory_bytes", before)
        if node.kind in SERVERS:
            # Its container, which may run for a moment after a server that was killed.
            wait_for_end(node, SETTLE_S)
        if not is_up(node) or (node.kind in SERVERS and not server_lives(node)):
            revive(node)
        elif node.kind in SERVERS:  # an injection that was ended halfway
            answer(node, _SPARE_SERVER)

    def _squeeze(self, node: NodeControl, cpus: float | None) -> None:
        """Sets the limit below what is used; where that is refused (cgroup v1), above, and uses
        more.
        """
        with suppress(SandboxError, ValueError):  # it may end at any of these moments
            used = int(answer(node, _USED).stdout)
            with suppress(SandboxError):
                node.limit(Limits(cpus, max(_LEAST_LIMIT, round(used * self.share))))
                return
            node.limit(Limits(cpus, int(answer(node, _USED).stdout) + _MARGIN))
            answer(node, _ALLOCATE)


def _missing(node: NodeControl) -> str | None:
    """The sign that nothing was killed. Not every engine reports ``out of memory``: then exit
    status 137 does.
    """
    state = node.state()
    if state.startswith("exited (137)") or "out of memory" in state:
        return None
    if not state.startswith("running"):
        return f"its container is {state}"
    alive = node.kind not in SERVERS or server_lives(node)
    return "the kernel has not killed it" if alive else None
