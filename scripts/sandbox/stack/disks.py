"""Disks of their own for data directories: file systems in one volume of the stack, each on a loop
device.

The engine mounts such a data directory when its container starts, and unmounts it when the
container has ended. A loop device has the stack's project in its name, so that it is found whatever
was killed while it was made.
"""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from sandbox.core.errors import MachineError
from sandbox.profile.limits import parse_disk
from sandbox.profile.names import DATA_DIRECTORY, DISK, Identity
from sandbox.stack.create import mount_words, side_by_side, volume_labels
from sandbox.stack.engine import Docker, RefusedError
from sandbox.stack.inventory import Container, label_options, offline_options, owner_labels

Volume = tuple[str, str, str]
"""Name, project and checkout, as the inventory has them."""
_IMAGE = "sandbox.image"
"""Label of the volume with the disks: the image whose tools made them, and detach them."""
_DEVICES = ("--device-cgroup-rule", "b 7:* rwm", "--device-cgroup-rule", "c 10:237 rwm")
"""Loop devices and their control device, which the helper makes in its own /dev. Source: Linux,
devices.txt.
"""
_TOOL = files(__package__).joinpath("in_helper", "loop_disks.py").read_text(encoding="utf-8")


def make_disks(
    docker: Docker, document: Mapping[str, Any], identity: Identity, image: str, lock: int
) -> None:
    """Makes the disks that a Compose file's volumes ask for, and these volumes; nothing where none
    does.

    ``lock``: descriptor of the stack's lock, which a client that outlives us keeps. ``image``: the
    client's. Raises SandboxError (exit 4) where the engine's kernel has no loop devices or not this
    file system.
    """
    wanted = {name: body[DISK] for name, body in document["volumes"].items() if DISK in body}
    if not wanted:
        return
    creations = []
    for text in dict.fromkeys(wanted.values()):
        names = [name for name, disk in wanted.items() if disk == text]
        devices = _made_devices(docker, identity, image, text, names, lock)
        kind, _ = parse_disk(text)
        creations += [
            _creation(document, identity.project, name, kind, device)
            for name, device in devices.items()
        ]
    side_by_side(docker, dict.fromkeys(creations), lock)


def _made_devices(
    docker: Docker, identity: Identity, image: str, text: str, names: list[str], lock: int
) -> Mapping[str, str]:
    """Volume → loop device of disks that are alike. Raises SandboxError (exit 4)."""
    kind, size = parse_disk(text)
    labels = owner_labels(identity, image=image)
    mount = mount_words(_volume_of(identity.project), "/disks", labels)
    request = {"project": identity.project, "make": names, "kind": kind, "bytes": size}
    run = _helper(identity, image, request, "--mount", mount)
    answer = docker.begin(*run, pass_fds=(lock,)).answer()
    if answer.code:
        what = f"DISK={text}: the data directories get no disks of their own here"
        step = (
            "try: make doctor   (says whether there are loop devices; make up without DISK needs"
            " none)"
        )
        raise MachineError(what, answer.last_error or f"exit code {answer.code}", step)
    devices: Mapping[str, str] = json.loads(answer.stdout)
    return devices


def flush_disks(docker: Docker, servers: Sequence[Container]) -> None:
    """Writes to each disk what was copied there until now: a loss of power takes no data directory
    just made.

    Raises SandboxError (exit 4) where the engine refuses.
    """
    argv = ("sync", "-f", DATA_DIRECTORY)
    begun = [docker.begin("exec", "--user", "0", each.id, *argv) for each in servers]
    for each in begun:
        each.output()


def _creation(
    document: Mapping[str, Any], project: str, name: str, kind: str, device: str
) -> tuple[str, ...]:
    """The command that makes a volume of a device."""
    labels = label_options(volume_labels(document, project, name))
    options = ("--driver", "local", "--opt", f"type={kind}", "--opt", f"device={device}")
    return ("volume", "create", *options, *labels, f"{project}_{name}")


def disks_among(volumes: Sequence[Volume]) -> tuple[list[Volume], list[Volume]]:
    """The volumes that hold disks, and all others, which may be mounted from them."""
    disks = [each for each in volumes if each[0] == _volume_of(each[1])]
    return disks, [each for each in volumes if each not in disks]


def remove_disks(docker: Docker, volume: Volume) -> str:
    """Detaches the loop devices of a stack, whose other volumes are gone, and removes the disks;
    the problem, if any.

    The volume stays until no device is left: by it the next attempt knows that there may be some.
    """
    name, project, checkout = volume
    template = f'{{{{index .Labels "{_IMAGE}"}}}}'
    found = docker.answer("volume", "inspect", "--format", template, name)
    if found.code:
        return ""  # gone meanwhile
    run = _helper(Identity(project, checkout), found.stdout.strip(), {"project": project})
    for argv in (run, ("volume", "rm", "--force", name)):
        answer = docker.answer(*argv)
        if answer.code:
            return RefusedError(argv, answer).known
    return ""


def _helper(
    owner: Identity, image: str, request: Mapping[str, Any], *options: str
) -> tuple[str, ...]:
    """The command that runs the tool; of all that root may do, it may make device nodes alone."""
    own = ("run", "--rm", "--pull", "never", *offline_options(owner, node="disks"), *options)
    rights = ("--user", "0", "--cap-drop", "ALL", "--cap-add", "MKNOD", *_DEVICES)
    return (*own, *rights, "--entrypoint", "python3", image, "-c", _TOOL, json.dumps(request))


def _volume_of(project: str) -> str:
    """The volume that holds the disks of a stack."""
    return f"{project}_disks"
