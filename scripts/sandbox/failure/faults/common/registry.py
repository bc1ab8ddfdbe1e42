"""Finds the faults: every file of the package; and makes one from its name and options."""

from collections.abc import Mapping
from functools import cache

import sandbox.failure.faults
from sandbox.core.errors import SandboxError
from sandbox.core.plugins import Finder, OptionValue, help_line, option_texts
from sandbox.failure.fault import Fault
from sandbox.profile.library import Kind

EXAMPLE = "try: make fault FAULT=partition OPTIONS=away_from=proxies"
"""Options as they are typed."""
_FINDER = Finder(sandbox.failure.faults, Fault, "make fault FAULT={}")  # type: ignore[type-abstract]


@cache
def fault_files() -> Mapping[str, type[Fault]]:
    """The fault that each file of ``sandbox/faults/`` defines, by its name: that of the file, with dashes."""
    return _FINDER.files()


def names() -> list[str]:
    """Names of all faults."""
    return list(fault_files())


def help_of(name: str) -> str:
    """What clients and peers see of a fault, in one line. Raises SandboxError (exit 2) for an unknown name."""
    return help_line(_kind(name))


def options_of(name: str) -> Mapping[str, str]:
    """What each option of a fault is, by its name. Raises SandboxError (exit 2) for an unknown name."""
    return option_texts(_kind(name))


def fault_named(word: str, options: Mapping[str, OptionValue] | None = None) -> Fault:
    """The fault of a name, with its options. Raises SandboxError (exit 2) for what there is none of or is not valid."""
    return _FINDER.make(word, options or {}, fault_files())


def end_together(one: str, other: str) -> bool:
    """Whether one fault ends with the other on the same node: an equal one, or both end it, or change its device."""
    kinds = [fault_files().get(word) for word in (one, other)]
    same_device = all(kind is not None and kind.holds_device for kind in kinds)
    return one == other or same_device or (_starts_node(one) and _starts_node(other))


def _starts_node(word: str) -> bool:
    kind = fault_files().get(word)
    return kind is not None and word != "by-hand" and kind.ending != "ends nothing"


def refuse_kind(word: str, node: str, kind: Kind) -> None:
    """Raises SandboxError (exit 2) where a fault cannot hit a node of this kind, or there is no such fault."""
    kinds = _kind(word).kinds
    if kind in kinds:
        return
    known = f"{node} is a {kind}; {word} hits a {', '.join(sorted(kinds))}"
    step = f"try: make fault FAULT={word} TARGET=writer"
    if kind == "external":
        able = [name for name, fault in fault_files().items() if kind in fault.kinds]
        known = f"it has no container here; faults that need none: {', '.join(able)}"
        step = "try: make trial FAULT=by-hand"
    raise SandboxError(f"the fault {word} cannot hit {node}", known, step)


def _kind(word: str) -> type[Fault]:
    return _FINDER.kind(word, fault_files())
