"""The options of a command, from its own file, which alone is imported."""

from collections.abc import Mapping, Sequence
from functools import cache

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption
from typer.main import get_command

from sandbox.cli.registry import COMMANDS

_SHORT = {"-n": "--name"}
"""Short option → long one, in what is recorded."""


@cache
def load(name: str) -> TyperCommand:
    """A command with its options; imports only its file. Raises SandboxError as `Plugins.named`."""
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    settings = {"help_option_names": ["-h", "--help"]}
    alone.command(name, context_settings=settings)(COMMANDS.named(name))
    made = get_command(alone)
    if not isinstance(made, TyperCommand):
        raise TypeError(f"{name} is not a single command")
    return made


def variable_of(option: str) -> str:
    """``--json`` → ``JSON``, ``--dry-run`` → ``DRY_RUN``."""
    return option.removeprefix("--").replace("-", "_").upper()


def options_of(command: str) -> Mapping[str, bool]:
    """Make variable → whether its option is a flag, from the command itself."""
    params = (each for each in load(command).params if isinstance(each, TyperOption))
    return {variable_of(option.opts[0]): bool(option.is_flag) for option in params}


def positionals_of(command: str) -> list[str]:
    """Make variables that are also positional arguments of a command, in their order."""
    return [each.metavar or "" for each in load(command).params if isinstance(each, TyperArgument)]


def as_long_options(words: Sequence[str]) -> list[str]:
    """``matrix quick -n a`` → ``matrix --matrix quick --name a``: the form that a record keeps."""
    command, *rest = words
    flags, positionals, made = options_of(command), positionals_of(command), [command]
    while rest:
        word = _SHORT.get(rest[0], rest[0])
        if not word.startswith("-") and positionals:
            made += [f"--{positionals.pop(0).lower()}", rest.pop(0)]
            continue
        rest.pop(0)
        made.append(word)
        if word.startswith("--") and "=" not in word and rest and not flags.get(variable_of(word)):
            made.append(rest.pop(0))
    return made
