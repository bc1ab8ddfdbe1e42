"""The names of a stack: its name, its Compose project, its checkout; and which stack the name in a
command means.
"""

import hashlib
import re
from pathlib import Path

from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.core.paths import CHECKOUT
from sandbox.profile.names import Identity
from sandbox.stack.protocol import Note, OnEvent

DEFAULT_NAME = "default"
_START = "try: make up PROFILE=galera3+haproxy"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


def check_name(name: str) -> str:
    """The name, if it is valid in a Compose project. Raises SandboxError (exit 2) otherwise."""
    if _NAME.fullmatch(name):
        return name
    raise SandboxError(
        f"NAME={name!r} is not a valid stack name",
        "a name has 1 to 40 characters of a-z, 0-9, '-' and '_', and starts with a letter or digit",
        "try: make ps   (then the same command with NAME=a)",
    )


def project_name(name: str, checkout: Path = CHECKOUT) -> str:
    """Compose project of a stack: two checkouts, or two names, never collide. Raises SandboxError
    (exit 2).
    """
    return f"sandbox-{check_name(name)}-{_mark(str(checkout))}"


def identity(name: str, checkout: Path = CHECKOUT) -> Identity:
    """Project and checkout of a stack by name."""
    return Identity(project_name(name, checkout), str(checkout))


def stack_name(project: str, checkout: str) -> str:
    """The name that a project was made from; a stack that was started by hand has the name of its
    project.
    """
    ours = re.fullmatch(rf"sandbox-(.+)-{_mark(checkout)}", project)
    return ours[1] if ours else project


def _mark(checkout: str) -> str:
    return hashlib.sha256(checkout.encode()).hexdigest()[:6]


def name_option(name: str) -> str:
    """`` NAME=a`` for the commands that a message suggests; empty for the default stack."""
    return "" if name == DEFAULT_NAME else f" NAME={name}"


class AmbiguousStackError(SandboxError):
    """No name was given, and there are several stacks."""


def choose_project(
    name: str | None, projects: dict[str, str], on_event: OnEvent, checkout: Path = CHECKOUT
) -> str:
    """The project that a name (None: none was given) means among ``projects`` (project →
    checkout).
    """
    here = str(checkout)
    ours = {
        stack_name(project, here): project for project, owner in projects.items() if owner == here
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
        step = f"{_START} NAME={name}" if name else _START
        return SandboxError(f"there is no stack '{name or DEFAULT_NAME}'", "no stacks here", step)
    if name is None:
        step = f"try: make ps   (then the same command with NAME={known[0]})"
        return AmbiguousStackError("which stack is meant?", f"there are {', '.join(known)}", step)
    return SandboxError(f"there is no stack '{name}'", did_you_mean(name, known), "try: make ps")
