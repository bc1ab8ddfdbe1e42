"""A shell or a command of the user's in a node of a running stack."""

import sys
import uuid
from collections.abc import Sequence

from sandbox.core.errors import ExitCode, MachineError
from sandbox.stack.engine import Docker, Feed
from sandbox.stack.naming import name_option
from sandbox.stack.stack import Stack

_INTERRUPT = (
    'for each in /proc/[0-9]*; do grep -qs "$1" "$each/environ" && kill -INT "${each#/proc/}"; done'
)
_INTERRUPT_LIMIT_S = 10.0
_SHELL = "command -v bash >/dev/null && exec bash; exec sh"


def shell(stack: Stack, node: str) -> int:
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
        docker.answer(
            "exec",
            "--user",
            "0",
            container,
            "sh",
            "-c",
            _INTERRUPT,
            "sh",
            mark,
            timeout_s=_INTERRUPT_LIMIT_S,
        )
    return code
