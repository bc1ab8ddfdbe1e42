"""The faults and the actions: each made from its name and options, and which nodes a fault hits."""

from collections.abc import Mapping

from sandbox.core.errors import SandboxError
from sandbox.core.plugin_options import OptionValue, make_plugin
from sandbox.core.plugins import plugins_of_classes
from sandbox.failure.action import Action
from sandbox.failure.fault import Fault
from sandbox.profile.library import Kind

FAULT_KINDS = plugins_of_classes(
    "sandbox.failure.faults",
    Fault,  # type: ignore[type-abstract]
    "make fault FAULT={}",
)
ACTION_KINDS = plugins_of_classes(
    "sandbox.failure.actions",
    Action,  # type: ignore[type-abstract]
    "make trial FAULT=promotion",
)
EXAMPLE = "try: make fault FAULT=partition OPTIONS=away_from=proxies"
"""Options as they are typed."""


def fault_named(name: str, options: Mapping[str, OptionValue] | None = None) -> Fault:
    """The fault of a name, with its options. Raises SandboxError (exit 2) as `make_plugin` does."""
    return make_plugin(FAULT_KINDS, name, options)


def action_named(name: str, options: Mapping[str, OptionValue] | None = None) -> Action:
    """The action of a name, with its options. Raises SandboxError (exit 2) as `make_plugin`
    does.
    """
    return make_plugin(ACTION_KINDS, name, options)


def end_together(one: str, other: str) -> bool:
    """Whether one fault ends with the other on the same node.

    Equal ones do, those that both end the node, and those that both change its network device.
    """
    if one == other:
        return True
    known = FAULT_KINDS.names()
    if one not in known or other not in known:
        return False
    kinds = (FAULT_KINDS.named(one), FAULT_KINDS.named(other))
    if all(kind.holds_device for kind in kinds):
        return True
    ends_both = all(kind.ending != "ends nothing" for kind in kinds)
    return ends_both and "by-hand" not in (one, other)


def refuse_kind(name: str, node: str, kind: Kind) -> None:
    """Raises SandboxError (exit 2) for a fault that cannot hit a node of this kind, or is
    unknown.
    """
    kinds = FAULT_KINDS.named(name).kinds
    if kind in kinds:
        return
    known = f"{node} is a {kind}; {name} hits a {', '.join(sorted(kinds))}"
    next_step = f"try: make fault FAULT={name} TARGET=writer"
    if kind == "external":
        able = [each for each, fault in FAULT_KINDS.every().items() if kind in fault.kinds]
        known = f"it has no container here; faults that need none: {', '.join(able)}"
        next_step = "try: make trial FAULT=by-hand"
    raise SandboxError(f"the fault {name} cannot hit {node}", known, next_step)
