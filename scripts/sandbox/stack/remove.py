"""Removes stacks: exactly the objects with their label, whatever state a crash left them in."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import ExitCode, SandboxError
from sandbox.places import CHECKOUT
from sandbox.stack.engine import Docker
from sandbox.stack.inventory import Inventory, inventory
from sandbox.stack.keeping import give_up
from sandbox.stack.locks import locked
from sandbox.stack.naming import DEFAULT_NAME, choose_project, project_name, stack_name
from sandbox.stack.protocol import Note, OnEvent

LOCK_PATIENCE_S = 60.0
_ROUNDS = 5
"""A later round finds what the engine was still creating during the first."""


@dataclass(frozen=True, slots=True)
class Removed:
    """What `down` or `clean` removed."""

    name: str
    containers: int
    networks: int
    volumes: int

    @property
    def anything(self) -> bool:
        """Whether there was something to remove."""
        return bool(self.containers or self.networks or self.volumes)


def down(name: str | None, on_event: OnEvent, docker: Docker, checkout: Path = CHECKOUT) -> Removed:
    """Removes one stack; a missing one is not an error. Data volumes go too, so nothing is stopped gracefully.

    Raises SandboxError: exit 2 where no name was given and there are several, exit 4 where something cannot be removed.
    """
    found = inventory(docker)
    ours = {project: owner for project, owner in found.projects().items() if owner == str(checkout)}
    if not ours or (name is not None and project_name(name, checkout) not in ours and name not in ours):
        project = project_name(name or DEFAULT_NAME, checkout)
    else:
        project = choose_project(name, ours, on_event, checkout)
    return _remove_locked(project, stack_name(project, str(checkout)), on_event, docker)


def of_checkout(everything: bool, docker: Docker, checkout: Path = CHECKOUT) -> dict[str, str]:
    """Project → checkout of every stack of this checkout; ``everything``: of every stack on the engine."""
    found = inventory(docker).projects()
    return {project: owner for project, owner in found.items() if everything or owner == str(checkout)}


def clean(projects: Mapping[str, str], on_event: OnEvent, docker: Docker) -> list[Removed]:
    """Removes stacks, given as project → checkout."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        return list(
            pool.map(
                lambda item: _remove_locked(item[0], stack_name(item[0], item[1]), on_event, docker), projects.items()
            )
        )


def _remove_locked(project: str, name: str, on_event: OnEvent, docker: Docker) -> Removed:
    """Waits for a start in progress, or for a Compose that outlived one: it would add to what is being removed."""
    wait = Note(f"another command is working on the stack '{name}'; waiting for it")
    give_up(project)
    with locked(project, lambda: on_event(wait), LOCK_PATIENCE_S):
        return remove_project(project, name, docker)


def remove_project(project: str, name: str, docker: Docker) -> Removed:
    """Removes everything with the project's label, and looks again until nothing is left; the caller holds the lock.

    Raises SandboxError (exit 4) with the engine's reason where something stays.
    """
    first = found = inventory(docker, project)
    problem = ""
    for _ in range(_ROUNDS):
        if found.empty:
            return Removed(name, len(first.containers), len(first.networks), len(first.volumes))
        problem = _remove(found, docker)
        found = inventory(docker, project)
    if found.empty:
        return Removed(name, len(first.containers), len(first.networks), len(first.volumes))
    raise SandboxError(
        f"parts of the stack '{name}' cannot be removed",
        problem or "the engine gives no reason",
        f"try: make down NAME={name}   (again)",
        ExitCode.ENVIRONMENT,
    )


def _remove(found: Inventory, docker: Docker) -> str:
    """One round: containers first, then networks and volumes together. Returns the last problem."""
    problems = [
        _errors(docker, [["rm", "--force", "--volumes", *(each.id for each in found.containers)]])
        if found.containers
        else ""
    ]
    commands = [["network", "rm", *(each[0] for each in found.networks)]] if found.networks else []
    commands += [["volume", "rm", "--force", *(each[0] for each in found.volumes)]] if found.volumes else []
    problems.append(_errors(docker, commands))
    return next((problem for problem in reversed(problems) if problem), "")


def _errors(docker: Docker, commands: Sequence[Sequence[str]]) -> str:
    pending = [docker.begin(*command) for command in commands]
    return " ".join(
        answer.stderr.strip().rpartition("\n")[2] for answer in [each.answer() for each in pending] if answer.code
    )
