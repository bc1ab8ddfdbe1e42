"""Sizes of the package by room, and what it says twice; exits with 1 above a limit."""

import ast
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "scripts" / "sandbox"
LIMITS = {
    "longest module": 400,
    "function median": 7,
    "function p90": 19,
    "longest function": 54,
}
"""The whole has no limit of lines: such a limit was met by denser code, not by less of it."""
RUN = 6
"""So many lines that stand in two places are a duplicated run; imports, blank lines and indentation
do not count.
"""
RUNS_AT_MOST = 2
SMALL = 40
"""A module with fewer lines may be a fragment of another one."""
ONE_FILE_EACH = {
    "cli/commands",
    "failure/actions",
    "failure/faults",
    "load",
    "measure/trial/checks",
    "report/render",
    "repro/expectations",
    "repro/steps",
}
"""Folders in which a small module has its reason: each thing that can be added is one file."""
SHIPPED = {"in_client", "in_helper"}
"""Folders of programs that run in a container, each by itself."""


def code_of(path: Path) -> list[ast.stmt]:
    """The statements of a module without its docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return tree.body[1:] if ast.get_docstring(tree) is not None else tree.body


def modules() -> list[Path]:
    """Every module; a folder's ``__init__`` that only says what lives there is none."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if code_of(path)]


def lines_of(path: Path) -> int:
    """Lines of a module."""
    return path.read_text(encoding="utf-8").count("\n")


def functions(path: Path) -> Iterator[int]:
    """Lines of each function of a module, its signature included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1


def sizes(paths: list[Path]) -> dict[str, int]:
    """The figures of some modules."""
    lengths = sorted(length for path in paths for length in functions(path)) or [0]
    return {
        "modules": len(paths),
        "longest module": max(map(lines_of, paths)),
        "function median": round(statistics.median(lengths)),
        "function p90": lengths[int(0.9 * (len(lengths) - 1))],
        "longest function": lengths[-1],
    }


def fragments(paths: Iterable[Path]) -> list[Path]:
    """Small modules that have no reason to be small."""
    found = []
    for path in paths:
        folder = path.relative_to(PACKAGE).parent
        if folder.name in SHIPPED or str(folder) in ONE_FILE_EACH or folder.parts[:1] == ("load",):
            continue
        if lines_of(path) < SMALL:
            found.append(path)
    return found


@dataclass(frozen=True)
class Place:
    """Lines of a file."""

    path: Path
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.path.relative_to(PACKAGE)}:{self.first}-{self.last}"


def said_lines(path: Path) -> list[tuple[int, str]]:
    """Number and text of each line that can be said twice."""
    source = path.read_text(encoding="utf-8")
    imports: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    texts = enumerate(map(str.strip, source.splitlines()), 1)
    return [(number, text) for number, text in texts if text and number not in imports]


def duplicated_runs(paths: list[Path]) -> Iterator[tuple[Place, Path]]:
    """Each run of lines that an earlier place has, too, and the file of that place."""
    seen: dict[tuple[str, ...], tuple[Path, int]] = {}
    for path in paths:
        lines = said_lines(path)
        begun: tuple[int, Path] | None = None
        for at in range(len(lines) - RUN + 2):
            window = tuple(text for _, text in lines[at : at + RUN])
            earlier = seen.setdefault(window, (path, at)) if len(window) == RUN else (path, at)
            if earlier != (path, at):
                begun = begun or (at, earlier[0])
            elif begun:
                yield Place(path, lines[begun[0]][0], lines[at + RUN - 2][0]), begun[1]
                begun = None


def print_table(every: list[Path]) -> None:
    """The figures of each room and of all."""
    rooms: dict[str, list[Path]] = defaultdict(list)
    for path in every:
        rooms[path.relative_to(PACKAGE).parts[0].removesuffix(".py")].append(path)
    total = sizes(every)
    print(f"{'':<14}" + "".join(f"{name:>18}" for name in total))
    for room, paths in rooms.items():
        print(f"{room:<14}" + "".join(f"{value:>18,}" for value in sizes(paths).values()))
    print(f"{'all':<14}" + "".join(f"{value:>18,}" for value in total.values()))
    print(f"{'limit':<14}" + "".join(f"{LIMITS.get(name, ''):>18}" for name in total))


def main() -> int:
    """The tables, and whether every limit is kept."""
    every = modules()
    print_table(every)
    small = fragments(every)
    print(f"\nmodules under {SMALL} lines that are no file of their kind: {len(small)}")
    for path in small:
        print(f"  {path.relative_to(PACKAGE)}: {lines_of(path)}")
    runs = list(duplicated_runs(every))
    print(f"\nduplicated runs of {RUN} lines and more: {len(runs)} (limit {RUNS_AT_MOST})")
    for place, earlier in runs:
        print(f"  {place} as in {earlier.relative_to(PACKAGE)}")
    figures = sizes(every)
    above = [name for name, limit in LIMITS.items() if figures[name] > limit]
    return int(len(runs) > RUNS_AT_MOST or bool(above))


if __name__ == "__main__":
    sys.exit(main())
