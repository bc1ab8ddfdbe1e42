"""What the user does in a running stack: a shell or a command, ports of this machine (`PUBLISH=1`)."""

import json
import shlex
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.core.errors import ExitCode, MachineError
from sandbox.stack.engine import Docker, Feed
from sandbox.stack.inventory import helper_options
from sandbox.stack.locks import locked_stack
from sandbox.stack.naming import name_option
from sandbox.stack.protocol import OnEvent
from sandbox.stack.stack import Stack

_INTERRUPT = 'for each in /proc/[0-9]*; do grep -qs "$1" "$each/environ" && kill -INT "${each#/proc/}"; done'
_INTERRUPT_LIMIT_S = 10.0
_SHELL = "command -v bash >/dev/null && exec bash; exec sh"


def shell(stack: Stack, node: str) -> int:
    """Opens a root shell in a node; returns its exit code. SandboxError: exit 2: unknown node, exit 4: not running."""
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
    docker: Docker, container: str, argv: Sequence[str], feed: Feed | None = None, options: Sequence[str] = ()
) -> int:
    """Gives our input (or ``feed``) and output to a command in a container, as root; returns its exit code.

    After a Ctrl-C, which ends only the engine's client, the command is interrupted too.
    """
    mark = f"SANDBOX_CALL={uuid.uuid4()}"
    words = ("exec", "-i", "--user", "0", "--env", mark, *options)
    code = docker.hand_over(*words, container, *argv, feed=feed)
    if code == ExitCode.INTERRUPTED:
        docker.answer(
            "exec", "--user", "0", container, "sh", "-c", _INTERRUPT, "sh", mark, timeout_s=_INTERRUPT_LIMIT_S
        )
    return code


_NODE = "publish1"
_FIRST_PORT = 10000


@dataclass(frozen=True, slots=True)
class Address:
    """Where a node's port can be reached on the host."""

    node: str
    port_name: str
    host: str
    port: int


def publish(stack: Stack, on_event: OnEvent) -> Stack:
    """Publishes every port of every node; harmless when repeated. SandboxError (exit 4) where the engine refuses."""
    with locked_stack(stack.project, stack.name, on_event):
        stack = stack.refreshed()
        publisher = stack.publisher
        if publisher is None or publisher.state == "created":  # its making failed half-way
            _create(stack)
        elif not publisher.running:
            stack.docker.ask("start", publisher.id)
        return stack.refreshed()


def addresses(stack: Stack) -> list[Address]:
    """The published ports of a stack, now."""
    publisher = stack.publisher
    if publisher is None:
        return []
    return [
        Address(node, name, *publisher.published[inner])
        for inner, (node, name) in sorted(publisher.forwards.items())
        if inner in publisher.published
    ]


def _create(stack: Stack) -> None:
    """On its own network, which reaches the host, and on the stack's, which does not."""
    docker, public, publisher = stack.docker, f"{stack.project}_public", f"{stack.project}-{_NODE}"
    open_ports = [(each.node, name, port) for each in stack.members for name, port in each.about["ports"].items()]
    forwards = dict(enumerate(open_ports, _FIRST_PORT))
    targets = {str(inner): [node, port_name] for inner, (node, port_name, _) in forwards.items()}
    labels = helper_options(
        stack.identity, profile=stack.profile, plan=stack.plan, node=_NODE, forwards=json.dumps(targets)
    )
    docker.answer("rm", "--force", publisher)  # what an earlier attempt left
    docker.answer("network", "rm", public)
    docker.ask("network", "create", *labels, public)
    ports = [option for inner in forwards for option in ("--publish", f"127.0.0.1::{inner}")]
    docker.ask(
        "create", "--name", publisher, "--hostname", _NODE, "--network", public, *labels, *ports, "--entrypoint",
        "bash", stack.client.image, "-c", _script(forwards),
    )  # fmt: skip
    docker.ask("network", "connect", f"{stack.project}_stack", publisher)
    docker.ask("start", publisher)


def _script(forwards: Mapping[int, tuple[str, str, int]]) -> str:
    """One forwarder per port; a node's name is resolved for each connection."""
    lines = [
        f"socat TCP-LISTEN:{inner},fork,reuseaddr TCP:{shlex.quote(node)}:{port} &"
        for inner, (node, _, port) in forwards.items()
    ]
    return "\n".join(["trap 'kill $(jobs -p); exit 0' TERM INT", *lines, "wait"])
