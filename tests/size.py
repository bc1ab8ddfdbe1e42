"""Sizes of the package by layer; lengths of functions have limits: `python3 tests/size.py` exits with 1 above one."""

import ast
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "scripts" / "sandbox"
LIMITS = {"function median": 7, "function p90": 18, "longest function": 40}
"""Lines and modules have none: a limit of lines was met by denser code, not by less of it."""


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


def main() -> int:
    """The table, and whether every limit is kept."""
    layers: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        layers[path.relative_to(PACKAGE).parts[0].removesuffix(".py")].append(path)
    every = sizes([path for paths in layers.values() for path in paths])
    print(f"{'':<14}" + "".join(f"{name:>18}" for name in every))
    for layer, paths in layers.items():
        print(f"{layer:<14}" + "".join(f"{value:>18,}" for value in sizes(paths).values()))
    print(f"{'all':<14}" + "".join(f"{value:>18,}" for value in every.values()))
    print(f"{'limit':<14}" + "".join(f"{LIMITS.get(name, ''):>18}" for name in every))
    return int(any(every[name] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
