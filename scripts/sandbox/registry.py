"""Which commands there are: every file of `commands/`, read when it is asked for."""

import ast
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import typer
from typer.core import TyperCommand
from typer.main import get_command

COMMANDS = Path(__file__).with_name("commands")
GROUPS = ("before", "a stack", "figures", "results")
"""Of `help`, in its order."""


@dataclass(frozen=True, slots=True)
class Guide:
    """What `help` says of a command, and where: its group, and its place in it."""

    name: str
    text: str
    group: str
    place: int


def names() -> list[str]:
    """Every command."""
    return sorted(path.stem for path in COMMANDS.glob("*.py") if path.stem != "__init__")


@cache
def load(name: str) -> TyperCommand:
    """A command with its options; imports its file, and no other."""
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(name, context_settings={"help_option_names": ["-h", "--help"]})(
        import_module(f"sandbox.commands.{name}").command
    )
    made = get_command(alone)
    if not isinstance(made, TyperCommand):
        raise TypeError(f"{name} is no single command")
    return made


def guide() -> list[Guide]:
    """What `help` says of each; no command's file is imported for it."""
    return [_guide(name, ast.parse((COMMANDS / f"{name}.py").read_text(encoding="utf-8"))) for name in names()]


def _guide(name: str, tree: ast.Module) -> Guide:
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "command")
    place = next(
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "HELP"
    )
    text = (ast.get_docstring(function) or "").partition("\n")[0]
    return Guide(name, text, *ast.literal_eval(place))
