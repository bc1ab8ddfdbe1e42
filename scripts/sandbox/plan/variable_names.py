"""Names of server variables, checked against those that the server's own binary lists."""

import difflib
import re
from collections.abc import Mapping

from sandbox.errors import SandboxError
from sandbox.plan.model import Plan

_TABLE = re.compile(r"^-{20,} -{5,}$", re.MULTILINE)
_OPTION = re.compile(r"^\s+(?:-\w, )?--([a-z][\w-]+)", re.MULTILINE)
_PREFIXES = ("skip_", "enable_", "disable_", "maximum_")
_NEAR = 0.8
"""A name unlike any known one may belong to a plugin: only the server can decide."""

Names = frozenset[str]


def names_in(help_text: str) -> Names:
    """The options and, below the ruled line, the variables that ``mysqld --verbose --help`` lists; dashes as ``_``."""
    options = _OPTION.findall(help_text)
    ruled = _TABLE.search(help_text)
    below = help_text[ruled.end() :].strip("\n").partition("\n\n")[0].splitlines() if ruled else []
    return frozenset(_plain(name) for name in [*options, *(line.split()[0] for line in below if line.strip())])


def refuse_mistyped(plan: Plan, known: Mapping[str, Names]) -> None:
    """Raises SandboxError (exit 2) for a name in SET= that the image does not know but that resembles one it does.

    ``known``: by image reference, for the images that could be asked. ``loose_`` means that the server may not know it.
    """
    for node in plan.databases:
        for name, _ in node.assignments:
            near = _nearest(name, known.get(node.image, frozenset()))
            if near:
                raise SandboxError(
                    f"SET: {node.image} has no variable '{name}'",
                    f"did you mean '{near}'? (with loose_{name} the server starts even if it does not know it)",
                    f"try: SET={near}=…",
                )


def _nearest(name: str, known: Names) -> str | None:
    """The name that was probably meant; None for a known name, or one that resembles no other."""
    plain = _plain(name)
    if not known or "." in plain or plain.startswith("loose_") or _is_known(plain, known):
        return None
    return next(iter(difflib.get_close_matches(plain, known, n=1, cutoff=_NEAR)), None)


def _is_known(plain: str, known: Names) -> bool:
    """Servers accept any unambiguous prefix of a name, and a few words before a name."""
    bare = next((plain.removeprefix(prefix) for prefix in _PREFIXES if plain.startswith(prefix)), plain)
    return bool({plain, bare} & known) or sum(each.startswith(plain) for each in known) == 1


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")
