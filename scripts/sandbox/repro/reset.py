"""Whether a stack that was used is as new: its roles, variables, schemas and accounts."""

import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace

from sandbox.core.errors import MachineError, SandboxError
from sandbox.measure.counters import STATE, ServerState, state_in
from sandbox.stack.client_python import QueryResult, Statement, ask, targets_of
from sandbox.stack.protocol import RunningStack, ServerRole, StackNode

MOVES = re.compile(r"gtid|timestamp|binlog_pos|_last_|wsrep_start_position|insert_id|rand_seed")
"""Variables whose values move on by themselves."""
_MOMENT_S = 2.0
"""Until a replica has applied what the last repeat wrote, say."""
_PAUSE_S = 0.05
_THINGS: Sequence[Statement] = (
    "SELECT schema_name FROM information_schema.schemata WHERE schema_name <> 'repro' ORDER BY 1",
    "SELECT user, host FROM mysql.user ORDER BY 1, 2",
    # A prepared transaction outlives its session, and keeps its locks.
    "XA RECOVER",
)


@dataclass(frozen=True, slots=True)
class Appearance:
    """What distinguishes a stack from a new one; by server but for ``roles``."""

    roles: Mapping[str, ServerRole | None]
    states: Mapping[str, ServerState]
    things: Mapping[str, QueryResult]
    """Its schemas, accounts and prepared transactions."""
    not_ready: Mapping[str, str]
    """Nodes that are not ready, with their answers."""


def look_at(stack: RunningStack) -> Appearance:
    """What a stack looks like now. Raises MachineError where its client does not answer.

    One question to the nodes and one to the servers, side by side, over connections that stay
    open: this is done between any two repeats.
    """
    nodes = stack.nodes()
    client = next(node.name for node in nodes if node.kind == "client")
    servers = [node for node in nodes if node.is_server]
    with ThreadPoolExecutor(max_workers=1) as pool:
        standing = pool.submit(stack.standing)
        states, things = _asked(stack, client, servers)
        found = standing.result()
    not_ready = {name: each.text for name, each in found.ready.items() if not each.ready}
    return Appearance(found.roles, states, things, not_ready)


def _asked(
    stack: RunningStack, client: str, servers: Sequence[StackNode]
) -> tuple[dict[str, ServerState], dict[str, QueryResult]]:
    asked_s = time.monotonic()
    answers = ask(stack, client, targets_of(servers), (*STATE, *_THINGS))
    between_s = asked_s, time.monotonic()
    states = {}
    things = {}
    for name, answer in answers.items():
        if len(answer.results) < len(STATE):
            continue
        own = replace(answer, results=answer.results[: len(STATE)])
        states[name] = state_in(own, between_s)
        things[name] = replace(answer, results=answer.results[len(STATE) :])
    return states, things


def reset(stack: RunningStack, first: Appearance) -> Appearance | None:
    """What a used stack looks like once variables that were set are set back; None: not as new.

    As new: every node is ready, every server has the role that it had, and none has another schema,
    account, prepared transaction or variable.
    """
    try:
        later = _seen_ready(stack)
        if not _is_alike(first, later):
            return None
        changed = changed_by_server(first, later)
        if not any(changed.values()):
            return later
        _set_back(stack, changed)
        later = look_at(stack)
    except (SandboxError, TimeoutError):
        return None
    is_as_new = _is_alike(first, later) and not any(changed_by_server(first, later).values())
    return later if is_as_new else None


def _seen_ready(stack: RunningStack) -> Appearance:
    """What it looks like once every node is ready, or does not become so in a moment."""
    end_s = time.monotonic() + _MOMENT_S
    while True:
        seen = look_at(stack)
        if not seen.not_ready or time.monotonic() >= end_s:
            return seen
        time.sleep(_PAUSE_S)


def _is_alike(first: Appearance, later: Appearance) -> bool:
    """Whether all but variables is the same."""
    return (
        not later.not_ready
        and later.roles == first.roles
        and later.things == first.things
        and later.states.keys() == first.states.keys()
    )


def changed_by_server(first: Appearance, later: Appearance) -> dict[str, dict[str, str]]:
    """Server → its variables that have another value now, with the one that they had at first."""
    return {
        name: changed_variables(state.variables, later.states[name].variables)
        for name, state in first.states.items()
        if name in later.states
    }


def _set_back(stack: RunningStack, changed: Mapping[str, Mapping[str, str]]) -> None:
    """One that cannot be set while the server runs stays, and the stack is restored."""
    client = next(node.name for node in stack.nodes() if node.kind == "client")
    for server in [node for node in stack.nodes() if changed.get(node.name)]:
        statements = [
            (f"SET GLOBAL {name} = %s", (_number(value),))
            for name, value in changed[server.name].items()
        ]
        answer = ask(stack, client, targets_of([server]), statements)[server.name]
        if answer.error:
            raise MachineError(f"{server.name} cannot be reset", answer.error, "try: make ps")


def _number(value: str) -> str | int | float:
    """A variable's value as a statement takes it: a text in quotes is no number."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(value)
    return value


def changed_variables(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """Variables that have another value now, with the one before; not those that move on."""
    return {
        name: value
        for name, value in before.items()
        if not MOVES.search(name) and after.get(name) != value
    }
