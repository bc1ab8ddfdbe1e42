"""A YAML file with the lines of its keys, so that what is wrong can be named with its place."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from sandbox.core.errors import SandboxError

Place = Sequence[int | str]
"""Keys and positions, from the top of a file down."""


Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C, where PyYAML has it."""


def compose(text: str) -> yaml.Node | None:
    """The tree of a YAML text. Raises YAMLError in the words of the parser in Python, which says
    more.
    """
    try:
        return yaml.compose(text, Loader=Loader)
    except yaml.YAMLError:
        return yaml.compose(text, Loader=yaml.SafeLoader)


class YamlFile:
    """A file's ``data``. ``what``: what it should be, for messages; ``text``: its text, where that
    was read already. Raises SandboxError (exit 2) where it cannot be.
    """

    def __init__(self, path: Path, what: str, next_step: str, text: str | None = None) -> None:
        self._path = path
        self._what = what
        self._next_step = next_step
        self._tree: yaml.Node | None = None
        try:
            text = path.read_text(encoding="utf-8") if text is None else text
            self._tree = compose(text)
            self.data: Any = yaml.load(text, Loader=Loader)  # noqa: S506  (a safe loader)
        except (OSError, UnicodeDecodeError) as problem:
            raise SandboxError(
                f"{path} cannot be read", str(problem), f"try: ls -l {path}"
            ) from problem
        except yaml.YAMLError as problem:
            mark = getattr(problem, "problem_mark", None)
            said = getattr(problem, "problem", None) or str(problem)
            raise self._wrong_at(mark.line + 1 if mark else 1, said) from problem
        refuse_repeated_keys(self._tree, self._wrong_at)

    def wrong(self, place: Place, text: str) -> SandboxError:
        """The error of the deepest part of ``place`` that the file has."""
        return self._wrong_at(line_of(self._tree, place), text)

    def where(self, place: Place) -> str:
        """``file.yaml:12`` of the deepest part of ``place`` that the file has."""
        return f"{self._path}:{line_of(self._tree, place)}"

    def _wrong_at(self, line: int, text: str) -> SandboxError:
        what = f"{self._path}:{line} is not a valid {self._what}"
        return SandboxError(what, text, self._next_step)


def refuse_repeated_keys(node: yaml.Node | None, wrong: Callable[[int, str], SandboxError]) -> None:
    """YAML keeps the last of two equal keys: a part that was copied and not renamed would be lost.

    ``wrong``: the error of a line, counted from 1, and what is wrong with it.
    """
    seen = set()
    for child in node.value if isinstance(node, yaml.CollectionNode) else ():
        key, value = child if isinstance(child, tuple) else (None, child)
        if key is not None and key.value in seen:
            raise wrong(key.start_mark.line + 1, f"the key '{key.value}' appears twice")
        seen.add(key and key.value)
        refuse_repeated_keys(value, wrong)


def line_of(tree: yaml.Node | None, place: Place) -> int:
    """Line of the deepest part of ``place`` that the file has, counted from 1. A list's value may
    stand for itself.
    """
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
