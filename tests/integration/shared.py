"""Stacks that several modules of tests use, one of each profile: reset in between, and proved to be
as new.
"""

import json
import re
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest

from integration.live import LiveStack, live_stack, sandbox

SYSTEM = '("mysql", "sys", "information_schema", "performance_schema")'
TABLES = (
    "select table_schema, table_name from information_schema.tables where table_schema not in"
    f" {SYSTEM} order by 1, 2"
)
SCHEMAS = (
    f"select schema_name from information_schema.schemata where schema_name not in {SYSTEM} order"
    " by 1"
)
ACCOUNTS = "select user, host from mysql.user order by 1, 2"
VARIABLES = "show global variables"
MOVES = re.compile(r"gtid|timestamp|binlog_pos|_last_|wsrep_start_position|innodb_buffer_pool_load")
"""Variables whose values move on by themselves."""


@dataclass(frozen=True)
class Look:
    """What distinguishes a stack from a new one: its nodes, and what each server has."""

    nodes: Mapping[str, tuple[object, ...]]
    schemas: Mapping[str, frozenset[str]]
    tables: Mapping[str, frozenset[str]]
    accounts: Mapping[str, frozenset[str]]
    variables: Mapping[str, frozenset[str]]


def look_at(stack: LiveStack) -> Look:
    """What a stack looks like now."""

    def rows(query: str) -> dict[str, frozenset[str]]:
        return {node: frozenset(stack.sql(node, query).splitlines()) for node in stack.servers}

    shown = {
        str(node["name"]): (node["state"], node["role"], node["ready"], json.dumps(node["proofs"]))
        for node in stack.data()
    }
    variables = {
        node: frozenset(line for line in lines if not MOVES.search(line))
        for node, lines in rows(VARIABLES).items()
    }
    return Look(shown, rows(SCHEMAS), rows(TABLES), rows(ACCOUNTS), variables)


def reset(stack: LiveStack, new: Look) -> None:
    """Heals and starts every node, then drops the schemas and tables that a new stack has not."""
    sandbox("heal", "--name", stack.name)
    sandbox("start", "--name", stack.name)
    writer = stack.writers()[0]
    now = look_at(stack)
    for schema in now.schemas[writer] - new.schemas[writer]:
        stack.sql(writer, f"drop database `{schema}`")
    for line in now.tables[writer] - new.tables[writer]:
        schema, table = line.split("\t")
        if schema in new.schemas[writer]:
            stack.sql(writer, f"drop table if exists `{schema}`.`{table}`")
    for server in stack.servers:
        stack.sql_until(server, f"select count(*) from ({TABLES}) t", str(len(new.tables[writer])))


def profile_of(item: pytest.Item) -> str | None:
    """The profile whose stack a test uses: of its topology, else of its module; None for one of its
    own.
    """
    parameters = getattr(item, "callspec", None)
    topology = parameters.params.get("topology") if parameters else None
    if topology:
        return str(topology.profile)
    return getattr(getattr(item, "module", None), "PROFILE", None)


@dataclass
class _Shared:
    stack: LiveStack
    new: Look
    open: ExitStack


@dataclass
class SharedStacks:
    """The stacks that run. ``uses``: profile → how many modules of this run still want it."""

    uses: dict[str, int]
    _running: dict[str, _Shared] = field(default_factory=dict)

    def as_new(self, profile: str) -> LiveStack:
        """The profile's stack: reset where it runs already, replaced where that leaves a
        difference.
        """
        shared = self._running.get(profile)
        if shared:
            reset(shared.stack, shared.new)
            if look_at(shared.stack) == shared.new:
                return shared.stack
            self._remove(profile)
        with ExitStack() as begun:
            stack = begun.enter_context(live_stack(profile))
            self._running[profile] = _Shared(stack, look_at(stack), begun.pop_all())
        return stack

    def release(self, profile: str) -> None:
        """One module is done with it; after the last one it is removed."""
        self.uses[profile] = self.uses.get(profile, 1) - 1
        if self.uses[profile] < 1:
            self._remove(profile)

    def close(self) -> None:
        """Removes what still runs."""
        for profile in list(self._running):
            self._remove(profile)

    def _remove(self, profile: str) -> None:
        if shared := self._running.pop(profile, None):
            shared.open.close()
