"""PURE: running stacks and kept snapshots as data and as lines for a terminal, and the final summary of `up`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sandbox.report.text import ports_text, text_table
from sandbox.stack.snapshots.store import CAP_BYTES, Snapshot


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
    names = ("port", "host", "host_port")
    published = [[dict(zip(names, each, strict=True)) for each in node.published] for node in stack.nodes]
    nodes = [asdict(node) | {"published": each} for node, each in zip(stack.nodes, published, strict=True)]
    return asdict(stack) | {"nodes": nodes}


def stack_lines(stack: StackView) -> list[str]:
    """One stack for a terminal of 100 columns."""
    rows = [[node.name, node.state, _role(node), ports_text(node.ports), _published(node)] for node in stack.nodes]
    table = text_table(["node", "state", "role", "ports", "on this host"], rows)
    return [f"{stack.name}   {stack.profile}", *(f"  {line}" for line in [*table, *stack.aside])]


def _role(node: NodeView) -> str:
    """The current role; empty for a server that is neither writer nor reader, or does not answer."""
    return node.role or ("" if node.kind in ("database", "replica") else node.kind)


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


def snapshots_data(snapshots: Sequence[Snapshot]) -> dict[str, Any]:
    """What `make snapshots JSON=1` prints."""
    rows = [
        {
            "key": each.facts.key,
            "profile": each.facts.profile,
            "size_bytes": each.facts.bytes,
            "made_unix_s": each.facts.made_unix_s,
            "used_unix_s": each.used_unix_s,
            "checkout": each.facts.checkout,
            "volume": each.volume,
        }
        for each in snapshots
    ]
    return {"snapshots": rows, "size_bytes": sum(each.facts.bytes for each in snapshots), "cap_bytes": CAP_BYTES}


def snapshot_lines(snapshots: Sequence[Snapshot], clock: Callable[[float], str]) -> list[str]:
    """A table, and the total size against the cap. ``clock``: formats seconds since 1970."""
    rows = [
        (
            each.facts.key,
            each.facts.profile,
            f"{each.facts.bytes / (1 << 20):.1f} MiB",
            clock(each.facts.made_unix_s),
            clock(each.used_unix_s),
        )
        for each in snapshots
    ]
    size = sum(each.facts.bytes for each in snapshots) / (1 << 20)
    total = f"{size:.1f} MiB of at most {CAP_BYTES >> 30} GiB; make clean removes them, SNAPSHOTS=0 does not use them"
    return [*text_table(("snapshot", "profile", "size", "created", "last used"), rows), "", total]
