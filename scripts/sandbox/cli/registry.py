"""The commands: every file of `commands/`, read on demand; and how messages quote a command line."""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption
from typer.main import get_command

from sandbox.core.paths import IN_CHECKOUT

COMMANDS = Path(__file__).with_name("commands")
GROUPS = ("look first", "stacks", "measure", "results")
"""The groups of `help`, in order."""
RECORDED = ("bench", "calibrate", "matrix", "smoke", "trial")
"""Commands whose own words stand in the results that they leave."""
# A command's own file says in HELP where it stands in `help`, and with the line `ENGINE = False` that it needs no
# engine: scripts/launch then installs none.
_SHORT = {"-n": "--name"}
_VARIABLE = re.compile(r"""([A-Z][A-Z0-9_]*)=((?:'[^']*'|"[^"]*"|[^\s'"])*)""")
_MAKE = re.compile(rf"\bmake ([a-z][a-z-]*)((?: +{_VARIABLE.pattern})*)")
_BOOTSTRAP = "scripts/bootstrap"
"""Of a checkout alone; `doctor` shows what it would do."""


@dataclass(frozen=True, slots=True)
class Guide:
    """A command's entry in `help`: its text, its group, and its place in the group."""

    name: str
    text: str
    group: str
    place: int


def names() -> list[str]:
    """Names of all commands."""
    return sorted(path.stem for path in COMMANDS.glob("*.py") if path.stem != "__init__")


@cache
def load(name: str) -> TyperCommand:
    """A command with its options; imports only its file."""
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(name, context_settings={"help_option_names": ["-h", "--help"]})(
        import_module(f"sandbox.cli.commands.{name}").command
    )
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


def guide() -> list[Guide]:
    """The `help` entries of all commands, read without importing their files."""
    return [_guide(name, ast.parse((COMMANDS / f"{name}.py").read_text(encoding="utf-8"))) for name in names()]


def _guide(name: str, tree: ast.Module) -> Guide:
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "command")
    place = next(
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "HELP"
    )
    text = (ast.get_docstring(function) or "").partition("\n")[0]
    return Guide(name, text, *ast.literal_eval(place))


def as_typed(text: str, in_checkout: bool = IN_CHECKOUT) -> str:
    """``make bench THREADS=8 JSON=1`` → ``sandbox bench --threads 8 --json`` in all of a text, unless in a checkout."""
    return text if in_checkout else _MAKE.sub(_own, text).replace(_BOOTSTRAP, "sandbox doctor")


def _own(found: re.Match[str]) -> str:
    command, typed = found[1], found[2]
    variables = typed.rstrip(",;)")  # the sentence's own
    if command not in names():
        return found[0]
    flags, positionals = options_of(command), positionals_of(command)
    words, options = ["sandbox", command], []
    for name, value in _VARIABLE.findall(variables):
        option = f"--{name.lower().replace('_', '-')}"
        if name in positionals:
            words.append(value)
        else:
            options += [option] if flags.get(name) else [option, value]
    return " ".join([*words, *options]) + typed[len(variables) :]
