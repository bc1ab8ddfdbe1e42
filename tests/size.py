"""Sizes of the package by layer, and what it says twice: `python3 tests/size.py` exits with 1 above a limit."""

import ast
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "scripts" / "sandbox"
LIMITS = {"function median": 7, "function p90": 18, "longest function": 40}
"""Lines and modules have none: a limit of lines was met by denser code, not by less of it."""
RUN = 6
"""So many lines that stand in two places are a duplicated run; blank lines and indentation do not count."""
RUNS_AT_MOST = 4


def functions(path: Path) -> Iterator[int]:
    """Lines of each function of a module, its signature included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1


def sizes(paths: list[Path]) -> dict[str, int]:
    """The figures of some modules."""
    lengths = sorted(length for path in paths for length in functions(path)) or [0]
    return {
        "lines": sum(path.read_text(encoding="utf-8").count("\n") for path in paths),
        "modules": len(paths),
        "function median": round(statistics.median(lengths)),
        "function p90": lengths[int(0.9 * (len(lengths) - 1))],
        "longest function": lengths[-1],
    }


@dataclass(frozen=True)
class Place:
    """Lines of a file."""

    path: Path
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.path.relative_to(PACKAGE)}:{self.first}-{self.last}"


def duplicated_runs(paths: list[Path]) -> Iterator[tuple[Place, Path]]:
    """Each run of lines that an earlier place has, too, and the file of that place."""
    seen: dict[tuple[str, ...], tuple[Path, int]] = {}
    for path in paths:
        texts = [text.strip() for text in path.read_text(encoding="utf-8").splitlines()]
        lines = [(number, text) for number, text in enumerate(texts, 1) if text]
        begun: tuple[int, Path] | None = None
        for at in range(len(lines) - RUN + 2):
            window = tuple(text for _, text in lines[at : at + RUN])
            earlier = seen.setdefault(window, (path, at)) if len(window) == RUN else (path, at)
            if earlier != (path, at):
                begun = begun or (at, earlier[0])
            elif begun:
                yield Place(path, lines[begun[0]][0], lines[at + RUN - 2][0]), begun[1]
                begun = None


def main() -> int:
    """The tables, and whether every limit is kept."""
    layers: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        layers[path.relative_to(PACKAGE).parts[0].removesuffix(".py")].append(path)
    every = sizes([path for paths in layers.values() for path in paths])
    print(f"{'':<14}" + "".join(f"{name:>18}" for name in every))
    for layer, paths in layers.items():
        print(f"{layer:<14}" + "".join(f"{value:>18,}" for value in sizes(paths).values()))
    print(f"{'all':<14}" + "".join(f"{value:>18,}" for value in every.values()))
    print(f"{'limit':<14}" + "".join(f"{LIMITS.get(name, ''):>18}" for name in every))
    runs = list(duplicated_runs(sorted(PACKAGE.rglob("*.py"))))
    print(f"\nduplicated runs of {RUN} lines and more: {len(runs)} (limit {RUNS_AT_MOST})")
    for place, earlier in runs:
        print(f"  {place} as in {earlier.relative_to(PACKAGE)}")
    return int(len(runs) > RUNS_AT_MOST or any(every[name] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
