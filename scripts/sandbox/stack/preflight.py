"""Rejects a start for which this machine lacks memory or disk, before anything is created."""

import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox.errors import ExitCode, SandboxError
from sandbox.plan.model import Plan

SERVER_DISK_MB = 400
"""A fresh data directory with its logs (measured: MySQL 9.7 190 MB), Galera's cache (128 MB), and a little more."""
_MEMINFO = Path("/proc/meminfo")


def check_resources(plan: Plan, info: Mapping[str, Any], meminfo: Path = _MEMINFO) -> None:
    """``info``: the output of `docker info`. Raises SandboxError (exit 4) where memory or disk is known to be short.

    Free memory and disk are only known where the engine runs on this machine; elsewhere its total memory is the bound.
    """
    free_mb = available_memory_mb(info, meminfo)
    if plan.memory_mb > free_mb:
        raise SandboxError(
            f"{plan.profile} needs about {plan.memory_mb} MiB of memory, but only {free_mb} MiB are free",
            f"the engine's machine has {info['MemTotal'] >> 20} MiB",
            "try: make ps   (then make down NAME=… for stacks that you do not need)",
            ExitCode.ENVIRONMENT,
        )
    needed_mb, disk_mb = SERVER_DISK_MB * len(plan.databases), free_disk_mb(info)
    if disk_mb is not None and needed_mb > disk_mb:
        raise SandboxError(
            f"{plan.profile} needs about {needed_mb} MiB of disk, but only {disk_mb} MiB are free",
            f"the engine keeps its data in {info['DockerRootDir']}",
            "try: docker system df   (shows what uses it)",
            ExitCode.ENVIRONMENT,
        )


def is_local(info: Mapping[str, Any]) -> bool:
    """Whether the engine runs on this machine, not in Docker Desktop's virtual machine or behind ssh."""
    return info.get("Name") == socket.gethostname() and Path(info.get("DockerRootDir", "")).is_dir()


def available_memory_mb(info: Mapping[str, Any], meminfo: Path = _MEMINFO) -> int:
    """Memory that new processes can take, MiB; the machine's total memory where that is not visible from here."""
    if is_local(info) and meminfo.exists():
        for line in meminfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) >> 10
    return int(info["MemTotal"]) >> 20


def free_disk_mb(info: Mapping[str, Any]) -> int | None:
    """Free space where the engine keeps volumes, MiB; None where it is not visible from here."""
    return shutil.disk_usage(info["DockerRootDir"]).free >> 20 if is_local(info) else None
