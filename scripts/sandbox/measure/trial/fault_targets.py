"""Which nodes a fault hits now: the writer is who answers a write through the entry point, whatever
was planned.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from sandbox.core.errors import MachineError
from sandbox.failure.targets import WORDS, choose
from sandbox.stack.client_python import Statement, Target, ask
from sandbox.stack.protocol import EntryPoint, RunningStack, ServerRole

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
"""The same where nothing else waits: a disk that was full a moment ago takes seconds for its first
commits.
"""


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
