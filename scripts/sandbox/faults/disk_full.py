"""disk-full: the file system of a data directory has no room left."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from sandbox.errors import MachineError, SandboxError
from sandbox.faults.common.model import SETTLE_S, Ability, Ending, Fault, Scene, soon
from sandbox.faults.common.node import DATA, answer, has_ended, inside
from sandbox.faults.common.own_disk import refuse_shared_disk
from sandbox.stack.protocol import NodeControl

_BALLAST = f"{DATA}/.sandbox-ballast"
_PROBE = f"{DATA}/.sandbox-write"
_FILL_S = 600.0
_NO_ROOM = "No space left"


class DiskFull(Fault):
    """Its disk is full: writes fail or wait (ENOSPC), reads work; some servers end themselves."""

    needs: ClassVar[frozenset[Ability]] = frozenset({"own-disk"})
    ending: ClassVar[Ending] = "ends the container"
    heals_inside: ClassVar[bool] = True
    leave_bytes: int = Field(default=0, ge=0, le=1024**3, description="bytes that stay free, for root")

    def longest_s(self) -> float:
        return _FILL_S

    def before(self, node: NodeControl, scene: Scene) -> dict[str, str]:  # noqa: ARG002  (peers do not matter)
        refuse_shared_disk(node)
        return {}

    def inject(self, node: NodeControl, scene: Scene) -> None:  # noqa: ARG002  (the same)
        inside(node, filling(self.leave_bytes), f"filling the disk of {node.name}", _FILL_S)

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (the same)
        more = self.leave_bytes + 1024**2
        try:
            written = inside(node, trying(more), f"writing to the disk of {node.name}", _FILL_S)
        except SandboxError:
            if has_ended(node):  # a server that cannot write may end
                return None
            raise
        return f"{more} bytes more can be written" if written else None

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:  # noqa: ARG002  (it needs nothing)
        missing = soon(lambda: _remaining(node), 2 * SETTLE_S) if node.state() != "gone" else None
        if missing:
            raise MachineError(f"the disk of {node.name} is still full", missing, "try: make heal")


def filling(leave_bytes: int) -> str:
    """The script that fills the data directory's file system but for some bytes; quickly where fallocate(1) exists."""
    return f"""\
size() {{ wc -c <{_BALLAST}; }}
: >{_BALLAST} || exit
for length in 1073741824 67108864 4194304 262144; do
  while fallocate -o "$(size)" -l $length {_BALLAST} 2>/dev/null; do :; done
done
answer=$(LC_ALL=C dd if=/dev/zero bs=1048576 2>&1 >>{_BALLAST})
case $answer in *'{_NO_ROOM}'*) ;; *) echo "$answer" >&2; rm {_BALLAST}; exit 1 ;; esac
[ "$(size)" -gt {leave_bytes} ] || {{ echo 'fewer than {leave_bytes} bytes were free' >&2; rm {_BALLAST}; exit 1; }}
dd if=/dev/null of={_BALLAST} bs=1 seek=$(($(size) - {leave_bytes})) 2>/dev/null
"""


def trying(size: int) -> str:
    """The script that prints a word where so many bytes more can be written, and removes them again."""
    return f"""\
answer=$(LC_ALL=C dd if=/dev/zero of={_PROBE} bs=65536 count={-(-size // 65536)} conv=fsync 2>&1) && echo written
rm -f {_PROBE}
case $answer in *'{_NO_ROOM}'* | *copied*) ;; *) echo "$answer" >&2; exit 1 ;; esac
"""


def _remaining(node: NodeControl) -> str | None:
    """Removes the ballast, which may have ended the server: then its container starts again.

    Not before: an entrypoint that gives each file to the server's user fails where one vanishes meanwhile.
    """
    removing, ended = f"rm -f {_BALLAST} {_PROBE}", has_ended(node)
    result = node.in_volumes(removing) if ended else answer(node, removing)
    if result.code:
        return result.last_error or f"exit code {result.code}"
    if ended:
        node.start()
    return None
