"""Runs SQL on several servers at once from the client node."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from sandbox.stack.client_python import answer_of, script_argv
from sandbox.stack.protocol import RunningStack, StackNode

Cell = str | int | float | None
Rows = tuple[tuple[Cell, ...], ...]
Account = Literal["root", "app"]
Statement = str | tuple[str, tuple[Cell, ...]]
"""Plain SQL, or SQL with ``%s`` for each of its values."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server as the client node sees it, and the account to ask as
    (``/sandbox/<account>.cnf``).
    """

    name: str
    host: str
    port: int
    account: Account
    schema: str | None = None

    @property
    def login(self) -> dict[str, object]:
        """What a program in the client node connects with."""
        return {
            "name": self.name,
            "host": self.host,
            "port": self.port,
            "credentials": f"/sandbox/{self.account}.cnf",
        }


@dataclass(frozen=True, slots=True)
class QueryResult:
    """One server's answer: the rows of each statement up to the first that failed, and that
    failure.
    """

    results: tuple[Rows, ...]
    error: str | None
    error_code: int | None

    def rows(self, statement: int) -> Rows:
        """Rows of a statement by its position; empty when it was not reached."""
        return self.results[statement] if statement < len(self.results) else ()


def targets_of(nodes: Iterable[StackNode]) -> list[Target]:
    """How to ask the database servers among nodes: as root, or as the application where there is no
    root.
    """
    return [
        Target(node.name, node.host, node.port, "root" if node.has_container else "app")
        for node in nodes
        if node.is_server and node.port is not None
    ]


def ask(
    stack: RunningStack,
    client: str,
    targets: Sequence[Target],
    statements: Sequence[Statement],
    timeout_s: float = 10.0,
) -> dict[str, QueryResult]:
    """Runs the same statements on every target, all targets at once; answers by target name.

    A failing server gives an answer with ``error``. Raises SandboxError (exit 4) when the client
    node itself fails.
    """
    request = {
        "targets": [asdict(target) for target in targets],
        "statements": [(entry, None) if isinstance(entry, str) else entry for entry in statements],
        "timeout_s": timeout_s,
    }
    argv = script_argv("sandbox.stack.in_client", "sql")
    answered = stack.ask_session(client, argv, json.dumps(request), 2 * timeout_s + 30)
    return {
        name: QueryResult(
            tuple(tuple(map(tuple, rows)) for rows in found["results"]),
            found["error"],
            found["error_code"],
        )
        for name, found in answer_of(answered, client, "sql").items()
    }
