"""restart, stop, start and removal of stacks that exist.

After a restart or start data is as before, clusters form again, and ready means ready each time. A
removal takes exactly the objects with the stack's label, whatever state a crash left them in.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sandbox.core.errors import MachineError, counted
from sandbox.core.paths import CHECKOUT
from sandbox.stack.disks import disks_among, remove_disks
from sandbox.stack.engine import Docker
from sandbox.stack.inventory import Container, Inventory, containers, inventory
from sandbox.stack.journal import forget_all
from sandbox.stack.locks import locked_stack
from sandbox.stack.logs import log_folder, save_logs
from sandbox.stack.naming import DEFAULT_NAME, choose_project, project_name, stack_name
from sandbox.stack.protocol import NodeEvent, Note, OnEvent
from sandbox.stack.readiness import Readiness
from sandbox.stack.snapshots.background import give_up
from sandbox.stack.stack import Stack

_ROUNDS = 5
"""A later round finds what the engine was still creating during the first."""


def restart(stack: Stack, node: str, on_event: OnEvent, timeout_s: float | None = None) -> Stack:
    """Stops one node gracefully and starts it, then waits for the whole stack.

    Raises SandboxError: exit 2 for an unknown node, exit 4 where the stack does not become ready.
    """
    container = stack.container(node)
    on_event(NodeEvent(node, "stopping"))
    stack.docker.ask("restart", container.id)
    return start(stack.refreshed(), on_event, timeout_s)


def stop(stack: Stack, on_event: OnEvent) -> Stack:
    """Stops every node gracefully, all at once, each within its grace period; data stays.
    SandboxError (exit 4).
    """
    active = [
        container for container in stack.containers if container.state in ("running", "paused")
    ]
    for container in active:
        on_event(NodeEvent(container.node, "stopping"))
    _unpause(stack, active)
    if active:
        stack.docker.ask("stop", *(container.id for container in active))
    stopped = stack.refreshed()
    for container in active:
        on_event(NodeEvent(container.node, "stopped"))
    return stopped


def start(stack: Stack, on_event: OnEvent, timeout_s: float | None = None) -> Stack:
    """Starts every stopped node and waits until the whole stack is ready.

    Raises SandboxError (exit 4) where it is not; BrokenServerError where a server does not
    come back by itself.
    """
    stack = start_idle(stack)
    Readiness(stack, on_event, timeout_s, end_if_broken=True).wait()
    return stack


def start_idle(stack: Stack) -> Stack:
    """Starts every stopped node without waiting; returns the stack as it is then."""
    idle = [container for container in stack.containers if not container.running]
    if not idle:
        return stack
    _unpause(stack, idle)
    stopped = [container.id for container in idle if container.state != "paused"]
    if stopped:
        stack.docker.ask("start", *stopped)
    return stack.refreshed()


def _unpause(stack: Stack, containers: list[Container]) -> None:
    paused = [container.id for container in containers if container.state == "paused"]
    if paused:
        stack.docker.ask("unpause", *paused)


@dataclass(frozen=True, slots=True)
class Removed:
    """The objects that `down` or `clean` removed."""

    name: str
    containers: int
    networks: int
    volumes: int

    @property
    def anything(self) -> bool:
        """Whether anything was removed."""
        return bool(self.containers or self.networks or self.volumes)


def down(
    name: str | None,
    on_event: OnEvent,
    docker: Docker,
    checkout: Path = CHECKOUT,
    keep_logs_in: Path | None = None,
) -> Removed:
    """Removes one stack; a missing one is not an error. Data volumes go too, so nothing is stopped
    gracefully.

    ``keep_logs_in``: the folder below which its logs are saved first. Raises SandboxError: exit 2
    where no name was given and there are several, exit 4 where something cannot be saved or
    removed.
    """
    ours = of_checkout(False, docker, checkout)
    if not ours or (
        name is not None and project_name(name, checkout) not in ours and name not in ours
    ):
        project = project_name(name or DEFAULT_NAME, checkout)
    else:
        project = choose_project(name, ours, on_event, checkout)
    return _remove_locked(
        project, stack_name(project, str(checkout)), on_event, docker, keep_logs_in
    )


def of_checkout(everything: bool, docker: Docker, checkout: Path = CHECKOUT) -> dict[str, str]:
    """Project → checkout of every stack of this checkout; ``everything``: of every stack on the
    engine.
    """
    found = inventory(docker).projects()
    return {
        project: owner for project, owner in found.items() if everything or owner == str(checkout)
    }


def clean(
    projects: Mapping[str, str], on_event: OnEvent, docker: Docker, keep_logs_in: Path | None = None
) -> list[Removed]:
    """Removes stacks, given as project → checkout; with their logs saved first, as for `down`."""

    def remove(item: tuple[str, str]) -> Removed:
        return _remove_locked(item[0], stack_name(*item), on_event, docker, keep_logs_in)

    with ThreadPoolExecutor(max_workers=4) as pool:
        return list(pool.map(remove, projects.items()))


def _remove_locked(
    project: str, name: str, on_event: OnEvent, docker: Docker, keep_logs_in: Path | None
) -> Removed:
    """Waits for a start in progress, or for a Compose that outlived one: it would add to what is
    being removed.
    """
    give_up(project)
    with locked_stack(project, name, on_event):
        if keep_logs_in is not None:
            _keep_logs(project, name, on_event, docker, keep_logs_in)
        return remove_project(project, name, docker)


def _keep_logs(project: str, name: str, on_event: OnEvent, docker: Docker, below: Path) -> None:
    found = containers(docker, project)
    if not found:
        return
    client = next((each.image for each in found if each.kind == "client"), None)
    folder = log_folder(below, name)
    saved = save_logs(docker, found, client, folder)
    on_event(Note(f"{name}: saved {counted(len(saved), 'log')} in {folder}"))


def remove_project(project: str, name: str, docker: Docker) -> Removed:
    """Removes everything with the project's label, and looks again until nothing is left; the
    caller holds the lock.

    Raises SandboxError (exit 4) with the engine's reason where something stays.
    """
    first = found = inventory(docker, project)
    problem = ""
    rounds = 0
    while not found.empty and rounds < _ROUNDS:
        problem = _remove(found, docker)
        rounds += 1
        found = inventory(docker, project)
    if found.empty:
        forget_all(project)
        return Removed(name, len(first.containers), len(first.networks), len(first.volumes))
    raise MachineError(
        f"parts of the stack '{name}' cannot be removed",
        problem or "the engine gives no reason",
        f"try: make down NAME={name}   (again)",
    )


def _remove(found: Inventory, docker: Docker) -> str:
    """One round: containers first, then networks and volumes together, then what was mounted. The
    last problem.
    """
    disks, volumes = disks_among(found.volumes)
    containers_first: list[list[str]] = []
    if found.containers:
        ids = [each.id for each in found.containers]
        containers_first.append(["rm", "--force", "--volumes", *ids])
    rest: list[list[str]] = []
    if found.networks:
        rest.append(["network", "rm", *(each[0] for each in found.networks)])
    if volumes:
        rest.append(["volume", "rm", "--force", *(each[0] for each in volumes)])
    first_problem = _errors(docker, containers_first)
    second_problem = _errors(docker, rest)
    disk_problems = [problem for each in disks if (problem := remove_disks(docker, each))]
    return " ".join(disk_problems) or second_problem or first_problem


def _errors(docker: Docker, commands: Sequence[Sequence[str]]) -> str:
    pending = [docker.begin(*command) for command in commands]
    answers = [each.answer() for each in pending]
    return " ".join(answer.last_error for answer in answers if answer.code)
