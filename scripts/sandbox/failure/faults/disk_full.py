"""disk-full: the file system of a data directory has no room left."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from sandbox.core.errors import MachineError, SandboxError
from sandbox.failure.fault import SETTLE_S, Ability, Ending, Fault, Scene, soon
from sandbox.failure.faults.common.node import (
    DATA,
    answer,
    has_ended,
    inside,
    is_up,
    refuse_shared_disk,
    server_lives,
    wait_for_end,
)
from sandbox.stack.protocol import NodeControl

_BALLAST = f"{DATA}/.sandbox-ballast"
_TRIED = f"{DATA}/.sandbox-write"
_FILL_S = 600.0
_NO_ROOM = "No space left"
_RETRY_S = 75.0
"""MySQL and MariaDB try a write that had no room again after 60 s (mysys,
MY_WAIT_FOR_USER_TO_FIX_PANIC).
"""
_PAUSE_S = 0.5
# Nothing of it is replicated, and a read-only server does it, too.
_WRITING = "FLUSH LOCAL ENGINE LOGS; FLUSH LOCAL BINARY LOGS"
# What handles a crash of the server (signal 6, bit 5) is gone after its first use (SA_RESETHAND),
# which then writes a stack trace for up to a second, while other sessions go on. Source: proc(5),
# status.
_CRASHING = """\
read -r pid </sandbox/server.pid && caught=$(grep SigCgt "/proc/$pid/status") || exit
[ $((0x${caught##*[!0-9a-f]} & 0x20)) -ne 0 ] || echo crashing
"""


class DiskFull(Fault):
    """Its disk is full: writes fail or wait (ENOSPC), reads work; some servers end themselves."""

    needs: ClassVar[frozenset[Ability]] = frozenset({"own-disk"})
    ending: ClassVar[Ending] = "ends the container"
    heals_inside: ClassVar[bool] = True
    outlasts_heal: ClassVar[bool] = True
    leave_bytes: int = Field(
        default=0, ge=0, le=1024**3, description="bytes that stay free, for root"
    )

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

    def settle(self, node: NodeControl) -> None:
        soon(lambda: _unsettled(node), _RETRY_S, pause_s=_PAUSE_S)


def filling(leave_bytes: int) -> str:
    """The script that fills the data directory's file system but for some bytes; quickly where
    fallocate(1) exists.
    """
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
"""  # noqa: E501


def trying(size: int) -> str:
    """The script that prints a word where so many bytes more can be written, and removes them
    again.
    """
    return f"""\
answer=$(LC_ALL=C dd if=/dev/zero of={_TRIED} bs=65536 count={-(-size // 65536)} conv=fsync 2>&1) && echo written
rm -f {_TRIED}
case $answer in *'{_NO_ROOM}'* | *copied*) ;; *) echo "$answer" >&2; exit 1 ;; esac
"""  # noqa: E501


def _unsettled(node: NodeControl) -> str | None:
    """The sign that a write from before the heal may still hold the server up, or end it; None once
    neither can.

    The write that is asked for waits behind that one, and fails where the server ends for it.
    """
    if is_up(node) and not server_lives(node):
        wait_for_end(node, SETTLE_S)
    if has_ended(node):
        node.start()
        return None
    if not is_up(node) or not server_lives(node):  # for another fault
        return None
    try:
        written = node.ask(_WRITING, _RETRY_S)
    except TimeoutError:
        return f"no write within {_RETRY_S:g} s"
    if written.code:
        return written.last_error or f"exit code {written.code}"
    return answer(node, _CRASHING).stdout.strip() or None


def _remaining(node: NodeControl) -> str | None:
    """Removes the ballast, which may have ended the server: then its container starts again.

    Not before: an entrypoint that gives each file to the server's user fails where one vanishes
    meanwhile.
    """
    removing = f"rm -f {_BALLAST} {_TRIED}"
    ended = has_ended(node)
    result = node.in_volumes(removing) if ended else answer(node, removing)
    if result.code:
        return result.last_error or f"exit code {result.code}"
    if ended:
        node.start()
    return None
