"""Whether a stack that was used is as new: its roles, variables, schemas and accounts."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sandbox.core.errors import SandboxError
from sandbox.measure.counters import ServerState, take_snapshots
from sandbox.stack.client_python import QueryResult, Statement, ask, targets_of
from sandbox.stack.protocol import RunningStack, ServerRole

MOVES = re.compile(r"gtid|timestamp|binlog_pos|_last_|wsrep_start_position|insert_id|rand_seed")
"""Variables whose values move on by themselves."""
_THINGS: Sequence[Statement] = (
    "SELECT schema_name FROM information_schema.schemata WHERE schema_name <> 'repro' ORDER BY 1",
    "SELECT user, host FROM mysql.user ORDER BY 1, 2",
)


@dataclass(frozen=True, slots=True)
class Appearance:
    """What distinguishes a stack from a new one; by server but for ``roles``."""

    roles: Mapping[str, ServerRole | None]
    states: Mapping[str, ServerState]
    things: Mapping[str, QueryResult]
    """Its schemas and accounts."""


def look_at(stack: RunningStack) -> Appearance:
    """What a stack looks like now. Raises SandboxError (exit 4) where it does not answer."""
    client = next(node.name for node in stack.nodes() if node.kind == "client")
    servers = [node for node in stack.nodes() if node.is_server]
    states, _ = take_snapshots(stack, client, servers)
    things = ask(stack, client, targets_of(servers), _THINGS)
    return Appearance(stack.roles(), states, things)


def is_reset(stack: RunningStack, first: Appearance) -> bool:
    """Whether a used stack is as new, once variables that were set are set back: every node is
    ready, with the role that it had, and no server has another schema or account.
    """
    try:
        if not all(answer.ready for answer in stack.readiness().values()):
            return False
        now_ = look_at(stack)
        if not _is_alike(first, now_):
            return False
        changed = _changed_by_server(first, now_)
        if not any(changed.values()):
            return True
        _set_back(stack, changed)
        return not any(_changed_by_server(first, look_at(stack)).values())
    except (SandboxError, TimeoutError):
        return False


def _is_alike(first: Appearance, later: Appearance) -> bool:
    """Whether all but variables is the same."""
    return (
        later.roles == first.roles
        and later.things == first.things
        and later.states.keys() == first.states.keys()
    )


def _changed_by_server(first: Appearance, later: Appearance) -> dict[str, dict[str, str]]:
    return {
        name: changed_variables(state.variables, later.states[name].variables)
        for name, state in first.states.items()
        if name in later.states
    }


def _set_back(stack: RunningStack, changed: Mapping[str, Mapping[str, str]]) -> None:
    """One that cannot be set while the server runs stays, and the stack is restored."""
    client = next(node.name for node in stack.nodes() if node.kind == "client")
    for server in [node for node in stack.nodes() if changed.get(node.name)]:
        for name, value in changed[server.name].items():
            statement = (f"SET GLOBAL {name} = %s", (_number(value),))
            ask(stack, client, targets_of([server]), [statement])


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
