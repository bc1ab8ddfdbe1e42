"""No module reaches around a layer, and the pure ones know nothing of Docker, clocks or files."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "scripts" / "sandbox"
LAYERS = ["plan", "results", "stack", "workloads", "run", "experiment", "report"]
FOR_ALL = {"errors", "library"}
FREE = {
    "cli",
    "cli_results",
    "cli_errors",
    "console",
    "commands",
    "make_entry",
    "library",
    "errors",
    "__init__",
    "__main__",
}
IMPURE = {"subprocess", "time", "datetime", "os", "socket", "pathlib", "shutil", "tempfile", "random", "secrets"}
PURE_LAYERS = {"plan", "results", "report"}
FILES_ALLOWED = {"results/store.py", "results/index.py"}


def modules() -> list[Path]:
    """Every module of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Dotted names that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def layer_of(path: Path) -> str:
    """The first folder below the package, or the module's own name."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_layers_above_it(path: Path) -> None:
    layer = layer_of(path)
    if layer in FREE:
        return
    assert layer in LAYERS, f"{layer} is no layer of the design"
    allowed = set(LAYERS[: LAYERS.index(layer) + 1]) | FOR_ALL
    reached = {name.split(".")[1] for name in imports(path) if name.startswith("sandbox.")}
    assert reached <= allowed, f"{layer} reaches {sorted(reached - allowed)}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_pure_layers_know_nothing_of_the_outside(path: Path) -> None:
    relative = str(path.relative_to(PACKAGE))
    if layer_of(path) not in PURE_LAYERS or relative in FILES_ALLOWED:
        return
    used = {name.split(".")[0] for name in imports(path)} & IMPURE
    assert not used, f"{relative} imports {sorted(used)}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_says_in_one_line_what_lives_here_and_stays_readable(path: Path) -> None:
    text = path.read_text()
    docstring = ast.get_docstring(ast.parse(text))
    assert docstring, "no module docstring"
    assert text.count("\n") <= 400, f"{text.count(chr(10))} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.end_lineno:
            assert node.end_lineno - node.lineno <= 60, f"{node.name} is {node.end_lineno - node.lineno} lines"
