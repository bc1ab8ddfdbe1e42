"""Which stack a command means: by name, or the only one that runs."""

from itertools import groupby
from pathlib import Path

from sandbox.errors import SandboxError, did_you_mean
from sandbox.places import CHECKOUT
from sandbox.stack.engine import Docker
from sandbox.stack.inventory import Inventory, containers
from sandbox.stack.naming import DEFAULT_NAME, check_name, project_name, stack_name
from sandbox.stack.protocol import Note, OnEvent
from sandbox.stack.stack import Stack

START = "try: make up PROFILE=galera3+haproxy"


def all_stacks(docker: Docker) -> list[Stack]:
    """Every stack of this tool on the engine, of any checkout."""
    found = groupby(containers(docker), key=lambda each: each.project)
    stacks = [Stack(list(group), docker) for _, group in found]
    return [stack for stack in stacks if stack.members]


def find_stack(name: str | None, on_event: OnEvent, docker: Docker, checkout: Path = CHECKOUT) -> Stack:
    """The stack of this checkout that a command means (None: no name was given).

    Without a name it is ``default``; where that does not exist and exactly one other does, that one, with a Note.
    Raises SandboxError (exit 2) where no stack matches, or the command is ambiguous.
    """
    stacks = all_stacks(docker)
    project = choose_project(name, {stack.project: stack.checkout for stack in stacks}, on_event, checkout)
    return next(stack for stack in stacks if stack.project == project)


def choose_project(name: str | None, projects: dict[str, str], on_event: OnEvent, checkout: Path = CHECKOUT) -> str:
    """The project that a name (None: none was given) means among ``projects`` (project → checkout)."""
    ours = {
        stack_name(project, str(checkout)): project for project, owner in projects.items() if owner == str(checkout)
    }
    wanted = check_name(name or DEFAULT_NAME)
    own = project_name(wanted, checkout)
    if own in projects:
        return own
    if wanted in ours:
        return ours[wanted]
    if name is None and len(ours) == 1:
        ((only, project),) = ours.items()
        on_event(Note(f"using the stack '{only}', the only one here"))
        return project
    raise _not_found(name, sorted(ours))


def _not_found(name: str | None, known: list[str]) -> SandboxError:
    if not known:
        step = f"{START} NAME={name}" if name else START
        return SandboxError(f"there is no stack '{name or DEFAULT_NAME}'", "no stacks here", step)
    if name is None:
        step = f"try: make ps   (then the same command with NAME={known[0]})"
        return SandboxError("which stack is meant?", f"there are {', '.join(known)}", step)
    return SandboxError(f"there is no stack '{name}'", did_you_mean(name, known), "try: make ps")


def leftover_projects(found: Inventory) -> dict[str, str]:
    """Project → checkout of stacks that a crash left behind: parts exist, but no container is running."""
    alive = {container.project for container in found.containers if container.running}
    return {project: checkout for project, checkout in found.projects().items() if project not in alive}
