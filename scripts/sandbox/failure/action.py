"""An action: its parameters, the servers that it acts on, why it may be refused; each found by
name.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.core.plugin_options import OptionValue, make_plugin
from sandbox.core.plugins import plugins_of_classes
from sandbox.record.trial import Lasted
from sandbox.stack.client_python import ask, targets_of
from sandbox.stack.protocol import RunningStack, StackNode

GRACE_S = 60.0
"""How long a server may take to stop, unless its action says otherwise."""
_START_S = 30.0
_PAUSE_S = 0.2
_ANSWER_S = 1.0
_SILENT = (None, *range(2000, 3000))
"""Error codes of the client itself: no server has said anything. Source: MySQL's manual, "Client
Error Message".
"""


@dataclass(frozen=True)
class Operation:
    """The stack and servers that an action acts on. ``servers``: database servers of the group;
    ``targets``: the nodes that were chosen.

    ``ended``: set when the trial needs the action no more; it then stops at the next point where it
    can.
    """

    stack: RunningStack
    client: str
    servers: Sequence[StackNode]
    targets: Sequence[str]
    ended: threading.Event = field(default_factory=threading.Event)
    joined_s: list[Lasted] = field(default_factory=list)
    """How long each server that an action started took until it was ready, in seconds; open: it was
    not, by then.
    """

    @property
    def members(self) -> list[StackNode]:
        """The servers of the database term, without asynchronous replicas."""
        return [node for node in self.servers if node.kind == "database"]

    @property
    def topology(self) -> str:
        """The topology of the group: ``single``, ``galera`` or ``gr``."""
        return next((node.topology for node in self.members if node.topology), "single")

    def places(self) -> tuple[StackNode | None, list[StackNode]]:
        """The server of the group that is the writer now, and those that are readers."""
        roles = self.stack.roles()
        writer = next((node for node in self.servers if roles.get(node.name) == "writer"), None)
        return writer, [node for node in self.servers if roles.get(node.name) == "reader"]

    def answers(self, node: StackNode) -> bool:
        """Whether a server answers over the network, as the client node sees it."""
        address = self.stack.control(node.name).address()
        if address is None:  # its name is gone, too, and to look it up would take long
            return False
        at = targets_of([replace(node, host=address)])
        try:
            answers = ask(self.stack, self.client, at, ["SELECT 1"], _ANSWER_S).values()
        except TimeoutError:
            return False
        return not any(each.error and each.error_code in _SILENT for each in answers)

    def wait_for(self, met: Callable[[], bool], limit_s: float, pause_s: float = _PAUSE_S) -> bool:
        """Whether a condition was met within the limit. Raises ActionRefusedError where the trial
        ends meanwhile.
        """
        end = time.monotonic() + limit_s
        while not met():
            if time.monotonic() > end:
                return False
            if self.ended.wait(pause_s):
                raise ActionRefusedError("it was given up", "the trial ended")
        return True


class ActionRefusedError(SandboxError):
    """An action that is not possible now, and why."""

    def __init__(self, what: str, known: str) -> None:
        super().__init__(
            what, known, "try: make ps   (shows the role of every server)", ExitCode.FAILED
        )


class TooLateError(ActionRefusedError):
    """An action that was carried out, and whose end did not come within its limit."""


class Action(BaseModel, ABC):
    """One act of an operator. Its fields are its parameters, with their units in the names."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
    starts_servers: ClassVar[bool] = False
    """Whether servers are started anew, and may have other addresses then."""
    findings: ClassVar[tuple[type[ActionRefusedError], ...]] = (TooLateError,)
    """Errors that are results of the setup; with any other one the action was not done, and the
    trial is ``failed``.
    """

    @property
    def typical_s(self) -> float:
        """About how long it takes, for the estimate of a matrix."""
        return 5.0

    @property
    def stop_limit_s(self) -> float:
        """How long it may take to stop where it can: a server that it stops, in its time, starts
        again.
        """
        return GRACE_S + _START_S

    @abstractmethod
    def perform(self, operation: Operation) -> str:
        """Does it; one sentence about what was done.

        Raises ActionRefusedError where it is not possible, TooLateError where it does not end
        within its limit, SandboxError (exit 4) where a server does not answer.
        """


class StoppingAction(Action):
    """One whose servers may be given longer, or shorter, to stop."""

    grace_s: float = Field(
        default=GRACE_S, ge=0, le=600, description="seconds that a server may take to stop"
    )

    @property
    def stop_limit_s(self) -> float:
        return self.grace_s + _START_S


def names_of(nodes: Sequence[StackNode]) -> str:
    """In one line, for a message."""
    return ", ".join(node.name for node in nodes) or "none"


def not_answered(name: str, limit_s: float) -> MachineError:
    """The error of a server that was asked in vain."""
    return MachineError(
        f"{name} does not answer", f"no answer within {limit_s:g} s", "try: make ps"
    )


ACTION_KINDS = plugins_of_classes(
    "sandbox.failure.actions",
    Action,  # type: ignore[type-abstract]
    "make trial FAULT=promotion",
)


def action_named(name: str, options: Mapping[str, OptionValue] | None = None) -> Action:
    """The action of a name, with its options. Raises SandboxError (exit 2) as `make_plugin`
    does.
    """
    return make_plugin(ACTION_KINDS, name, options)
