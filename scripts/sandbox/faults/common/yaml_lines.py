"""A YAML file with the lines of its keys, so that what is wrong can be named with its place."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from sandbox.errors import SandboxError


class YamlFile:
    """A file's ``data``. ``what``: what it should be, for messages. Raises SandboxError (exit 2) where it cannot be."""

    def __init__(self, path: Path, what: str) -> None:
        self._path, self._what = path, what
        self._tree: yaml.Node | None = None
        try:
            text = path.read_text(encoding="utf-8")
            self._tree = yaml.compose(text, Loader=yaml.SafeLoader)
            self.data: Any = yaml.safe_load(text)
        except (OSError, UnicodeDecodeError) as problem:
            raise SandboxError(f"{path} cannot be read", str(problem), f"try: ls -l {path}") from problem
        except yaml.YAMLError as problem:
            mark = getattr(problem, "problem_mark", None)
            text = getattr(problem, "problem", None) or str(problem)
            raise self._wrong_at(mark.line + 1 if mark else 1, text) from problem
        self._refuse_repeated_keys(self._tree)

    def wrong(self, place: Sequence[int | str], text: str) -> SandboxError:
        """The error of the deepest part of ``place`` (keys and positions, from the top) that the file has."""
        line, node = self._tree.start_mark.line + 1 if self._tree else 1, self._tree
        for part in place:
            found = _child(node, part)
            if found is None:
                break
            line, node = found
        return self._wrong_at(line, text)

    def _wrong_at(self, line: int, text: str) -> SandboxError:
        step = f"try: make trial FAULT={self._path.stem}   (after fixing the file)"
        return SandboxError(f"{self._path}:{line} is not a valid {self._what}", text, step)

    def _refuse_repeated_keys(self, node: yaml.Node | None) -> None:
        """YAML keeps the last of two equal keys, and the other one would be lost."""
        seen = set()
        for child in node.value if isinstance(node, yaml.CollectionNode) else ():
            key, value = child if isinstance(child, tuple) else (None, child)
            if key is not None and key.value in seen:
                raise self._wrong_at(key.start_mark.line + 1, f"the key '{key.value}' appears twice")
            seen.add(key and key.value)
            self._refuse_repeated_keys(value)


def _child(node: yaml.Node | None, part: int | str) -> tuple[int, yaml.Node] | None:
    """Line, counted from 1, and content of a key or position."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part].start_mark.line + 1, node.value[part]
    return None
