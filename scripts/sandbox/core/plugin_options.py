"""The options of a plug-in: its fields, as they are typed, checked and described."""

import shlex
from collections.abc import Iterable, Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from sandbox.core.errors import SandboxError, did_you_mean, expected
from sandbox.core.plugins import Plugins
from sandbox.core.words import help_in

Made = TypeVar("Made", bound=BaseModel)
OptionValue = str | int | float | bool


class PluginOptionError(SandboxError):
    """A problem with one option of a plug-in."""

    def __init__(self, option: str, what: str, known: str, next_step: str) -> None:
        super().__init__(what, known, next_step)
        self.option = option


def make_plugin(
    plugins: Plugins[type[Made]], name: str, options: Mapping[str, OptionValue] | None = None
) -> Made:
    """The plug-in of a name with its options.

    Raises SandboxError (exit 2) for an unknown name, PluginOptionError (exit 2) for an option that
    is unknown, missing or not valid.
    """
    kind = plugins.named(name)
    try:
        return kind.model_validate(dict(options or {}))
    except ValidationError as error:
        whole = f"the {plugins.word} {name}"
        next_step = f"try: {plugins.next_step.format(name)}"
        raise _refused(kind, error.errors()[0], whole, next_step) from error


def _refused(
    kind: type[BaseModel], problem: ErrorDetails, whole: str, next_step: str
) -> PluginOptionError:
    option = str(problem["loc"][0])
    if problem["type"] == "extra_forbidden":
        fields = kind.model_fields
        known = did_you_mean(option, fields) if fields else "it has no options"
        return PluginOptionError(option, f"{whole} has no option '{option}'", known, next_step)
    text = option_texts(kind)[option]
    if problem["type"] == "missing":
        return PluginOptionError(option, f"{whole} needs {option}", text, next_step)
    what = f"{option}={problem['input']} is not valid for {whole}"
    return PluginOptionError(option, what, f"{expected(problem)} ({text})", next_step)


def help_line(kind: type[BaseModel]) -> str:
    """The first paragraph of the docstring of a plug-in: what it does."""
    return help_in(kind.__doc__)


def option_texts(kind: type[BaseModel]) -> dict[str, str]:
    """Option → its description."""
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
                raise SandboxError(
                    f"OPTIONS: '{word}' sets nothing", "each option is name=value", example
                )
            options[name] = value
    return options
