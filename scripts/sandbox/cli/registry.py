"""The commands: what every file of `commands/` says of itself, read without importing it."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sandbox.core.errors import ExitCode, SandboxError, did_you_mean
from sandbox.core.plugins import plugins_of_functions
from sandbox.core.words import help_in

COMMANDS = plugins_of_functions("sandbox.cli.commands", "command", "command", "sandbox help")
Group = Literal["look first", "stacks", "measure", "results"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""The groups of `help`, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a command's own file says of it: ``ABOUT = About(…)``, in plain values.

    `help` and scripts/launch read the text of that file; neither imports it.
    """

    group: Group
    after: str | None = None
    """The command that it stands behind in its group; None: it is the first."""
    needs_engine: bool = True
    """Whether scripts/launch makes Docker ready, which may install it."""
    plans: bool = False
    """Whether it plans on an engine, which is asked about itself and its images at once."""
    recorded: bool = False
    """Whether its own words stand in the results that it leaves."""


@dataclass(frozen=True, slots=True)
class Guide:
    """A command's entry in `help`: the first line of its help, and what its file says about it."""

    name: str
    text: str
    about: About


def guide_of(name: str) -> Guide:
    """The entry of a command, read without importing its file.

    Raises SandboxError (exit 5) for a file without `command` or `ABOUT`.
    """
    tree = ast.parse(COMMANDS.source(name))
    texts = [
        help_in(ast.get_docstring(node))
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name == "command"
    ]
    said = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ABOUT"
    ]
    if not (texts and said):
        known = "a command's file defines the function command, and ABOUT = About(…)"
        what = "has no ABOUT" if texts else "has no function command"
        raise _refused(name, what, known)
    return Guide(name, texts[0], _about(name, said[0]))


def _about(name: str, said: ast.expr) -> About:
    try:
        if not isinstance(said, ast.Call) or said.args:
            raise TypeError(f"ABOUT = {ast.unparse(said)}")
        values = {str(each.arg): ast.literal_eval(each.value) for each in said.keywords}
        return About(**values)
    except (TypeError, ValueError) as problem:
        known = f"About(…) takes {', '.join(About.__dataclass_fields__)}, in plain values"
        raise _refused(name, f"is not readable: {problem}", known) from problem


def guides() -> dict[Group, list[Guide]]:
    """The entries of `help` by group, in order; imports no command.

    Raises SandboxError (exit 5) for a command of an unknown group, or without a place in its group.
    """
    found = [guide_of(name) for name in COMMANDS.names()]
    for each in found:
        if each.about.group not in GROUPS:
            known = did_you_mean(each.about.group, GROUPS)
            raise _refused(each.name, f"has the unknown group '{each.about.group}'", known)
    return {group: _in_order([e for e in found if e.about.group == group]) for group in GROUPS}


def _in_order(group: Sequence[Guide]) -> list[Guide]:
    """The commands of a group, each behind the one it names; several behind one are in order of
    name.
    """
    ordered = [*_following(None, group)]
    for each in group:
        if each not in ordered:
            others = [other.name for other in group if other != each]
            known = f"of its group, {did_you_mean(each.about.after or '', others)}"
            raise _refused(each.name, f"has no place after '{each.about.after}'", known)
    return ordered


def _following(name: str | None, group: Sequence[Guide]) -> Iterator[Guide]:
    for each in group:
        if each.about.after == name:
            yield each
            yield from _following(each.name, group)


def _refused(name: str, what: str, known: str) -> SandboxError:
    next_step = "try: make test-unit"
    return SandboxError(f"{COMMANDS.place(name)} {what}", known, next_step, ExitCode.INTERNAL)
