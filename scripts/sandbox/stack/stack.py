"""A running stack: found by its label; commands in its nodes; means to break or upgrade one."""

import sys
import uuid
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from sandbox.core.errors import ExitCode, MachineError
from sandbox.core.paths import CHECKOUT
from sandbox.stack import inventory
from sandbox.stack.ask_states import look
from sandbox.stack.beside import stream_beside
from sandbox.stack.control import Control, ExternalControl
from sandbox.stack.engine import CommandStream, Docker, Feed
from sandbox.stack.naming import choose_project, name_option
from sandbox.stack.nodes import StackNodes
from sandbox.stack.protocol import NodeControl, OnEvent, RunningStack
from sandbox.stack.readiness import Readiness
from sandbox.stack.server_status import ServerStatus
from sandbox.stack.within import stream_within


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

    def stream_beside(
        self, node: str, image: str, argv: Sequence[str], weight: float
    ) -> CommandStream:
        where = self.container(node)
        return stream_beside(self.docker, self.identity, where, image, argv, weight)

    def stream_within(self, node: str, argv: Sequence[str]) -> CommandStream:
        where = self.container(node)
        return stream_within(self.docker, self.identity, where, self.client.image, argv)

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


_INTERRUPT = (
    'for each in /proc/[0-9]*; do grep -qs "$1" "$each/environ" && kill -INT "${each#/proc/}"; done'
)
_INTERRUPT_LIMIT_S = 10.0
_SHELL = "command -v bash >/dev/null && exec bash; exec sh"


def open_shell(stack: Stack, node: str) -> int:
    """Opens a root shell in a node; returns its exit code. SandboxError: exit 2: unknown node, exit
    4: not running.
    """
    return execute(stack, node, ["sh", "-c", _SHELL])


def execute(stack: Stack, node: str, argv: Sequence[str]) -> int:
    """Runs a command as root in a node; returns its exit code. SandboxError: as for `shell`."""
    container = stack.container(node)
    if not container.running:
        raise MachineError(
            f"{node} is not running: {container.status.lower()}",
            "a command needs a running container",
            f"try: make start{name_option(stack.name)}",
        )
    if sys.stdin.isatty() and sys.stdout.isatty():
        options = ("-it", "--env", "LANG=C.UTF-8", "--user", "0")
        return stack.docker.hand_over("exec", *options, container.id, *argv)
    return hand_over_piped(stack.docker, container.id, argv)


def hand_over_piped(
    docker: Docker,
    container: str,
    argv: Sequence[str],
    feed: Feed | None = None,
    options: Sequence[str] = (),
) -> int:
    """Gives our input (or ``feed``) and output to a command in a container, as root; returns its
    exit code.

    After a Ctrl-C, which ends only the engine's client, the command is interrupted too.
    """
    mark = f"SANDBOX_CALL={uuid.uuid4()}"
    words = ("exec", "-i", "--user", "0", "--env", mark, *options)
    code = docker.hand_over(*words, container, *argv, feed=feed)
    if code == ExitCode.INTERRUPTED:
        script = ("sh", "-c", _INTERRUPT, "sh", mark)
        argv = ("exec", "--user", "0", container, *script)
        docker.answer(*argv, timeout_s=_INTERRUPT_LIMIT_S)
    return code
