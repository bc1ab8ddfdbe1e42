"""`make doctor`: every prerequisite with its state and the fix."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sandbox.errors import SandboxError
from sandbox.library import load_library, load_lock
from sandbox.plan.images import at_least, built_alias
from sandbox.stack.doctor_probes import KernelProbe, Reach, ReachProbe
from sandbox.stack.engine import Docker
from sandbox.stack.facts import available_memory_mb, free_disk_mb, read_info
from sandbox.stack.images import built_folders, engine_availability, registry_reachable
from sandbox.stack.inventory import inventory
from sandbox.stack.naming import stack_name

CheckState = Literal["ok", "warning", "missing", "unknown"]
ENGINE_FLOOR, COMPOSE_FLOOR = "20.10", "2.23.1"
MEMORY_LOW_MB, DISK_LOW_MB = 2048, 5120
"""Below these, a three-node cluster with its proxy and images does not fit."""


@dataclass(frozen=True, slots=True)
class Check:
    """One prerequisite. ``fix`` is empty where there is nothing to fix."""

    name: str
    state: CheckState
    detail: str
    fix: str = ""


def examine(docker: Docker) -> list[Check]:
    """Every check, in order of dependency; without an engine, why it does not answer."""
    try:
        info = read_info(docker.ask("info", "--format", "{{json .}}"))
    except SandboxError as problem:
        return [Check("engine", "missing", f"{problem.what}: {problem.known}", problem.next_step)]
    available = engine_availability(load_lock(), docker)
    leftovers = _leftovers(docker)  # before the probe creates its own containers
    client_image = _client_image(available.local)
    probe = KernelProbe(docker, client_image)
    with ReachProbe(docker, client_image) as reach:
        checks = _of_engine(docker, info, available.local)
        network = _network(reach.found())
    return [*checks, leftovers, *_machine(info, probe), network, *(Check(*each) for each in probe.abilities())]


def _of_engine(docker: Docker, info: Mapping[str, Any], local: frozenset[str]) -> list[Check]:
    compose = docker.answer("compose", "version", "--short")
    return [
        _floor("engine", info["ServerVersion"], ENGINE_FLOOR, f"{info['OperatingSystem']}, {info['Architecture']}"),
        _floor("compose", compose.stdout.strip() if compose.code == 0 else "", COMPOSE_FLOOR),
        _registry(docker),
        _images(local),
    ]


def _floor(name: str, version: str, floor: str, more: str = "") -> Check:
    detail = f"{version}{', ' + more if more else ''} (minimum {floor})"
    if version and at_least(version, floor):
        return Check(name, "ok", detail)
    return Check(name, "missing", detail if version else "missing", "scripts/bootstrap, or install a newer Docker")


def _registry(docker: Docker) -> Check:
    if registry_reachable(docker):
        return Check("registry", "ok", "the engine reaches its registry")
    return Check(
        "registry",
        "warning",
        "the engine does not reach its registry within 2 s",
        "none needed for images that are built here (make profiles); else check its network or proxy",
    )


def _client_image(local: frozenset[str]) -> str | None:
    image = load_library().catalog.images["client"]
    build = image.series[image.default].build
    alias = built_alias("client", image.default, build.suite) if build else None
    return alias if alias in local else None


def _images(local: frozenset[str]) -> Check:
    wanted = built_folders(load_library().catalog)
    missing = [alias for alias in wanted if alias not in local]
    detail = f"{len(wanted) - len(missing)} of {len(wanted)} images that are built here are up to date"
    if not missing:
        return Check("images", "ok", detail)
    detail += f"; missing or outdated: {', '.join(missing)}"
    return Check("images", "warning", detail, "make images   (or the first make up)")


def _leftovers(docker: Docker) -> Check:
    found = inventory(docker).leftovers()
    names = [stack_name(project, checkout) for project, checkout in found.items()]
    if not names:
        return Check("leftovers", "ok", "none: every stack is running")
    detail = f"no container of {', '.join(names)} is running"
    return Check("leftovers", "warning", detail, f"make down NAME={names[0]}, or make start")


def _machine(info: Mapping[str, Any], probe: KernelProbe) -> list[Check]:
    disk_mb = free_disk_mb(info)
    if disk_mb is None:
        disk_mb = probe.disk_mb()
    memory_mb = available_memory_mb(info)
    return [
        _amount("disk", disk_mb, DISK_LOW_MB, "docker system df   (shows what uses it)"),
        _amount("memory", memory_mb, MEMORY_LOW_MB, "make ps, then make down NAME=… for stacks that you do not need"),
        Check("cgroup", "ok", f"version {info.get('CgroupVersion') or '1'}, storage driver {info['Driver']}"),
        _governor(probe.governor()),
    ]


def _amount(name: str, megabytes: int | None, low: int, fix: str) -> Check:
    if megabytes is None:
        return Check(name, "unknown", "not visible from here", "make images   (a container can then check it)")
    state: CheckState = "ok" if megabytes >= low else "warning"
    return Check(name, state, f"{megabytes / 1024:.1f} GiB free", "" if state == "ok" else fix)


def _network(reach: Reach) -> Check:
    if reach.state == "reached":
        return Check("network", "ok", "containers of a private network reach one another by name")
    if reach.state == "not tried":
        return Check("network", "unknown", "the client image is missing (containers reach one another)", "make images")
    return Check(
        "network",
        "missing",
        f"containers do not reach one another: {reach.said}",
        "scripts/bootstrap as root, where systemd-networkd manages Docker's interfaces; else check the bridge firewall",
    )


def _governor(governor: str | None) -> Check:
    if governor is None:
        return Check("governor", "unknown", "the kernel shows none: the host of the virtual machine decides")
    if governor == "performance":
        return Check("governor", "ok", governor)
    fix = "cpupower frequency-set -g performance" if shutil.which("cpupower") else "set the governor to 'performance'"
    return Check("governor", "warning", f"{governor}: results vary with the clock frequency", fix)
