"""slow-disk: writes of a node are slow."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from sandbox.failure.fault import Ability, Fault, Scene, soon
from sandbox.failure.faults.common.node import DATA, answer, has_processes
from sandbox.stack.protocol import NodeControl

_FILE = f"{DATA}/.sandbox-write"
_LEAST_WRITE = 1024 * 1024
_TOO_SLOW = 124  # exit status of timeout(1)


class SlowDisk(Fault):
    """Its disk writes slowly: commits and flushes take longer, and a cluster waits for it (flow
    control).
    """

    needs: ClassVar[frozenset[Ability]] = frozenset({"write-limit"})
    heals_inside: ClassVar[bool] = True
    lives_in_container: ClassVar[bool] = True
    bytes_per_s: int = Field(
        default=1024 * 1024,
        ge=64 * 1024,
        le=100 * 1024 * 1024,
        description="bytes written in a second, at most",
    )

    def inject(self, node: NodeControl, scene: Scene) -> None:  # noqa: ARG002  (peers do not matter)
        node.write_limit(self.bytes_per_s)

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (the same)
        return soon(lambda: self._missing(node))

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:  # noqa: ARG002  (it needs nothing)
        if has_processes(node):  # the limit went with the control group of a container that ended
            node.write_limit(None)
            answer(node, f"rm -f {_FILE}")

    def _missing(self, node: NodeControl) -> str | None:
        """A write that the limit makes last longer than half of what it allows."""
        # The kernel lets 0.1 s of writes through at once.
        size = max(_LEAST_WRITE, self.bytes_per_s // 2)
        half_s = size / self.bytes_per_s / 2
        try:
            code = node.execute(writing(size, half_s), half_s + 20).code
        except TimeoutError:
            return None
        if code == _TOO_SLOW:
            return None
        return (
            f"a write of {size} bytes fails ({code})"
            if code
            else f"{size} bytes are written in {half_s:g} s"
        )


def writing(size: int, limit_s: float) -> str:
    """The script that writes and removes a file in the data directory; exit status 124 where that
    lasts longer.
    """
    return f"""\
tried() {{
  timeout {limit_s:.3f} dd if=/dev/zero of={_FILE} bs=65536 count={-(-size // 65536)} "$@" 2>/dev/null
}}
tried oflag=direct conv=fsync
code=$?
case $code in 0 | {_TOO_SLOW}) ;; *) tried conv=fsync; code=$? ;; esac
rm -f {_FILE}
exit $code
"""  # noqa: E501
