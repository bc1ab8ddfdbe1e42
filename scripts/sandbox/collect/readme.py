"""PURE: README.txt of an archive: what each file is, and what could not be had."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.collect.plan import PIECES
from sandbox.stack.protocol import StackNode

README = "README.txt"
STACK = "-"
"""In a table, in place of a node."""
OTHERS = {
    "log.txt": "the container's log since it was made: the error log of a server",
    "container.json": "the engine's description of its container: state, limits, mounts, networks;"
    " the environment without secrets",
    "stopped-data-directory.txt": "the data directory of a server that does not run: its files, and"
    " the end of its logs",
    "stack.json": "the stack: profile, inputs, engine; role, readiness and state of each node",
    "compose.yaml": "the Compose file, planned again from profile and inputs; placeholders for"
    " passwords",
    "plan.txt": "the plan of the same: nodes, versions, images, settings, memory",
    "versions.txt": "versions of this tool and of Docker",
    "core": "the core of a program (gdb), secrets overwritten with asterisks of their length; it"
    " contains rows",
}
"""Files that are no answer to a question, and what they are."""


@dataclass(frozen=True, slots=True)
class Titles:
    """What an archive is of."""

    stack: str
    profile: str
    at: str
    """The time, UTC."""
    tool: str


def readme(
    titles: Titles,
    nodes: Sequence[StackNode],
    files: Mapping[str, int],
    missing: Mapping[str, str],
) -> str:
    """The text. ``files``: path → bytes; ``missing``: path, or folder of a node → the reason."""
    lines = [
        f"Evidence of the stack '{titles.stack}' ({titles.profile}), {titles.at} UTC,"
        f" by {titles.tool}.",
        "The stack's passwords are masked (********) in every file. Statements, names and addresses"
        " are not.",
        "In *.tsv a backslash, tab or line break inside a value is \\\\, \\t or \\n.",
        "",
        "What each file is",
        "",
        *_described(nodes, files),
        "",
        "Files",
        "",
        *(f"{size:>12,}  {path}" for path, size in files.items()),
    ]
    if missing:
        lines += ["", "What could not be had", ""]
        for paths, reason in by_reason(missing):
            lines += [f"  {reason}", *(f"      {path}" for path in paths)]
    return "\n".join(lines) + "\n"


def _described(nodes: Sequence[StackNode], files: Mapping[str, int]) -> list[str]:
    names = dict.fromkeys(_kind_of(path) for path in files)
    known: dict[str, list[str]] = {}
    for piece in (each for each in PIECES if any(each.is_of(node) for node in nodes)):
        known.setdefault(piece.file, []).append(piece.about)
    for name, about in OTHERS.items():
        known.setdefault(name, []).append(about)
    width = max((len(name) for name in names), default=0)
    return [
        f"  {name:<{width}}  {'; or: '.join(dict.fromkeys(known[name]))}"
        for name in names
        if name in known
    ]


def _kind_of(path: str) -> str:
    name = path.rpartition("/")[2]
    return "core" if name.startswith("core.") else name


def by_reason(missing: Mapping[str, str]) -> list[tuple[list[str], str]]:
    """What could not be had for one reason in one folder, together."""
    found: dict[tuple[str, str], list[str]] = {}
    for path, reason in missing.items():
        found.setdefault((path.rpartition("/")[0], reason), []).append(path)
    return [(paths, reason) for (_, reason), paths in found.items()]


def by_folder(
    files: Mapping[str, int], missing: Mapping[str, str], nodes: Sequence[str]
) -> list[tuple[str, int, int, int]]:
    """Rows (folder, files, their bytes, what could not be had): ``-`` of the stack, then each
    node.
    """
    rows = []
    for folder in (STACK, *nodes):
        own = [size for path, size in files.items() if _folder_of(path, nodes) == folder]
        without = sum(_folder_of(path, nodes) == folder for path in missing)
        rows.append((folder, len(own), sum(own), without))
    return rows


def _folder_of(path: str, nodes: Sequence[str]) -> str:
    if path in nodes:  # the reason for a whole node
        return path
    folder, slash, _ = path.partition("/")
    return folder if slash else STACK
