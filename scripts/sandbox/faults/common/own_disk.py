"""Whether a data directory has a file system of its own, which may be filled without harm to the host."""

from sandbox.errors import MachineError
from sandbox.faults.common.node import DATA, answer, inside
from sandbox.stack.protocol import NodeControl

LARGEST = 64 * 1024**3
_UNITS = {"k": 1024, "m": 1024**2, "g": 1024**3}


def refuse_shared_disk(node: NodeControl) -> None:
    """Raises SandboxError (exit 4) unless the data directory has a file system of its own of at most 64 GiB.

    The device number is not enough: a volume has another one than the container's root, and yet is the host's disk.
    """
    mount = data_mount(inside(node, "cat /proc/self/mountinfo", f"reading the mounts of {node.name}"))
    size = mount.get("size") or _blocks(node, mount["device"]) if "shared" not in mount else None
    if size is None or int(size) > LARGEST:
        what = f"the disk of {node.name} is not filled: it may be the host's"
        known = mount.get("shared") or (f"{int(size) / 1024**3:.0f} GiB; at most 64" if size else "of unknown size")
        raise MachineError(what, f"{DATA}: {known}", "try: make doctor")


def data_mount(mountinfo: str) -> dict[str, str]:
    """The data directory's ``device`` and ``size`` (of a tmpfs), or why it is not ``shared`` with nobody.

    Source: proc(5), mountinfo: number, parent, device, root, mount point, options…, ``-``, type, source, options.
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
    if kind != "tmpfs" and mine[3] != "/" and not source.startswith("/dev/loop"):
        return {"shared": f"it is the folder {mine[3]} of {source}"}
    limit = next((word.removeprefix("size=") for word in options.split(",") if word.startswith("size=")), "")
    return {"device": mine[2]} | ({"size": str(_bytes(limit))} if limit else {})


def _bytes(text: str) -> int:
    return int(text[:-1]) * _UNITS[text[-1]] if text[-1] in _UNITS else int(text)


def _blocks(node: NodeControl, device: str) -> int | None:
    """Size of a block device; None of what is none, such as a tmpfs without a limit."""
    result = answer(node, f"cat /sys/dev/block/{device}/size")
    return None if result.code else int(result.stdout) * 512
