"""Runs in a helper: makes file systems in files at /disks and puts each on a loop device, or
detaches those of a stack.

Argument: a request as JSON, ``{"project": …, "make": [name, …], "kind": "ext4", "bytes": …}``;
without ``make`` the devices of the project are detached. Standard output: name → device as JSON.
Source: linux/loop.h (LOOP_CONFIGURE: 5.8).
"""

import errno
import fcntl
import json
import os
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

DISKS = Path("/disks")
BLOCK_DEVICES = Path("/sys/block")
LOOP_CLR_FD = 0x4C01
LOOP_GET_STATUS64 = 0x4C05
LOOP_CONFIGURE = 0x4C0A
LOOP_CTL_GET_FREE = 0x4C82
STATUS = struct.Struct("=5Q4I64s64s32s2Q")
"""struct loop_info64: device, inode, rdevice, offset, size limit; number, encryption, flags; names,
key, reserved.
"""
FLAGS_FIELD = 8
NAME_FIELD = 9
NAME_BYTES = 63
DIRECT_IO = 16
"""LO_FLAGS_DIRECT_IO: no second copy in the host's cache, whose kernel threads would take the
processors of the prober.

The kernel leaves it out where the host's file system cannot do it.
"""
CONFIGURATION = struct.Struct(f"=2I{STATUS.size}s8Q")
"""struct loop_config: the file's descriptor, its block size (0: the kernel's), its status,
reserved.
"""
CONTROL_NUMBERS = (10, 237)
ATTEMPTS = 100
"""Another process may take the free device first."""
PATIENCE_S = 5.0
MAKE = {
    "ext4": ["mkfs.ext4", "-q", "-F", "-m", "0"],
    "xfs": ["mkfs.xfs", "-q", "-f"],
    "btrfs": ["mkfs.btrfs", "-q", "-f"],
}
"""Nothing is reserved for root: a full disk is full for the server and for the ballast alike."""


def make(project: str, name: str, kind: str, size: int) -> str:
    """Makes one disk; its loop device."""
    # losetup(8) shows no more of it than this, once the helper is gone.
    path = DISKS / project / name
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)
    run([*MAKE[kind], str(path)])
    if kind == "ext4":  # the engine copies the image's content and owner into an empty volume only
        run(["debugfs", "-w", "-R", "rmdir lost+found", str(path)])
    return attached(path, name_of(project, name))


def run(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{words[0]} failed: {(done.stderr or done.stdout).strip()}")


def name_of(project: str, name: str) -> bytes:
    """The name that the kernel keeps with the device; the project is never cut."""
    return f"{project}/{name}".encode()[:NAME_BYTES]


def attached(path: Path, name: bytes) -> str:
    """Puts a file on a free loop device, which has the name from its first moment on."""
    status = STATUS.pack(*[0] * FLAGS_FIELD, DIRECT_IO, name, b"", b"", 0, 0)
    with path.open("r+b") as file:
        configuration = CONFIGURATION.pack(file.fileno(), 0, status, *[0] * 8)
        for _ in range(ATTEMPTS):
            number = free_number()
            try:
                with opened(f"loop{number}") as device:
                    fcntl.ioctl(device, LOOP_CONFIGURE, configuration)
                return f"/dev/loop{number}"
            except OSError as problem:
                if problem.errno not in (errno.EBUSY, errno.ENXIO):
                    raise
    sys.exit("every loop device was taken by another process first")


def free_number() -> int:
    """Number of a loop device without a file; the kernel makes one where there is none."""
    node("loop-control", stat.S_IFCHR, os.makedev(*CONTROL_NUMBERS))
    control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    try:
        return fcntl.ioctl(control, LOOP_CTL_GET_FREE)
    finally:
        os.close(control)


def node(name: str, kind: int, numbers: int) -> None:
    with suppress(FileExistsError):
        os.mknod(f"/dev/{name}", kind | 0o600, numbers)


@contextmanager
def opened(device: str) -> Iterator[int]:
    """A descriptor of a loop device, which is made in the container's own /dev."""
    major, minor = (BLOCK_DEVICES / device / "dev").read_text().split(":")
    node(device, stat.S_IFBLK, os.makedev(int(major), int(minor)))
    descriptor = os.open(f"/dev/{device}", os.O_RDWR | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def devices_of(project: str) -> list[str]:
    """Loop devices with a name that `name_of` gave."""
    return [each for each in in_use() if name_on(each).startswith(f"{project}/".encode())]


def in_use() -> list[str]:
    """Loop devices that have a file."""
    return sorted(path.parent.parent.name for path in BLOCK_DEVICES.glob("loop*/loop/backing_file"))


def name_on(device: str) -> bytes:
    """The name that was given to a loop device; empty where it has no file any more."""
    answer = bytearray(STATUS.size)
    try:
        with opened(device) as descriptor:
            fcntl.ioctl(descriptor, LOOP_GET_STATUS64, answer)
    except OSError as problem:
        if problem.errno in (errno.ENXIO, errno.ENOENT):
            return b""
        raise
    return bytes(STATUS.unpack(answer)[NAME_FIELD]).rstrip(b"\0")


def detach(project: str) -> None:
    """Detaches every device of a project; one that is mounted still follows as soon as it is not,
    at the latest.
    """
    end = time.monotonic() + PATIENCE_S
    while left := devices_of(project):
        for device in left:
            with suppress(OSError), opened(device) as descriptor:
                fcntl.ioctl(descriptor, LOOP_CLR_FD)
        if time.monotonic() > end:
            sys.exit(f"{', '.join(left)}: in use still")
        time.sleep(0.02)


def main(request: dict[str, Any]) -> None:
    """Does what was requested."""
    if "make" in request:
        own = (request["kind"], request["bytes"])
        print(json.dumps({name: make(request["project"], name, *own) for name in request["make"]}))
    else:
        detach(request["project"])


if __name__ == "__main__":
    try:
        main(json.loads(sys.argv[1]))
    except OSError as refusal:
        sys.exit(f"{refusal.strerror}: {refusal.filename or 'a loop device'}")
