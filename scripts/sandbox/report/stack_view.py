"""PURE: running stacks as data, as lines for a terminal, and the final summary of `up`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.report.text_table import text_table


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node as `ps` shows it. ``published`` is (port name, host address, host port)."""

    name: str
    term: str
    kind: str
    container: str
    image: str
    state: str
    health: str | None
    role: str | None
    ports: Mapping[str, int]
    published: Sequence[tuple[str, str, int]]
    proofs: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class StackView:
    """One stack as `ps` shows it."""

    name: str
    profile: str
    plan: str
    project: str
    checkout: str
    nodes: Sequence[NodeView]
    aside: Sequence[str] = ()
    """Why servers are neither writer nor reader, one sentence each."""


def stacks_data(stacks: Sequence[StackView]) -> dict[str, Any]:
    """Stacks as JSON data."""
    return {"stacks": [_stack_data(stack) for stack in stacks]}


def _stack_data(stack: StackView) -> dict[str, Any]:
    nodes = [
        {
            "name": node.name, "term": node.term, "kind": node.kind, "container": node.container, "image": node.image,
            "state": node.state, "health": node.health, "role": node.role, "ports": dict(node.ports),
            "published": [{"port": name, "host": host, "host_port": port} for name, host, port in node.published],
            "proofs": list(node.proofs),
        }
        for node in stack.nodes
    ]  # fmt: skip
    return {"name": stack.name, "profile": stack.profile, "plan": stack.plan, "project": stack.project,
            "checkout": stack.checkout, "nodes": nodes, "aside": list(stack.aside)}  # fmt: skip


def stack_lines(stack: StackView) -> list[str]:
    """One stack for a terminal of 100 columns."""
    rows = [[node.name, node.state, _role(node), _ports(node), _published(node)] for node in stack.nodes]
    table = text_table(["node", "state", "role", "ports", "on this host"], rows)
    return [f"{stack.name}   {stack.profile}", *(f"  {line}" for line in [*table, *stack.aside])]


def _role(node: NodeView) -> str:
    """The current role; empty for a server that is neither writer nor reader, or does not answer."""
    return node.role or ("" if node.kind in ("database", "replica") else node.kind)


def _ports(node: NodeView) -> str:
    return " ".join(f"{name}:{port}" for name, port in node.ports.items())


def _published(node: NodeView) -> str:
    return " ".join(f"{name}={host}:{port}" for name, host, port in node.published)


def summary_lines(stack: StackView, entries: Mapping[str, str], seconds: float) -> list[str]:
    """The final lines of `up`: entry points (port in words → ``node:port``), how to connect, what to type next."""
    option = "" if stack.name == "default" else f" NAME={stack.name}"
    lines = ["", *stack_lines(stack), "", f"ready in {seconds:.1f} s"]
    lines += [f"entry    {what}: {where}" for what, where in entries.items()]
    published = [f"{node.name} {_published(node)}" for node in stack.nodes if node.published]
    lines += [f"on host  {'; '.join(published)}"] if published else []
    return [*lines, f"connect  make sql{option}      measure  make bench{option}      remove  make down{option}"]
