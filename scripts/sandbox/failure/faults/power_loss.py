"""power-loss: a node loses its power, and what was not flushed to its disk."""

from collections.abc import Mapping
from typing import ClassVar

from sandbox.core.errors import SandboxError
from sandbox.failure.fault import Ability, Ending, Fault, Scene, soon
from sandbox.failure.faults.common.node import (
    DATA,
    SERVERS,
    answer,
    beside_disk,
    has_ended,
    is_up,
    missing_end,
    refuse_powered_disk,
)
from sandbox.failure.faults.common.packets import CHAIN, clear, putting
from sandbox.profile.library import Kind
from sandbox.stack.protocol import NodeControl

_CHAIN = f"{CHAIN}-POWER"
# Source: Linux, EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN: one number. Flag 2: not even the journal
# is flushed.
_SHUT_DOWN = """\
python3 -IS -c '
import errno, fcntl, os, struct, sys
folder = os.open("/data", os.O_RDONLY)
fcntl.ioctl(folder, 0x8004587D, struct.pack("I", 2))
try:
    os.fsync(folder)  # refused by ext4
    os.listdir(folder)  # refused by XFS
except OSError as problem:
    sys.exit(0 if problem.errno == errno.EIO else str(problem))
sys.exit("the file system still answers")
'
"""
_TRY = f"LC_ALL=C cp /dev/null {DATA}/.sandbox-write && rm {DATA}/.sandbox-write"


class PowerLoss(Fault):
    """The node loses power: it vanishes like a lost host, and its disk has only what was
    flushed.
    """

    needs: ClassVar[frozenset[Ability]] = frozenset({"iptables", "own-disk"})
    kinds: ClassVar[frozenset[Kind]] = SERVERS | {"manager"}
    ending: ClassVar[Ending] = "ends the container"

    def befalls_host(self) -> bool:
        return True

    def before(self, node: NodeControl, scene: Scene) -> dict[str, str]:  # noqa: ARG002  (peers do not matter)
        refuse_powered_disk(node)
        beside_disk(
            node, "iptables -w -S >/dev/null && python3 -c ''", f"reaching the disk of {node.name}"
        )
        return {}

    def inject(self, node: NodeControl, scene: Scene) -> None:  # noqa: ARG002  (the same)
        cut = putting(_CHAIN, ["-j DROP"])
        if node.kind in SERVERS:  # what shares its host shares its disk, which is shut down once
            cut += _SHUT_DOWN  # in one script: between the two, the server flushes on
        beside_disk(node, cut, f"cutting the power of {node.name}")
        _kill(node)
        # The engine unmounts only what no container uses; the rules stay while the processes end.
        node.release()

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (the same)
        return soon(lambda: missing_end(node))

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:  # noqa: ARG002  (it needs nothing)
        # halfway.
        if (
            node.kind in SERVERS
            and is_up(node)
            and "Input/output error" in answer(node, _TRY).stderr
        ):
            _kill(node)
            soon(lambda: missing_end(node))
        clear(node, _CHAIN)
        if has_ended(node):
            node.start()


def _kill(node: NodeControl) -> None:
    """A server that cannot write any more may have ended by itself first."""
    try:
        node.signal("KILL")
    except SandboxError:
        if not has_ended(node):
            raise
