"""Finds the actions: every file of the package; and makes one from its name and options."""

from collections.abc import Mapping
from functools import cache

import sandbox.failure.actions
from sandbox.core.plugins import Finder, OptionValue, help_line, option_texts
from sandbox.failure.action import Action

_FINDER = Finder(sandbox.failure.actions, Action, "make trial FAULT=promotion")  # type: ignore[type-abstract]


@cache
def action_files() -> Mapping[str, type[Action]]:
    """The action that each file of ``sandbox/actions/`` defines, by its name: that of the file, with dashes."""
    return _FINDER.files()


def action_names() -> list[str]:
    """Names of all actions."""
    return list(action_files())


def action_help(name: str) -> str:
    """What an action does, in one line. Raises SandboxError (exit 2) for an unknown name."""
    return help_line(_FINDER.kind(name, action_files()))


def action_options(name: str) -> Mapping[str, str]:
    """What each option of an action is, by its name. Raises SandboxError (exit 2) for an unknown name."""
    return option_texts(_FINDER.kind(name, action_files()))


def action_named(word: str, options: Mapping[str, OptionValue] | None = None) -> Action:
    """The action of a name, with its options. Raises SandboxError (exit 2) for an unknown name or an invalid option."""
    return _FINDER.make(word, options or {}, action_files())
