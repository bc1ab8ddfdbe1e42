"""The nodes that a fault hits: words such as writer and minority, as the stack is now."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from sandbox.core.errors import MachineError, SandboxError, did_you_mean
from sandbox.failure.fault import FAULT_KINDS, refuse_kind
from sandbox.stack.client_python import Statement, Target, ask
from sandbox.stack.protocol import EntryPoint, RunningStack, ServerRole, StackNode

WORDS = ("writer", "one-reader", "all-readers", "minority", "majority", "all", "proxy")
_STEP = "try: make ps   (lists the nodes)"
_WHO_WRITES: Sequence[Statement] = (
    "START TRANSACTION",
    "INSERT INTO sandbox.ready (id, at) VALUES (2, now()) ON DUPLICATE KEY UPDATE at = now()",
    "SELECT @@hostname",
    "COMMIT",
)
"""In one transaction: a proxy that splits reads sends all of it to one server."""
_ANSWER_S = 3.0
"""A write that takes longer does not get through: meanwhile a schedule would wait."""
PATIENT_S = 15.0
"""The time for an answer where nothing else waits: a disk that was full a moment ago takes seconds
for its first commits.
"""


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
    """The error that `refuse_impossible` raises; None where it raises nothing."""
    try:
        refuse_impossible(name, word, nodes, group_index)
    except SandboxError as problem:
        return problem
    return None


def with_host(nodes: Sequence[StackNode], hit: Sequence[str]) -> list[str]:
    """The nodes that are hit, and behind them those that stand on their hosts."""
    return [*hit, *(node.name for node in nodes if node.host_of in hit and node.name not in hit)]


def minority_of(members: Sequence[str], seed: int) -> list[str]:
    """Members that are no majority, as many as can be, drawn; the rest is the majority of the same
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


def writer_now(
    stack: RunningStack, client: str, entry: EntryPoint, answer_s: float = _ANSWER_S
) -> str:
    """The node that takes a write through the entry point now. Raises SandboxError (exit 4) where
    none does.
    """
    at = Target(entry.node, entry.host, entry.port, "app")
    answer = ask(stack, client, [at], _WHO_WRITES, answer_s)[at.name]
    if answer.error or not answer.rows(2):
        raise MachineError(
            f"no write gets through {entry.via}", answer.error or "no answer", "try: make ps"
        )
    return str(answer.rows(2)[0][0])


def chosen_nodes(
    stack: RunningStack,
    target: str,
    via: str | None,
    seed: int,
    roles: Mapping[str, ServerRole | None] | None = None,
    answer_s: float = _ANSWER_S,
) -> list[str]:
    """The nodes that a target means now.

    ``roles``: what they were a moment ago. They hold as long as their writer takes the write; to
    ask every server costs processor time that the prober would miss. ``answer_s``: how long a write
    may take.

    Raises SandboxError: exit 2 for a target that the stack does not have, exit 4 where there is no
    writer.
    """
    nodes = stack.nodes()
    if target not in WORDS:
        return choose(target, nodes, {}, "", 0, seed)
    client = next(node.name for node in nodes if node.kind == "client")
    if roles is not None:
        with suppress(MachineError):
            entry, writer = _entry_and_writer(stack, client, via, roles, answer_s)
            if roles.get(writer) == "writer":
                return choose(target, nodes, roles, writer, entry.group_index, seed, entry.node)
    roles = stack.roles()
    entry, writer = _entry_and_writer(stack, client, via, roles, answer_s)
    return choose(target, nodes, roles, writer, entry.group_index, seed, entry.node)


def _entry_and_writer(
    stack: RunningStack,
    client: str,
    via: str | None,
    roles: Mapping[str, ServerRole | None],
    answer_s: float,
) -> tuple[EntryPoint, str]:
    entry = stack.entry_point(via, roles)
    return entry, (
        entry.node if entry.via == "external" else writer_now(stack, client, entry, answer_s)
    )
