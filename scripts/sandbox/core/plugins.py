"""Finds what the files of a package define, one class each: faults, actions, workloads; and their options as typed."""

import importlib
import pkgutil
import shlex
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from sandbox.core.errors import ExitCode, SandboxError, did_you_mean, expected

Made = TypeVar("Made", bound=BaseModel)
OptionValue = str | int | float | bool


class Finder(Generic[Made]):
    """The classes that the files of a package define, one each; a name is that of the file, with dashes."""

    def __init__(self, package: ModuleType, base: type[Made], step: str) -> None:
        """``base``: whose subclasses they are, and the word for them; ``step``: the next one, ``{}`` for a name."""
        self._package, self._base, self._step = package, base, step
        self._word = base.__name__.lower()

    def files(self) -> dict[str, type[Made]]:
        """Every class by its name. Raises SandboxError (exit 5) for a file that does not define one."""
        modules = (module.name for module in pkgutil.iter_modules(self._package.__path__) if module.name != "common")
        return {file.replace("_", "-"): self._class_in(file) for file in sorted(modules)}

    def kind(self, name: str, files: Mapping[str, type[Made]]) -> type[Made]:
        """The class of a name. Raises SandboxError (exit 2) for an unknown one."""
        if name not in files:
            what = f"there is no {self._word} '{name}'"
            raise SandboxError(what, did_you_mean(name, files), f"try: {self._step.format('<name>')}")
        return files[name]

    def make(self, name: str, options: Mapping[str, OptionValue], files: Mapping[str, type[Made]]) -> Made:
        """One of a name, with its options. Raises SandboxError (exit 2) for what is unknown or not valid."""
        kind = self.kind(name, files)
        try:
            return kind.model_validate(dict(options))
        except ValidationError as error:
            raise self._refused(name, kind, error.errors()[0]) from error

    def _refused(self, name: str, kind: type[Made], problem: ErrorDetails) -> "FoundOptionError":
        option, step, whole = str(problem["loc"][0]), f"try: {self._step.format(name)}", f"the {self._word} {name}"
        if problem["type"] == "extra_forbidden":
            known = did_you_mean(option, kind.model_fields) if kind.model_fields else "it has no options"
            return FoundOptionError(option, f"{whole} has no option '{option}'", known, step)
        text = kind.model_fields[option].description or ""
        if problem["type"] == "missing":
            return FoundOptionError(option, f"{whole} needs {option}", text, step)
        what = f"{option}={problem['input']} is not valid for {whole}"
        return FoundOptionError(option, what, f"{expected(problem)} ({text})", step)

    def _class_in(self, file: str) -> type[Made]:
        module = importlib.import_module(f"{self._package.__name__}.{file}")
        kinds = [
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, self._base) and value.__module__ == module.__name__
        ]
        if len(kinds) != 1:
            where = f"{self._package.__name__.rpartition('.')[2]}/{file}.py"
            known, step = f"such a file defines one subclass of {self._base.__name__}", "try: make test-unit"
            raise SandboxError(f"{where} defines {len(kinds)} {self._word}s", known, step, ExitCode.INTERNAL)
        return kinds[0]


class FoundOptionError(SandboxError):
    """A problem with one option of what was found."""

    def __init__(self, option: str, what: str, known: str, next_step: str) -> None:
        super().__init__(what, known, next_step)
        self.option = option


def help_line(kind: type[BaseModel]) -> str:
    """What it does, in one line."""
    return (kind.__doc__ or "").strip().partition("\n")[0]


def option_texts(kind: type[BaseModel]) -> Mapping[str, str]:
    """What each of its options is, by its name."""
    return {option: field.description or "" for option, field in kind.model_fields.items()}


def parse_options(given: Iterable[str], example: str) -> dict[str, OptionValue]:
    """Options as typed: ``away_from=proxies port=3306``, split as a shell would.

    Raises SandboxError (exit 2) with ``example`` as the next step.
    """
    options: dict[str, OptionValue] = {}
    for text in given:
        try:
            words = shlex.split(text)
        except ValueError as problem:
            raise SandboxError(f"OPTIONS={text} is not valid", str(problem), example) from problem
        for word in words:
            name, equals, value = word.partition("=")
            if not (name and equals):
                raise SandboxError(f"OPTIONS: '{word}' sets nothing", "each option is name=value", example)
            options[name] = value
    return options
