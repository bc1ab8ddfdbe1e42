"""Refuses a start that this machine has no memory or disk for, before anything is made."""

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
    """``info`` is what `docker info` says. Raises SandboxError (exit 4) where memory or disk is known to be short.

    Free memory and disk are only known where the engine runs on this machine; elsewhere its whole memory is the bound.
    """
    free_mb = available_memory_mb(info, meminfo)
    if plan.memory_mb > free_mb:
        raise SandboxError(
            f"{plan.profile} needs about {plan.memory_mb} MiB of memory, and {free_mb} MiB are free",
            f"the engine's machine has {info['MemTotal'] >> 20} MiB",
            "try: make ps   (and make down NAME=… what is not needed)",
            ExitCode.ENVIRONMENT,
        )
    needed_mb, disk_mb = SERVER_DISK_MB * len(plan.databases), free_disk_mb(info)
    if disk_mb is not None and needed_mb > disk_mb:
        raise SandboxError(
            f"{plan.profile} needs about {needed_mb} MiB of disk, and {disk_mb} MiB are free",
            f"the engine keeps its data in {info['DockerRootDir']}",
            "try: docker system df   (shows what takes it)",
            ExitCode.ENVIRONMENT,
        )


def is_local(info: Mapping[str, Any]) -> bool:
    """Whether the engine runs on this very machine, not in Docker Desktop's virtual one or behind ssh."""
    return info.get("Name") == socket.gethostname() and Path(info.get("DockerRootDir", "")).is_dir()


def available_memory_mb(info: Mapping[str, Any], meminfo: Path = _MEMINFO) -> int:
    """Memory that new processes can take, MiB; the machine's whole memory where that cannot be seen from here."""
    if is_local(info) and meminfo.exists():
        for line in meminfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) >> 10
    return int(info["MemTotal"]) >> 20


def free_disk_mb(info: Mapping[str, Any]) -> int | None:
    """Free space where the engine keeps volumes, MiB; None where it cannot be seen from here."""
    return shutil.disk_usage(info["DockerRootDir"]).free >> 20 if is_local(info) else None
