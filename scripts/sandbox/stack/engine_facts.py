"""Facts of the engine, its kernel and its machine: for records, `doctor`, and refusals of what does
not fit.
"""

import json
import re
import shutil
import socket
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sandbox.core.errors import MachineError
from sandbox.profile.names import PACKAGE_LABEL, Identity
from sandbox.stack.asked_ahead import INFO
from sandbox.stack.engine import Docker, Pending, RefusedError
from sandbox.stack.inventory import offline_options
from sandbox.stack.protocol import Engine

if TYPE_CHECKING:  # Pydantic's models: a `sql` starts without them
    from sandbox.profile.plan import Plan

SERVER_DISK_MB = 400
"""A fresh data directory with its logs (measured: MySQL 9.7 190 MB), Galera's cache (128 MB), and a
little more.
"""
_MEMINFO = Path("/proc/meminfo")
_CPUINFO = Path("/proc/cpuinfo")


def begin_info(docker: Docker) -> Pending:
    """Requests the input of `read_info`; the client takes 0.1 s for it, so this starts early."""
    return docker.begin(*INFO)


def read_info(text: str) -> dict[str, Any]:
    """The output of `docker info --format {{json .}}` as data."""
    return dict(json.loads(text))


def engine_facts(docker: Docker) -> Engine:
    """The engine and the machine where containers run. SandboxError (exit 4) where the engine does
    not answer.
    """
    info = read_info(docker.ask(*INFO))
    return Engine(
        version=info["ServerVersion"],
        operating_system=info["OperatingSystem"],
        kernel=info["KernelVersion"],
        architecture=info["Architecture"],
        cgroup_version=str(info.get("CgroupVersion") or "1"),
        storage_driver=info["Driver"],
        cpus=info["NCPU"],
        memory_bytes=info["MemTotal"],
    )


def image_facts(docker: Docker, container_ids: Sequence[str]) -> dict[str, dict[str, str | None]]:
    """Container id → those fields of a StackNode that its image gives, in two calls; none for one
    that is gone.
    """
    inspected = _inspected(docker, "container", container_ids)
    images = {
        image["Id"]: _facts(image)
        for image in _inspected(docker, "image", sorted({item["Image"] for item in inspected}))
    }
    return {item["Id"]: images[item["Image"]] for item in inspected if item["Image"] in images}


def _inspected(docker: Docker, kind: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """The ones of ``names`` that exist; the client reports the others on its error output."""
    return list(json.loads(docker.answer(kind, "inspect", *names).stdout or "[]")) if names else []


def _facts(image: Mapping[str, Any]) -> dict[str, str | None]:
    digests = image.get("RepoDigests") or []
    labels = (image.get("Config") or {}).get("Labels") or {}
    return {
        "image_id": image["Id"],
        "digest": digests[0].partition("@")[2] if digests else None,
        "package_version": labels.get(PACKAGE_LABEL),
    }


def host_class(engine: Engine, cpuinfo: Path = _CPUINFO) -> str:
    """``AMD EPYC, 2 cores, engine 20.10.24, fuse-overlayfs``.

    The processor's name where this machine's kernel is the containers' too, else their
    architecture.
    """
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE)
    except OSError:
        found = None
    model = found[1].strip() if found else engine.architecture
    return f"{model}, {engine.cpus} cores, engine {engine.version}, {engine.storage_driver}"


def check_resources(plan: "Plan", info: Mapping[str, Any], meminfo: Path = _MEMINFO) -> None:
    """``info``: the output of `docker info`. Raises SandboxError (exit 4) where memory or disk is
    known to be short.

    Free memory and disk are only known where the engine runs on this machine; elsewhere its total
    memory is the bound.
    """
    free_mb = available_memory_mb(info, meminfo)
    if plan.memory_mb > free_mb:
        raise MachineError(
            f"{plan.profile} needs about {plan.memory_mb} MiB of memory, but only {free_mb} MiB are"
            " free",
            f"the engine's machine has {info['MemTotal'] >> 20} MiB",
            "try: make ps   (then make down NAME=… for stacks that you do not need)",
        )
    needed_mb = SERVER_DISK_MB * len(plan.databases)
    disk_mb = free_disk_mb(info)
    if disk_mb is not None and needed_mb > disk_mb:
        raise MachineError(
            f"{plan.profile} needs about {needed_mb} MiB of disk, but only {disk_mb} MiB are free",
            f"the engine keeps its data in {info['DockerRootDir']}",
            "try: docker system df   (shows what uses it)",
        )


def is_local(info: Mapping[str, Any]) -> bool:
    """Whether the engine runs on this machine, not in Docker Desktop's virtual machine or behind
    ssh.
    """
    return info.get("Name") == socket.gethostname() and Path(info.get("DockerRootDir", "")).is_dir()


def available_memory_mb(info: Mapping[str, Any], meminfo: Path = _MEMINFO) -> int:
    """Memory that new processes can take, MiB; the machine's total memory where that is not visible
    from here.
    """
    if is_local(info) and meminfo.exists():
        for line in meminfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) >> 10
    return int(info["MemTotal"]) >> 20


def free_disk_mb(info: Mapping[str, Any]) -> int | None:
    """Free space where the engine keeps volumes, MiB; None where it is not visible from here."""
    return shutil.disk_usage(info["DockerRootDir"]).free >> 20 if is_local(info) else None


KERNEL_ABILITIES = ("netem", "tbf", "iptables", "write-limit")
"""Names of what `lacking` knows about."""
CONTROL_GROUPS = "/sys/fs/cgroup:/cgroup"
"""The mount with which a helper sees the control groups of every container."""
WRITE_LIMIT = files(__package__).joinpath("write_limit.sh").read_text(encoding="utf-8")
_TRY = files(__package__).joinpath("abilities.sh").read_text(encoding="utf-8")
_PATIENCE_S = 20.0
_known: WeakKeyDictionary[Docker, Mapping[str, str]] = WeakKeyDictionary()


def begin_trying(docker: Docker, image: str, owner: Identity) -> Pending:
    """Starts the container; `read_answers` reads its output. ``image``: the client's, which has the
    tools.
    """
    rights = ["--user", "0", "--cap-add", "NET_ADMIN", "--volume", f"{CONTROL_GROUPS}:ro"]
    command = ["--entrypoint", "sh", image, "-c", _TRY, "try", WRITE_LIMIT]
    return docker.begin("run", "--rm", *offline_options(owner), *rights, *command)


def read_answers(text: str) -> dict[str, tuple[bool, str]]:
    """Name → whether the kernel can do it, and the answer of what was tried."""
    lines = [line.split(" ", 2) for line in text.splitlines()]
    return {
        line[0]: (line[1] == "yes", line[2] if len(line) > 2 else "")
        for line in lines
        if len(line) > 1
    }


def lacking(docker: Docker, image: str, owner: Identity) -> Mapping[str, str]:
    """Abilities of KERNEL_ABILITIES that the kernel lacks, each with the reason; asked once for an
    engine.

    Raises SandboxError (exit 4) where the container does not run: then nothing is known, and it is
    asked again.
    """
    if docker not in _known:
        pending = begin_trying(docker, image, owner)
        ended = pending.answer_within(_PATIENCE_S)
        if ended.code:
            raise RefusedError(pending.argv, ended)
        answers = read_answers(ended.stdout)
        found = {name: answers.get(name, (False, "no answer")) for name in KERNEL_ABILITIES}
        _known[docker] = {
            name: reason or "no reason given" for name, (can, reason) in found.items() if not can
        }
    return _known[docker]
