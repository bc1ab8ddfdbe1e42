"""Finds and reads a matrix file; what is wrong with it is told with file and line."""

from collections.abc import Sequence
from pathlib import Path

import yaml
from pydantic import ValidationError

from sandbox.errors import SandboxError, did_you_mean
from sandbox.library import CHECKOUT
from sandbox.plan.matrix import Change, Matrix

MATRICES = CHECKOUT / "profiles" / "matrices"


def find_matrix(word: str | None, folder: Path = MATRICES) -> Matrix:
    """The matrix of a name in ``profiles/matrices/``, or of any path. Raises SandboxError (exit 2)."""
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    if not word:
        raise SandboxError("no MATRIX was given", f"known: {', '.join(known)}", f"try: make matrix MATRIX={known[0]}")
    path = folder / f"{word}.yaml"
    if "/" in word or word.endswith((".yaml", ".yml")):
        path = Path(word)
    elif word not in known:
        raise SandboxError(f"there is no matrix '{word}'", did_you_mean(word, known), "try: make matrix MATRIX=quick")
    return read_matrix(path)


def read_matrix(path: Path) -> Matrix:
    """The matrix in a file. Raises SandboxError (exit 2) naming file, line, and what is allowed."""
    try:
        text = path.read_text(encoding="utf-8")
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except OSError as problem:
        raise SandboxError(f"MATRIX={path} cannot be read", str(problem), f"try: ls -l {path}") from problem
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        raise _wrong(path, mark.line + 1 if mark else 1, getattr(problem, "problem", None) or str(problem)) from problem
    if not isinstance(data, dict):
        raise _wrong(path, 1, "a matrix is a mapping: title, question, factors, baseline, …")
    try:
        return Matrix.model_validate({**data, "name": path.stem})
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        told = _allowed(first["msg"], first["type"])
        raise _wrong(path, line_of(tree, first["loc"]), f"{place}: {told}" if place else told) from problem


def line_of(tree: yaml.Node | None, place: Sequence[int | str]) -> int:
    """Line of the deepest part of ``place`` that the file has, counted from 1."""
    line = tree.start_mark.line + 1 if tree else 1
    for part in place:
        found = _child(tree, part)
        if found is None:
            break
        line, tree = found
    return line


def _child(node: yaml.Node | None, part: int | str) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode):
        for position, value in enumerate(node.value):
            if part in (position, value.value):
                return value.start_mark.line + 1, value
    return None


def _allowed(message: str, kind: str) -> str:
    """Pydantic's message, in our words where it does not say what is allowed."""
    if kind == "extra_forbidden":
        known = ", ".join(name for name in Matrix.model_fields if name != "name")
        return f"there is no such key; at the top there are {known}; of a level, {', '.join(Change.model_fields)}"
    return message.removeprefix("Value error, ")


def _wrong(path: Path, line: int, told: str) -> SandboxError:
    return SandboxError(f"{path}:{line} is no matrix", told, f"mend the file; then: make matrix MATRIX={path} PLAN=1")
