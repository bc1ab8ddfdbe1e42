"""Names of server variables, held against those that the server's own program lists."""

import difflib
import re
from collections.abc import Mapping

from sandbox.errors import SandboxError
from sandbox.plan.model import Plan

_TABLE = re.compile(r"^-{20,} -{5,}$", re.MULTILINE)
_OPTION = re.compile(r"^\s+(?:-\w, )?--([a-z][\w-]+)", re.MULTILINE)
_PREFIXES = ("skip_", "enable_", "disable_", "maximum_")
_NEAR = 0.8
"""Of a name that is like none, nobody here can say whether a plugin has it: the server will."""

Names = frozenset[str]


def names_in(help_text: str) -> Names:
    """What ``mysqld --verbose --help`` lists: its options, and below the ruled line its variables; dashes as ``_``."""
    options = _OPTION.findall(help_text)
    ruled = _TABLE.search(help_text)
    below = help_text[ruled.end() :].strip("\n").partition("\n\n")[0].splitlines() if ruled else []
    return frozenset(_plain(name) for name in [*options, *(line.split()[0] for line in below if line.strip())])


def refuse_mistyped(plan: Plan, known: Mapping[str, Names]) -> None:
    """Raises SandboxError (exit 2) for a name in SET= that the image does not know and that is like one it does.

    ``known``: by image reference, for the images that could be asked. ``loose_`` means that the server may not know it.
    """
    for node in plan.databases:
        for name, _ in node.assignments:
            near = _nearest(name, known.get(node.image, frozenset()))
            if near:
                raise SandboxError(
                    f"SET: {node.image} has no variable '{name}'",
                    f"did you mean '{near}'? (loose_{name} starts a server that does not know it)",
                    f"try: SET={near}=…",
                )


def _nearest(name: str, known: Names) -> str | None:
    """The name that was probably meant; None for one that is known, or like no other."""
    plain = _plain(name)
    if not known or "." in plain or plain.startswith("loose_") or _is_known(plain, known):
        return None
    return next(iter(difflib.get_close_matches(plain, known, n=1, cutoff=_NEAR)), None)


def _is_known(plain: str, known: Names) -> bool:
    """Servers take any beginning of a name that no other has; and a few words before one."""
    bare = next((plain.removeprefix(prefix) for prefix in _PREFIXES if plain.startswith(prefix)), plain)
    return bool({plain, bare} & known) or sum(each.startswith(plain) for each in known) == 1


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")
