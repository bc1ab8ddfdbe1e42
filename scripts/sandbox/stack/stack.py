"""A running stack, whole: its nodes, the wait until they are ready, the means to break and upgrade
one.
"""

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

from sandbox.core.paths import CHECKOUT
from sandbox.stack import inventory
from sandbox.stack.ask_states import look
from sandbox.stack.control import Control, ExternalControl
from sandbox.stack.engine import Docker
from sandbox.stack.naming import choose_project
from sandbox.stack.nodes import StackNodes
from sandbox.stack.protocol import NodeControl, OnEvent, RunningStack
from sandbox.stack.readiness import Readiness
from sandbox.stack.server_status import ServerStatus


class Stack(StackNodes, RunningStack):  # type: ignore[override]  # its inputs are read on first use
    """One stack on the engine, found by its label. Implements the protocol."""

    def server_states(self) -> Mapping[str, ServerStatus]:
        return look(self).states

    def wait_until_ready(self, timeout_s: float) -> None:
        Readiness(self.refreshed(), lambda _: None, timeout_s, end_if_broken=True).wait()

    def control(self, node: str) -> NodeControl:
        for external in self.entries.externals():
            if external.node == node:
                return ExternalControl(self, external)
        return Control(self.docker, self.identity, self.container(node), lambda: self.client.image)

    def upgrade(self, node: str, version: str) -> None:
        # Late, for start-up time: it plans, and the planner's libraries take longer than all that a
        # `sql` does.
        from sandbox.stack.upgrade import upgrade

        made = upgrade(self, node, version)
        self._take([made if each.node == node else each for each in self.containers])


def all_stacks(docker: Docker) -> list[Stack]:
    """Every stack of this tool on the engine, of any checkout."""
    found = groupby(inventory.containers(docker), key=lambda each: each.project)
    stacks = [Stack(list(group), docker) for _, group in found]
    return [stack for stack in stacks if stack.members]


def find_stack(
    name: str | None, on_event: OnEvent, docker: Docker, checkout: Path = CHECKOUT
) -> Stack:
    """The stack of this checkout that a command means (None: no name was given).

    Without a name it is ``default``; where that does not exist and exactly one other does, that
    one, with a Note. Raises SandboxError (exit 2) where no stack matches, or the command is
    ambiguous.
    """
    stacks = all_stacks(docker)
    project = choose_project(
        name, {stack.project: stack.checkout for stack in stacks}, on_event, checkout
    )
    return next(stack for stack in stacks if stack.project == project)
