"""Ports of a running stack on this machine (`PUBLISH=1`): forwarded by a helper, on 127.0.0.1
only.
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from sandbox.stack.inventory import helper_options
from sandbox.stack.locks import locked_stack
from sandbox.stack.protocol import OnEvent
from sandbox.stack.stack import Stack

_NODE = "publish1"
_FIRST_PORT = 10000


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a node's port on the host."""

    node: str
    port_name: str
    host: str
    port: int


def publish(stack: Stack, on_event: OnEvent) -> Stack:
    """Publishes every port of every node; harmless when repeated. SandboxError (exit 4) where the
    engine refuses.
    """
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
    """Creates the helper on its own network, which reaches the host, and on the stack's, which does
    not.
    """
    docker = stack.docker
    public = f"{stack.project}_public"
    publisher = f"{stack.project}-{_NODE}"
    open_ports = [
        (each.node, name, port)
        for each in stack.members
        for name, port in each.about["ports"].items()
    ]
    forwards = dict(enumerate(open_ports, _FIRST_PORT))
    targets = {str(inner): [node, port_name] for inner, (node, port_name, _) in forwards.items()}
    labels = helper_options(
        stack.identity,
        profile=stack.profile,
        plan=stack.plan,
        node=_NODE,
        forwards=json.dumps(targets),
    )
    docker.answer("rm", "--force", publisher)  # what an earlier attempt left
    docker.answer("network", "rm", public)
    docker.ask("network", "create", *labels, public)
    ports = [option for inner in forwards for option in ("--publish", f"127.0.0.1::{inner}")]
    names = ["--name", publisher, "--hostname", _NODE, "--network", public]
    command = ["--entrypoint", "bash", stack.client.image, "-c", _script(forwards)]
    docker.ask("create", *names, *labels, *ports, *command)
    docker.ask("network", "connect", f"{stack.project}_stack", publisher)
    docker.ask("start", publisher)


def _script(forwards: Mapping[int, tuple[str, str, int]]) -> str:
    """One forwarder per port; a node's name is resolved for each connection."""
    lines = [
        f"socat TCP-LISTEN:{inner},fork,reuseaddr TCP:{shlex.quote(node)}:{port} &"
        for inner, (node, _, port) in forwards.items()
    ]
    return "\n".join(["trap 'kill $(jobs -p); exit 0' TERM INT", *lines, "wait"])
