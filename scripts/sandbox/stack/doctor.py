"""`make doctor`: every prerequisite with its state and the fix; some are tested in short-lived
containers.
"""

import shutil
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from sandbox.core.errors import SandboxError
from sandbox.profile.images import built_alias
from sandbox.profile.reader import load_library, load_lock
from sandbox.profile.versions import at_least
from sandbox.stack.engine import CommandStream, Docker, Pending
from sandbox.stack.engine_facts import (
    available_memory_mb,
    begin_info,
    begin_trying,
    free_disk_mb,
    read_answers,
    read_info,
)
from sandbox.stack.images import engine_availability, registry_reachable, series_builds
from sandbox.stack.inventory import helper_options, inventory, offline_options
from sandbox.stack.naming import identity, stack_name

CheckState = Literal["ok", "warning", "missing", "unknown"]
ENGINE_FLOOR = "20.10"
COMPOSE_FLOOR = "2.23.1"
MEMORY_LOW_MB = 2048
DISK_LOW_MB = 5120
"""Below these, a three-node cluster with its proxy and images does not fit."""


@dataclass(frozen=True, slots=True)
class Check:
    """One prerequisite. ``fix`` is empty where there is nothing to fix."""

    name: str
    state: CheckState
    detail: str
    fix: str = ""


_KERNEL_PATIENCE_S = 20.0
_ABILITIES = {
    "netem": ("delay and jitter", "modprobe sch_netem, or a kernel that has it"),
    "tbf": ("bandwidth limits", "modprobe sch_tbf, or a kernel that has it"),
    "iptables": (
        "network partitions",
        "modprobe ip_tables iptable_filter, or a kernel that has them",
    ),
    "write-limit": (
        "slow disks",
        "a kernel with CONFIG_BLK_DEV_THROTTLING, and an engine that uses its control groups",
    ),
    "loop": ("separate disks", "modprobe loop, or a kernel that has it"),
}
_NO_IMAGE = "the client image is missing"
# LOOP_CTL_GET_FREE (linux/loop.h) answers the number of a free loop device.
_LOOP = (
    "import fcntl, os; print('loop yes', fcntl.ioctl(os.open('/dev/loop-control', os.O_RDWR),"
    " 0x4C82))"
)


class KernelTrial:
    """The answers of two parallel containers; none where the client image is missing."""

    def __init__(self, docker: Docker, image: str | None) -> None:
        """Starts the containers; ``image`` None: the client image is missing."""
        self._pending: tuple[Pending, ...] = ()
        if image is not None:
            owner = identity("doctor")
            options = [*offline_options(owner), "--device", "/dev/loop-control"]
            command = ["--entrypoint", "python3", image, "-c", _LOOP]
            loop = docker.begin("run", "--rm", *options, *command)
            self._pending = (begin_trying(docker, image, owner), loop)

    def abilities(self) -> list[Check]:
        """Checks of netem, tbf, iptables, write limits and loop devices."""
        return [self._ability(name, *words) for name, words in _ABILITIES.items()]

    def governor(self) -> str | None:
        """The CPU frequency governor; None where the kernel shows none."""
        can, text = self._answers.get("governor", (False, ""))
        return text if can else None

    def disk_mb(self) -> int | None:
        """Free space where containers live, MiB; None where it is unknown."""
        can, text = self._answers.get("disk", (False, ""))
        return int(text) if can and text.isdigit() else None

    def _ability(self, name: str, purpose: str, fix: str) -> Check:
        if name not in self._answers:
            return Check(name, "unknown", f"{_NO_IMAGE} ({purpose})", "make images")
        can, text = self._answers[name]
        if can:
            return Check(name, "ok", purpose)
        return Check(name, "warning", f"no {purpose}: {text}", fix)

    @cached_property
    def _answers(self) -> dict[str, tuple[bool, str]]:
        if not self._pending:
            return {}
        network, loop = (each.answer_within(_KERNEL_PATIENCE_S) for each in self._pending)
        loop_answer = read_answers(loop.stdout).get("loop", (False, loop.last_error or "no answer"))
        return read_answers(network.stdout) | {"loop": loop_answer}


_REACH_PATIENCE_S = 30.0
_LISTENER = "listener"
_PORT = "3306"
_NETWORK_FIX = (
    "scripts/bootstrap as root, where systemd-networkd manages Docker's interfaces; else check the"
    " bridge firewall"
)
# Nothing stays behind if its parent is killed: the listener waits for a minute at most.
_LISTEN = f"""\
import socket
server = socket.create_server(("", {_PORT}))
server.settimeout(60)
print("listening", flush=True)
server.accept()
"""
_CALL = f"import socket; socket.create_connection(('{_LISTENER}', {_PORT}), 5)"


@contextmanager
def reachable_listener(docker: Docker, image: str | None) -> Iterator[Callable[[], Check]]:
    """Starts a listener in a separate network; yields what waits for it and connects to it once.

    All are removed on exit. ``image`` None: the client image is missing, nothing is tested.
    """
    if image is None:
        yield lambda: Check(
            "network", "unknown", f"{_NO_IMAGE} (containers reach one another)", "make images"
        )
        return
    owner = identity("doctor")
    labels = helper_options(owner)
    network = f"{owner.project}-reach-{uuid.uuid4().hex[:8]}"
    run = ("run", "--rm", "--network", network, *labels, "--entrypoint", "python3")
    listener = None
    try:
        made = docker.answer("network", "create", "--internal", *labels, network)
        if made.code:
            yield lambda: _reached(made.stderr.strip())
        else:
            listener = docker.stream(*run, "--network-alias", _LISTENER, image, "-c", _LISTEN)
            yield lambda: _reached(_failure(docker, listener, (*run, image, "-c", _CALL)))
    finally:
        if listener is not None:
            listener.kill()
        there = docker.answer(
            "ps", "--all", "--quiet", "--filter", f"network={network}"
        ).stdout.split()
        if there:  # a container may outlive its client
            docker.answer("rm", "--force", *there)
        docker.answer("network", "rm", network)


def _failure(docker: Docker, listener: CommandStream, call: Sequence[str]) -> str | None:
    """Why the listener cannot be reached; None where it can."""
    bound = threading.Timer(_REACH_PATIENCE_S, listener.kill)
    bound.start()
    try:
        # Empty where it ends, or is ended, without output.
        said = next(listener.lines(), "").strip()
    finally:
        bound.cancel()
    if said != "listening":
        return said or "the listening container did not start"
    called = docker.begin(*call).answer_within(_REACH_PATIENCE_S)
    return called.last_error if called.code else None


def _reached(failure: str | None) -> Check:
    if failure is None:
        return Check("network", "ok", "containers of a private network reach one another by name")
    return Check(
        "network", "missing", f"containers do not reach one another: {failure}", _NETWORK_FIX
    )


def examine(docker: Docker) -> list[Check]:
    """Every check, in order of dependency; without an engine, why it does not answer."""
    try:
        info = read_info(begin_info(docker).output())
    except SandboxError as problem:
        return [Check("engine", "missing", f"{problem.what}: {problem.known}", problem.next_step)]
    available = engine_availability(load_lock(), docker)
    leftovers = _leftovers(docker)  # before the trial creates its own containers
    client_image = _client_image(available.local)
    kernel = KernelTrial(docker, client_image)
    with reachable_listener(docker, client_image) as reach:
        compose = docker.answer("compose", "version", "--short")
        checks = [
            _floor(
                "engine",
                info["ServerVersion"],
                ENGINE_FLOOR,
                f"{info['OperatingSystem']}, {info['Architecture']}",
            ),
            _floor("compose", compose.stdout.strip() if compose.code == 0 else "", COMPOSE_FLOOR),
            _registry(docker),
            _images(available.local),
        ]
        network = reach()
    return [*checks, leftovers, *_machine(info, kernel), network, *kernel.abilities()]


def _floor(name: str, version: str, floor: str, more: str = "") -> Check:
    detail = f"{version}{', ' + more if more else ''} (minimum {floor})"
    if version and at_least(version, floor):
        return Check(name, "ok", detail)
    return Check(
        name,
        "missing",
        detail if version else "missing",
        "scripts/bootstrap, or install a newer Docker",
    )


def _registry(docker: Docker) -> Check:
    if registry_reachable(docker):
        return Check("registry", "ok", "the engine reaches its registry")
    fix = (
        "none needed for images that are built here (make profiles); else check its network or"
        " proxy"
    )
    return Check("registry", "warning", "the engine does not reach its registry within 2 s", fix)


def _client_image(local: frozenset[str]) -> str | None:
    image = load_library().catalog.images["client"]
    build = image.series[image.default].build
    alias = built_alias("client", image.default, build.suite) if build else None
    return alias if alias in local else None


def _images(local: frozenset[str]) -> Check:
    wanted = series_builds(load_library().catalog)
    missing = [alias for alias in wanted if alias not in local]
    detail = (
        f"{len(wanted) - len(missing)} of {len(wanted)} images that are built here are up to date"
    )
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


def _machine(info: Mapping[str, Any], kernel: KernelTrial) -> list[Check]:
    disk_mb = free_disk_mb(info)
    if disk_mb is None:
        disk_mb = kernel.disk_mb()
    memory_mb = available_memory_mb(info)
    return [
        _amount("disk", disk_mb, DISK_LOW_MB, "docker system df   (shows what uses it)"),
        _amount(
            "memory",
            memory_mb,
            MEMORY_LOW_MB,
            "make ps, then make down NAME=… for stacks that you do not need",
        ),
        Check(
            "cgroup",
            "ok",
            f"version {info.get('CgroupVersion') or '1'}, storage driver {info['Driver']}",
        ),
        _governor(kernel.governor()),
    ]


def _amount(name: str, megabytes: int | None, low: int, fix: str) -> Check:
    if megabytes is None:
        return Check(
            name,
            "unknown",
            "not visible from here",
            "make images   (a container can then check it)",
        )
    state: CheckState = "ok" if megabytes >= low else "warning"
    return Check(name, state, f"{megabytes / 1024:.1f} GiB free", "" if state == "ok" else fix)


def _governor(governor: str | None) -> Check:
    if governor is None:
        return Check(
            "governor", "unknown", "the kernel shows none: the host of the virtual machine decides"
        )
    if governor == "performance":
        return Check("governor", "ok", governor)
    fix = "set the governor to 'performance'"
    if shutil.which("cpupower"):
        fix = "cpupower frequency-set -g performance"
    return Check("governor", "warning", f"{governor}: results vary with the clock frequency", fix)
