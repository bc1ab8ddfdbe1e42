"""Whether a data directory has a file system of its own, so that filling it, or its power loss,
harms nobody else.
"""

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.failure.faults.common.node import DATA, answer, inside
from sandbox.stack.protocol import NodeControl

_LOOP_DEVICES = "/dev/loop"
_SHUT_DOWN = ("ext4", "xfs")
_STEP = "try: make up PROFILE=mysql@9.7 DISK=ext4:4g"
LARGEST = 64 * 1024**3
_UNITS = {"k": 1024, "m": 1024**2, "g": 1024**3}


def refuse_shared_disk(node: NodeControl) -> None:
    """Raises SandboxError (exit 3: skipped) unless the data directory has a file system of its own,
    at most 64 GiB.

    The device number is not enough: a volume has another one than the container's root, and yet is
    the host's disk.
    """
    mount = _mount_of(node)
    size = mount.get("size") or _blocks(node, mount) if "shared" not in mount else None
    if size is None or int(size) > LARGEST:
        what = f"the fault disk-full is skipped: the disk of {node.name} may be the host's"
        known = mount.get("shared") or (
            f"{int(size) / 1024**3:.0f} GiB; at most 64" if size else "of unknown size"
        )
        raise SandboxError(what, f"{DATA}: {known}", _STEP, ExitCode.UNKNOWN)


def refuse_powered_disk(node: NodeControl) -> None:
    """Raises SandboxError (exit 3: skipped) unless the data directory is the whole ext4 or XFS of a
    loop device.

    No other can be shut down without flushing.
    """
    mount = _mount_of(node)
    reason = mount.get("shared")
    if not reason and (mount["root"] != "/" or not mount["source"].startswith(_LOOP_DEVICES)):
        reason = f"it is {mount['root']} of {mount['source']}"
    if not reason and mount["kind"] not in _SHUT_DOWN:
        reason = f"{mount['kind']} cannot be shut down without flushing"
    if reason:
        what = (
            f"the fault power-loss is skipped: {node.name} has no disk of its own that can lose"
            " power"
        )
        raise SandboxError(what, f"{DATA}: {reason}", _STEP, ExitCode.UNKNOWN)


def _mount_of(node: NodeControl) -> dict[str, str]:
    return data_mount(
        inside(node, "cat /proc/self/mountinfo", f"reading the mounts of {node.name}")
    )


def data_mount(mountinfo: str) -> dict[str, str]:
    """The data directory's ``device``, ``root``, ``kind``, ``source``, ``size`` (of a tmpfs), or
    how it is ``shared``.

    Source: proc(5), mountinfo: number, parent, device, root, mount point, options…, ``-``, type,
    source, options.
    """
    mounts = [line.split() for line in mountinfo.splitlines()]
    found = [words for words in mounts if words[4] == DATA]
    if not found:
        return {"shared": "it is on the file system of the container"}
    mine = found[-1]
    kind, source, options = mine[mine.index("-") + 1 :][:3]
    others = [words[4] for words in mounts if words[2] == mine[2] and words[4] != DATA]
    if others:
        return {"shared": f"its file system is mounted at {others[0]}, too"}
    if kind != "tmpfs" and mine[3] != "/" and not source.startswith(_LOOP_DEVICES):
        return {"shared": f"it is the folder {mine[3]} of {source}"}
    limit = next(
        (word.removeprefix("size=") for word in options.split(",") if word.startswith("size=")), ""
    )
    mount = {"device": mine[2], "root": mine[3], "kind": kind, "source": source}
    return mount | ({"size": str(_bytes(limit))} if limit else {})


def _bytes(text: str) -> int:
    return int(text[:-1]) * _UNITS[text[-1]] if text[-1] in _UNITS else int(text)


def _blocks(node: NodeControl, mount: dict[str, str]) -> int | None:
    """Size of a block device; None of what is none, such as a tmpfs without a limit."""
    # A Btrfs has a device number of its own, which is not that of its disk.
    of_source = f"/sys/class/block/{mount['source'].rpartition('/')[2]}/size"
    result = answer(
        node, f"cat /sys/dev/block/{mount['device']}/size 2>/dev/null || cat {of_source}"
    )
    return None if result.code else int(result.stdout) * 512
