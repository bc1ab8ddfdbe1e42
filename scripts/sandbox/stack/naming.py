"""The names of a stack: its name, its Compose project, the checkout it belongs to."""

import hashlib
import re
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.places import CHECKOUT
from sandbox.plan.compose import Identity

DEFAULT_NAME = "default"
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
    """Compose project of a stack: two checkouts, or two names, never collide. Raises SandboxError (exit 2)."""
    return f"sandbox-{check_name(name)}-{_mark(str(checkout))}"


def identity(name: str, checkout: Path = CHECKOUT) -> Identity:
    """Project and checkout of a stack by name."""
    return Identity(project_name(name, checkout), str(checkout))


def stack_name(project: str, checkout: str) -> str:
    """The name that a project was made from; a stack that was started by hand has the name of its project."""
    ours = re.fullmatch(rf"sandbox-(.+)-{_mark(checkout)}", project)
    return ours[1] if ours else project


def _mark(checkout: str) -> str:
    return hashlib.sha256(checkout.encode()).hexdigest()[:6]


def name_option(name: str) -> str:
    """`` NAME=a`` for the commands that a message suggests; empty for the default stack."""
    return "" if name == DEFAULT_NAME else f" NAME={name}"
