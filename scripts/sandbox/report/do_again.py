"""PURE: an earlier command in a form that can be typed again: a make target with its variables."""

import shlex
from collections.abc import Mapping, Sequence


def make_command(command: Sequence[str], more: Mapping[str, str] | None = None) -> str:
    """``make bench THREADS=8``, from ``[…/sandbox, bench, --threads, 8]``; ``more``: variables to add where missing.

    An option given several times, such as SET, becomes one value separated by spaces, as make expects.
    """
    given: dict[str, list[str]] = {}
    words = list(command[2:])
    while words:
        option, equals, value = words.pop(0).partition("=")
        if not equals:
            value = words.pop(0) if words and not words[0].startswith("--") else "1"
        given.setdefault(option.removeprefix("--").replace("-", "_").upper(), []).append(value)
    variables = {name: " ".join(values) for name, values in given.items()}
    variables |= {name: value for name, value in (more or {}).items() if name not in variables}
    return " ".join(["make", *command[1:2], *(f"{name}={shlex.quote(value)}" for name, value in variables.items())])
