"""Runs SQL on several servers at once from the client node."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sandbox.stack.protocol import EntryPoint, RunningStack, StackNode
from sandbox.workloads.common.in_client import ask_again

Cell = str | int | float | None
Rows = tuple[tuple[Cell, ...], ...]
Account = Literal["root", "app"]
Statement = str | tuple[str, tuple[Cell, ...]]
"""Plain SQL, or SQL with ``%s`` for each of its values."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server as the client node sees it, and the account to ask as (``/sandbox/<account>.cnf``)."""

    name: str
    host: str
    port: int
    account: Account
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class QueryResult:
    """One server's answer: the rows of each statement up to the first that failed, and that failure."""

    results: tuple[Rows, ...]
    error: str | None
    error_code: int | None

    def rows(self, statement: int) -> Rows:
        """Rows of a statement by its position; empty when it was not reached."""
        return self.results[statement] if statement < len(self.results) else ()


def target_of(node: StackNode) -> Target | None:
    """How to ask a database server: as root, or as the application where there is no root; None without a port."""
    if not node.is_server or node.port is None:
        return None
    return Target(node.name, node.host, node.port, "root" if node.has_container else "app")


def targets_of(nodes: Iterable[StackNode]) -> list[Target]:
    """The servers among nodes, as targets."""
    return [target for target in map(target_of, nodes) if target]


def target_at(entry: EntryPoint) -> Target:
    """An entry point as a target for the application, in the workload's schema."""
    return Target(entry.node, entry.host, entry.port, "app", entry.schema)


def ask(
    stack: RunningStack,
    client: str,
    targets: Sequence[Target],
    statements: Sequence[Statement],
    timeout_s: float = 10.0,
) -> dict[str, QueryResult]:
    """Runs the same statements on every target, all targets at once; answers by target name.

    A failing server gives an answer with ``error``. Raises SandboxError (exit 4) when the client node itself fails.
    """
    request = {
        "targets": [
            {
                "name": target.name,
                "host": target.host,
                "port": target.port,
                "credentials": f"/sandbox/{target.account}.cnf",
                "schema": target.schema,
            }
            for target in targets
        ],
        "statements": [(entry, None) if isinstance(entry, str) else entry for entry in statements],
        "timeout_s": timeout_s,
    }
    raw = ask_again(stack, client, __package__, "in_client_sql", request, timeout_s=2 * timeout_s + 30)
    return {name: _answer(value) for name, value in raw.items()}


def _answer(value: dict[str, Any]) -> QueryResult:
    results = tuple(tuple(tuple(row) for row in rows) for rows in value["results"])
    return QueryResult(results, value["error"], value["error_code"])
