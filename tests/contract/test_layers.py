"""No module reaches around a layer, and the pure ones know nothing of Docker, clocks or files."""

import ast
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "scripts" / "sandbox"
LAYERS = [
    "core",
    "profile",
    "record",
    "judge",
    "stack",
    "collect",
    "load",
    "failure",
    "consistency",
    "measure",
    "matrix",
    "repro",
    "upgrade",
    "report",
    "cli",
    "__init__",
]
"""The rooms of the house: each imports only from those before it, and from itself."""
APART = {"record": {"profile"}}
"""Rooms before it that a room does without all the same: a record is read without the planner."""
PLAIN_DATA = {"report": {"stack", "load", "failure", "measure", "matrix", "repro", "upgrade"}}
"""Rooms before it of which a room may import only what is pure: a report takes plain data."""
IMPURE = {
    "subprocess",
    "time",
    "datetime",
    "os",
    "socket",
    "pathlib",
    "shutil",
    "tempfile",
    "random",
    "secrets",
}
PURE_ROOMS = {"profile", "record", "judge", "report"}
"""Every other module that calls itself pure in its docstring is held to it too."""
FILES_ALLOWED = {"profile/reader.py", "record/store.py", "record/index.py"}
"""What reads and writes files for a pure room."""


def modules() -> list[Path]:
    """Every module of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def of_room(room: str) -> list[Path]:
    """The modules of a room: each rule is one test a room, which names all that break it."""
    return [path for path in modules() if layer_of(path) == room]


@cache
def parsed(path: Path) -> ast.Module:
    """A module's tree."""
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Every statement of a module, wherever in it, and what else is no part of an expression."""
    found: list[ast.AST] = [parsed(path)]
    for node in found:  # grows while it is read
        children = ast.iter_child_nodes(node)
        found += [each for each in children if not isinstance(each, ast.expr)]
    return found


@cache
def imports(path: Path) -> frozenset[str]:
    """Dotted names that a module imports, wherever in it."""
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def layer_of(path: Path) -> str:
    """The first folder below the package, or the module's own name."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def reached(path: Path) -> set[str]:
    """Layers that a module imports from, and those where the names that it imports were defined."""
    found = set()
    for name in imports(path):
        _, _, rest = name.partition("sandbox.")
        if name.startswith("sandbox.") and rest:
            found.add(rest.split(".")[0])
            found |= defined_in(name)
    return found & set(LAYERS)


def defined_in(name: str) -> set[str]:
    """The layer of a class or function that is imported from where it is only passed on; else
    nothing.
    """
    module, _, attribute = name.rpartition(".")
    with suppress(ImportError):
        origin = getattr(getattr(import_module(module), attribute, None), "__module__", None)
        if isinstance(origin, str) and origin.startswith("sandbox."):
            return {origin.split(".")[1]}
    return set()


def test_every_module_stands_in_a_room_of_the_design() -> None:
    assert {layer_of(path) for path in modules()} == set(LAYERS)


@pytest.mark.parametrize("room", LAYERS)
def test_a_module_imports_only_from_layers_before_it(room: str) -> None:
    allowed = {*LAYERS[: LAYERS.index(room) + 1], "__init__"} - APART.get(room, set())
    beyond_it = {shown(path): sorted(reached(path) - allowed) for path in of_room(room)}
    assert not {path: layers for path, layers in beyond_it.items() if layers}


@pytest.mark.parametrize("room", PLAIN_DATA)
def test_a_room_that_takes_plain_data_imports_what_is_pure(room: str) -> None:
    for path in of_room(room):
        for name in imports(path):
            other = name.removeprefix("sandbox.").split(".")[0]
            if other in PLAIN_DATA[room] and (module := module_named(name)):
                assert is_pure(module), f"{shown(path)} imports {shown(module)}, which is not pure"


def shown(path: Path) -> str:
    """A module as a failure names it."""
    return str(path.relative_to(PACKAGE))


def module_named(name: str) -> Path | None:
    """The file of ``sandbox.core.errors`` or of ``sandbox.core.errors.SandboxError``; None where a
    folder is meant.
    """
    for dotted in (name, name.rpartition(".")[0]):
        path = PACKAGE.parent.joinpath(*dotted.split(".")).with_suffix(".py")
        if path.is_file():
            return path
    return None


@cache
def is_pure(path: Path) -> bool:
    """Whether a module is held to know nothing of the outside."""
    if str(path.relative_to(PACKAGE)) in FILES_ALLOWED:
        return False
    docstring = ast.get_docstring(parsed(path)) or ""
    return (
        layer_of(path) in PURE_ROOMS
        or docstring.startswith("PURE")
        or docstring.endswith(("Pure.", "Asks nobody."))
    )


def imported_modules(path: Path) -> set[Path]:
    """Modules that a module imports: at its start, in a function, or for annotations alone."""
    own = [name for name in imports(path) if name.startswith("sandbox.")]
    packages = {PACKAGE.parent.joinpath(*name.split("."), "__init__.py") for name in own}
    return {module for name in own if (module := module_named(name))} | {
        each for each in packages if each.is_file()
    }


def test_no_modules_import_each_other_in_a_circle() -> None:
    """A late import hides no circle, nor does one for annotations: neither module can be read
    without the other.
    """
    try:
        TopologicalSorter({path: imported_modules(path) for path in modules()}).prepare()
    except CycleError as circle:
        pytest.fail(" → ".join(str(path.relative_to(PACKAGE)) for path in reversed(circle.args[1])))


def late_imports(path: Path) -> Iterator[ast.stmt]:
    """Imports of the package's own modules inside functions."""
    if not re.search(r"^\s+(import|from) ", path.read_text(), re.MULTILINE):
        return
    for function in nodes(path):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom):
                    named = [node.module or ""]
                if isinstance(node, ast.stmt) and any(name.startswith("sandbox") for name in named):
                    yield node


def unexplained(path: Path) -> list[str]:
    """Late imports without a reason above those of their function, or once for all at the start of
    their module.
    """
    lines = path.read_text().splitlines()
    if any(line.startswith("# Imports are late, for start-up time: ") for line in lines):
        return []
    found = []
    for node in late_imports(path):
        above = node.lineno - 2  # the index of the line before it
        while lines[above].lstrip().startswith(("import ", "from ")) or not lines[above].strip():
            above -= 1
        while lines[above - 1].lstrip().startswith("# "):  # the reason may take several lines
            above -= 1
        if not lines[above].lstrip().startswith("# Late, for start-up time: "):
            found.append(f"{shown(path)}:{node.lineno}")
    return found


@pytest.mark.parametrize("room", LAYERS)
def test_a_late_import_says_which_time_it_saves(room: str) -> None:
    assert not [line for path in of_room(room) for line in unexplained(path)]


def test_pure_modules_know_nothing_of_the_outside() -> None:
    for path in filter(is_pure, modules()):
        # From a generator given.
        drawn = {"random", "random.Random"} if "random.Random" in imports(path) else set()
        used = {name.split(".")[0] for name in imports(path) - drawn} & IMPURE
        assert not used, f"{shown(path)} imports {sorted(used)}"


def test_every_module_says_in_one_line_what_lives_here() -> None:
    assert not [shown(path) for path in modules() if not ast.get_docstring(parsed(path))]


def test_no_function_is_longer_than_a_screen() -> None:
    for path in modules():
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef) and node.end_lineno:
                lines = node.end_lineno - node.lineno
                assert lines <= 60, f"{shown(path)}: {node.name} is {lines} lines"


def test_a_class_name_stands_for_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for path in modules():
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name.lstrip("_"), []).append(
                    f"{path.relative_to(PACKAGE)}:{node.lineno}"
                )
    assert not {name: found for name, found in places.items() if len(found) > 1}


def picture() -> str:
    """The rooms as a Mermaid chart: who imports from whom, without what follows from others."""
    uses: dict[str, set[str]] = {room: set() for room in LAYERS[:-1]}
    for path in modules():
        room = layer_of(path)
        if room in uses:
            uses[room] |= reached(path) & uses.keys() - {room}
    arrows = []
    for room, used in uses.items():
        through = set().union(*(beyond(each, uses) for each in used))
        arrows += [f"    {room} --> {each}" for each in LAYERS if each in used - through]
    return "\n".join(["```mermaid", "flowchart TD", *arrows, "```"])


def beyond(room: str, uses: dict[str, set[str]]) -> set[str]:
    """Every room that a room reaches by way of others."""
    found: set[str] = set()
    for each in uses[room]:
        found |= {each} | beyond(each, uses)
    return found


def test_the_picture_in_the_docs_is_that_of_the_code() -> None:
    """``UPDATE_GOLDEN=1`` writes it."""
    page = PACKAGE.parents[1] / "docs" / "design.md"
    text = page.read_text(encoding="utf-8")
    drawn = re.search(r"```mermaid\n.*?\n```", text, re.DOTALL)
    assert drawn, "docs/design.md has no picture of the rooms"
    if "UPDATE_GOLDEN" in os.environ:
        page.write_text(text.replace(drawn[0], picture()), encoding="utf-8")
        return
    assert drawn[0] == picture(), "UPDATE_GOLDEN=1 draws it again"
