"""One way to find plug-ins: each is one file or folder of a package, and has its name."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from sandbox.core.errors import ExitCode, SandboxError, did_you_mean

Found = TypeVar("Found")

_SHARED = "common"
"""The folder of a package with what its plug-ins share."""


@dataclass(frozen=True)
class Plugins(Generic[Found]):
    """The plug-ins of a package; only those that are asked for are imported."""

    package: str
    word: str
    """What one of them is called in messages."""
    content: str
    """What the file of one defines, for a message."""
    found_in: Callable[[ModuleType], Sequence[Found]]
    """What a module defines of this kind."""
    next_step: str
    """The command to try, with ``{}`` for a name."""
    separator: str = "-"
    """What stands in a name for the underscore of its file."""

    def names(self) -> list[str]:
        """Names of all plug-ins in order; imports none."""
        return [stem.replace("_", self.separator) for stem in _stems(self._folder())]

    def named(self, name: str) -> Found:
        """The plug-in of a name; imports its file alone.

        Raises SandboxError: exit 2 for an unknown name, exit 5 for a file that does not define one.
        """
        if name not in self.names():
            what = f"there is no {self.word} '{name}'"
            next_step = f"try: {self.next_step.format('<name>')}"
            raise SandboxError(what, did_you_mean(name, self.names()), next_step)
        found = self.found_in(importlib.import_module(f"{self.package}.{self._stem(name)}"))
        if len(found) != 1:
            what = f"{self.place(name)} defines {len(found)} {self.word}s"
            known = f"such a file defines {self.content}"
            raise SandboxError(what, known, "try: make test-unit", ExitCode.INTERNAL)
        return found[0]

    def every(self) -> dict[str, Found]:
        """All plug-ins by name. Raises SandboxError as `named` does."""
        return {name: self.named(name) for name in self.names()}

    def source(self, name: str) -> str:
        """The text of the file of a known name, for a reader that does not import it."""
        return (self._folder() / f"{self._stem(name)}.py").read_text(encoding="utf-8")

    def place(self, name: str) -> str:
        """The folder and file of a name, for a message."""
        return f"{self.package.rpartition('.')[2]}/{self._stem(name)}.py"

    def _folder(self) -> Path:
        (folder,) = importlib.import_module(self.package).__path__
        return Path(folder)

    def _stem(self, name: str) -> str:
        return name.replace(self.separator, "_")


@cache
def _stems(folder: Path) -> list[str]:
    """Names of the files and folders of a package that are plug-ins, listed once per process: every
    lookup of a name asks for them.
    """
    files = [path.stem for path in folder.glob("[!_]*.py")]
    folders = [path.parent.name for path in folder.glob("*/__init__.py")]
    return sorted({*files, *folders} - {_SHARED})


def plugins_of_classes(package: str, base: type[Found], next_step: str) -> Plugins[type[Found]]:
    """Plug-ins whose files each define one subclass of ``base``, which also gives the word for
    them.
    """

    def subclasses(module: ModuleType) -> list[type[Found]]:
        classes = [value for value in vars(module).values() if isinstance(value, type)]
        own = [each for each in classes if each.__module__ == module.__name__]
        return [each for each in own if issubclass(each, base)]

    name = base.__name__
    return Plugins(package, name.lower(), f"one subclass of {name}", subclasses, next_step)


def plugins_of_functions(
    package: str, word: str, function: str, next_step: str, separator: str = "-"
) -> Plugins[Callable[..., Any]]:
    """Plug-ins whose files each define a function of the same name."""

    def functions(module: ModuleType) -> list[Callable[..., Any]]:
        found = getattr(module, function, None)
        return [found] if callable(found) else []

    content = f"the function {function}"
    return Plugins(package, word, content, functions, next_step, separator)
