"""Opens a run: finds entry point, writer and servers, and rejects what cannot work before anything is written."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sandbox.errors import ExitCode, SandboxError
from sandbox.results.store import ResultFolder
from sandbox.run.state import BenchRequest, Run
from sandbox.stack.protocol import EntryPoint, RunningStack, ServerRole, StackNode
from sandbox.workloads.common.model import Event, Session

LARGEST_SEED = 2**31 - 2
"""sysbench takes a signed 32-bit seed; the warm-up uses the seed plus 1."""


_AT_WORK = ("writer", "reader")


@dataclass(frozen=True, slots=True)
class Opening:
    """A stack as a run finds it, queried once."""

    session: Session
    nodes: tuple[StackNode, ...]
    roles: dict[str, ServerRole | None]
    down: dict[str, str]


def open_stack(stack: RunningStack, request: BenchRequest, on_event: Callable[[Event], None]) -> Opening:
    """Where the load goes and where it comes from.

    Raises SandboxError: exit 2 for an invalid ``VIA=`` or ``SEED=``, exit 4 for a stack that cannot take a load.
    """
    seed = _seed(request.seed)
    nodes, roles, down = stack.nodes(), stack.roles(), stack.dead_nodes()
    entry = _in_schema(stack.entry_point(request.via, roles), request.schema)
    client = next((node.name for node in nodes if node.kind == "client"), None)
    if client is None or client in down:
        what = f"stack {stack.name} has no running client node"
        raise SandboxError(what, "the load runs in the client node", "try: make ps", ExitCode.ENVIRONMENT)
    servers = [
        node for node in nodes if node.is_server and node.group_index == entry.group_index and node.name not in down
    ]
    writer = _writer(entry, servers, roles, stack.name)
    # A server that neither writes nor follows the writer never gets the load's writes.
    servers = [server for server in servers if server.kind == "external" or roles.get(server.name) in _AT_WORK]
    session = Session(stack, client, entry, writer, servers, request.parameters, seed, on_event)
    return Opening(session, tuple(nodes), dict(roles), dict(down))


def open_run(
    opening: Opening, request: BenchRequest, result: ResultFolder, cell: str, block: int, started_utc: datetime
) -> Run:
    """The run before its first step, with its folder in the result."""
    return Run(
        stack=opening.session.stack,
        request=request,
        folder=result.start_run(cell, block),
        run_id=f"{result.path.name}/{cell}.{block}",
        cell=cell,
        block=block,
        started_utc=started_utc,
        session=opening.session,
        nodes=opening.nodes,
        roles=opening.roles,
        secrets=opening.session.stack.secrets(),
        down_at_start=opening.down,
    )


def _in_schema(entry: EntryPoint, schema: str | None) -> EntryPoint:
    """The entry point with SCHEMA= in place of the schema of EXTERNAL=. Raises SandboxError (exit 2)."""
    if schema is None:
        return entry
    if entry.via != "external":
        known = f"{entry.via} is a sandbox server, where the load uses the schema {entry.schema}"
        raise SandboxError(f"SCHEMA={schema} applies only to an external server", known, "try: make bench")
    if not re.fullmatch(r"[A-Za-z0-9_$]{1,64}", schema):
        known = "a schema name has 1 to 64 letters, digits, _ or $"
        raise SandboxError(f"SCHEMA={schema} is not valid", known, "try: make bench SCHEMA=sbtest2")
    return replace(entry, schema=schema)


def _seed(asked: int | None) -> int:
    if asked is None:
        return random.SystemRandom().randint(1, LARGEST_SEED)
    if not 1 <= asked <= LARGEST_SEED:
        what = f"SEED={asked} is not valid"
        raise SandboxError(what, f"a seed is a number from 1 to {LARGEST_SEED}", "try: make bench SEED=1")
    return asked


def _writer(
    entry: EntryPoint, servers: Sequence[StackNode], roles: Mapping[str, ServerRole | None], stack: str
) -> EntryPoint:
    """The entry point itself where it is a writer, else the first writer of its group."""
    # An external server is not asked for its role: it accepts writes or returns an error.
    writers = [server for server in servers if roles.get(server.name) == "writer" or server.kind == "external"]
    chosen = next((server for server in writers if server.name == entry.node), next(iter(writers), None))
    if chosen is None or chosen.port is None:
        text = ", ".join(f"{server.name} {roles.get(server.name) or 'no role'}" for server in servers)
        what = f"group {entry.group_index} of stack {stack} has no writer"
        raise SandboxError(what, text or "none of its servers is running", "try: make ps", ExitCode.ENVIRONMENT)
    return EntryPoint(
        node=chosen.name,
        host=chosen.host,
        port=chosen.port,
        group_index=entry.group_index,
        via="writer",
        user=entry.user,
        schema=entry.schema,
    )
