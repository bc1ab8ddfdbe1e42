"""A fault: its parameters, what it needs, how it breaks a node and heals it; each found by name."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.core.plugin_options import OptionValue, make_plugin
from sandbox.core.plugins import plugins_of_classes
from sandbox.profile.library import Kind
from sandbox.stack.engine_facts import KERNEL_ABILITIES
from sandbox.stack.journal import breakages
from sandbox.stack.naming import name_option
from sandbox.stack.protocol import ExecResult, NodeControl, RunningStack

Ability = Literal["netem", "tbf", "iptables", "write-limit", "own-disk", "faketime"]
"""An ability of the kernel or of the stack that a fault needs; without it, it is skipped with the
reason.
"""
SETTING_OF: dict[Ability, str] = {"faketime": "adjustable-clock"}
"""The setting with which a stack has an ability."""
Ending = Literal["ends the server", "ends the container", "ends nothing"]
"""The part of its target that a fault is meant to end: such a death is no failure of the run."""
SETTLE_S = 5.0
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Peer:
    """Another node of the stack as a fault sees it, with its address at the time of the
    injection.
    """

    name: str
    kind: Kind
    address: str


@dataclass(frozen=True, slots=True)
class Scene:
    """The stack at the moment of an injection. ``targets``: names of all nodes hit together, this
    one included.
    """

    targets: Sequence[str]
    peers: Sequence[Peer]
    group: Mapping[str, int | None] = field(default_factory=dict)
    """Group of each node."""


@dataclass(frozen=True, slots=True)
class FaultRequest:
    """A fault by name with its options, and the nodes that it hits at once."""

    fault: str
    options: Mapping[str, str | int | float | bool]
    nodes: Sequence[str]


@dataclass(frozen=True, slots=True)
class Injection:
    """An injection as it went, on this machine's monotonic clock, ns. ``missing``: why it is not in
    effect, by node.
    """

    began_ns: int
    ended_ns: int
    missing: Mapping[str, str] = field(default_factory=dict)


class Fault(BaseModel, ABC):
    """One way to break a node. Its fields are its parameters, with their units in the names.

    `before` reads what `heal` needs; it is written down before `inject` runs, so that any later
    command can heal.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
    needs: ClassVar[frozenset[Ability]] = frozenset()
    kinds: ClassVar[frozenset[Kind]] = frozenset({"database", "replica"})
    """Kinds of nodes that it can hit."""
    ending: ClassVar[Ending] = "ends nothing"
    heals_inside: ClassVar[bool] = False
    """Whether its heal works inside the container, which must not be paused then."""
    lives_in_container: ClassVar[bool] = False
    """Whether it ends with the container, and not with its data: a trial injects it again into one
    that restarts.
    """
    holds_device: ClassVar[bool] = False
    """Whether it changes the device of the node's network, or takes it away: two such faults end
    each other.
    """
    same_before: ClassVar[bool] = False
    """Whether `before` reads the same whatever the options are."""
    outlasts_heal: ClassVar[bool] = False
    """Whether its server may still stand still, or end, for a while after the heal: see
    `settle`.
    """

    def befalls_host(self) -> bool:
        """Whether it strikes all that stands on the host of a node: what shares that host is then
        hit, too.
        """
        return False

    def longest_s(self) -> float:
        """Seconds beyond the usual that an injection or a heal may take with these parameters."""
        return 0

    def before(self, node: NodeControl, scene: Scene) -> dict[str, str]:  # noqa: ARG002  (most need nothing)
        """The facts that `heal` will need, as they are before the injection."""
        return {}

    @abstractmethod
    def inject(self, node: NodeControl, scene: Scene) -> None:
        """Breaks the node; returns when that is done. Raises SandboxError (exit 4) where the engine
        refuses.
        """

    @abstractmethod
    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:
        """The sign that the fault is not in effect; None where it is."""

    @abstractmethod
    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:
        """Mends the node, whatever became of it since; harmless when repeated. It does not wait for
        its server.
        """

    def settle(self, node: NodeControl) -> None:
        """Waits, after the heal, until the server works as before; starts one that has ended
        meanwhile.
        """


FAULT_KINDS = plugins_of_classes(
    "sandbox.failure.faults",
    Fault,  # type: ignore[type-abstract]
    "make fault FAULT={}",
)
EXAMPLE = "try: make fault FAULT=partition OPTIONS=away_from=proxies"
"""Options as they are typed."""


def fault_named(name: str, options: Mapping[str, OptionValue] | None = None) -> Fault:
    """The fault of a name, with its options. Raises SandboxError (exit 2) as `make_plugin` does."""
    return make_plugin(FAULT_KINDS, name, options)


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


def refuse_unable(lacking: Callable[[], Mapping[str, str]], word: str) -> None:
    """Raises SandboxError (exit 3: skipped) where the engine's kernel lacks what a fault needs.

    ``lacking``: asks for what it lacks, each with the reason; only where the fault needs anything
    of it.
    """
    needs = FAULT_KINDS.named(word).needs.intersection(KERNEL_ABILITIES)
    reasons = lacking() if needs else {}
    for need in sorted(needs & reasons.keys()):
        what = f"the fault {word} is skipped: the engine's kernel has no {need}"
        raise SandboxError(what, reasons[need], "try: make doctor", ExitCode.UNKNOWN)


def done(result: ExecResult, what: str) -> None:
    """Raises SandboxError (exit 4) where a command in a node failed."""
    if result.code:
        raise MachineError(
            f"{what} failed", result.last_error or f"exit code {result.code}", "try: make ps"
        )


def soon(
    look: Callable[[], str | None], patience_s: float = SETTLE_S, *, pause_s: float = _LOOK_S
) -> str | None:
    """Looks until nothing is missing, for a few seconds; what is still missing then."""
    end = time.monotonic() + patience_s
    while (missing := look()) and time.monotonic() < end:
        time.sleep(pause_s)
    return missing


def refuse_broken(stack: RunningStack, request: FaultRequest) -> None:
    """Raises SandboxError (exit 2) where a node is broken already and the heal of one fault would
    end both.
    """
    there = [each for each in breakages(stack.project) if each.node in request.nodes]
    for each in there:
        if end_together(each.fault, request.fault):
            what = f"{each.fault} is already active on {each.node}"
            known = "one of the two would end the other"
            raise SandboxError(what, known, f"try: make heal{name_option(stack.name)}")
