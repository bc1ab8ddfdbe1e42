"""Which nodes a fault hits: words such as writer and minority, as the stack is now. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.failure.registry import FAULT_KINDS, refuse_kind
from sandbox.stack.protocol import ServerRole, StackNode

WORDS = ("writer", "one-reader", "all-readers", "minority", "majority", "all", "proxy")
_STEP = "try: make ps   (lists the nodes)"


@dataclass(frozen=True, slots=True)
class GroupNow:
    """A group's nodes as they are now; ``members`` are the database nodes, without asynchronous
    replicas.
    """

    servers: Sequence[str]
    members: Sequence[str]
    readers: Sequence[str]
    """Every server that answers and is not the writer."""
    proxies: Sequence[str]
    """The one that is the entry point comes last; else the group's last one does."""


def choose(
    word: str,
    nodes: Sequence[StackNode],
    roles: Mapping[str, ServerRole | None],
    writer: str,
    group_index: int,
    seed: int,
    entry: str = "",
) -> list[str]:
    """Names of the nodes that a target means, in the stack's order.

    ``roles``: of every server, None for one that does not answer; ``writer``: who answered a write
    through the entry point, whatever the others' roles are; ``seed`` draws among equals; ``entry``:
    the node of the entry point.

    Raises SandboxError (exit 2) for an unknown word, or a target that the stack does not have.
    """
    if word not in WORDS:
        return [_named(word, nodes)]
    own = [node for node in nodes if node.group_index == group_index]
    group = _group(own, roles, writer, entry)
    found = _meant(word, group, writer, seed)
    if not found:
        raise SandboxError(f"the stack has no target '{word}'", _reason(word, group), _STEP)
    order = [node.name for node in nodes if node.name in found]
    return [_named(name, nodes) for name in order or found]


def refuse_impossible(name: str, word: str, nodes: Sequence[StackNode], group_index: int) -> None:
    """Raises SandboxError (exit 2) for a target that a stack of these nodes never has, or that a
    fault cannot hit.

    ``name``: of a fault or an action.
    """
    servers = [node.name for node in nodes if node.is_server and node.group_index == group_index]
    hit = choose(
        word, nodes, dict.fromkeys(servers, "reader"), next(iter(servers), ""), group_index, 1
    )
    for node in nodes:
        if node.name in hit and name in FAULT_KINDS.names():
            refuse_kind(name, node.name, node.kind)


def impossible(
    name: str, word: str, nodes: Sequence[StackNode], group_index: int
) -> SandboxError | None:
    """What `refuse_impossible` raises; None where it raises nothing."""
    try:
        refuse_impossible(name, word, nodes, group_index)
    except SandboxError as problem:
        return problem
    return None


def with_host(nodes: Sequence[StackNode], hit: Sequence[str]) -> list[str]:
    """The nodes that are hit, and behind them those that stand on their hosts."""
    return [*hit, *(node.name for node in nodes if node.host_of in hit and node.name not in hit)]


def minority_of(members: Sequence[str], seed: int) -> list[str]:
    """As many of the members as are no majority, drawn; the rest is the majority of the same
    seed.
    """
    return sorted(_draw("minority", seed).sample(sorted(members), max(0, (len(members) - 1) // 2)))


def _meant(word: str, group: GroupNow, writer: str, seed: int) -> list[str]:
    minority = minority_of(group.members, seed)
    enough = len(group.members) > 1
    meant = {
        "writer": [writer],
        "one-reader": [_draw(word, seed).choice(sorted(group.readers))] if group.readers else [],
        "all-readers": group.readers,
        "minority": minority,
        "majority": [name for name in group.members if name not in minority] if enough else [],
        "all": group.servers,
        "proxy": group.proxies[-1:],
    }
    return list(meant[word])


def _group(
    own: Sequence[StackNode], roles: Mapping[str, ServerRole | None], writer: str, entry: str
) -> GroupNow:
    servers = [node.name for node in own if node.is_server]
    return GroupNow(
        servers,
        [node.name for node in own if node.kind == "database"],
        [name for name in servers if name != writer and roles.get(name) is not None],
        sorted(
            (node.name for node in own if node.kind == "proxy" and node.port is not None),
            key=entry.__eq__,
        ),
    )


def _named(name: str, nodes: Sequence[StackNode]) -> str:
    node = next((node for node in nodes if node.name == name), None)
    can_break = [node.name for node in nodes if node.kind != "client"]
    if node is None:
        raise SandboxError(
            f"there is no target '{name}'", did_you_mean(name, [*WORDS, *can_break]), _STEP
        )
    if name in can_break:
        return name
    known = f"it runs the load; nodes that can be hit: {', '.join(can_break)}"
    raise SandboxError(f"{name} cannot be a target", known, _STEP)


def _reason(word: str, group: GroupNow) -> str:
    members = ", ".join(group.members) or "none"
    return {
        "one-reader": "no server except the writer answers",
        "all-readers": "no server except the writer answers",
        "minority": f"a minority needs three database nodes; here: {members}",
        "majority": f"a majority needs two database nodes; here: {members}",
        "proxy": "its group has no proxy",
    }.get(word, f"servers of its group: {', '.join(group.servers) or 'none'}")


def _draw(word: str, seed: int) -> Random:
    return Random(f"{word} {seed}")  # noqa: S311  (a choice, not a secret)
