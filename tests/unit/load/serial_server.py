"""A server in memory for what runs in the client node: it runs one transaction at a time, or none
too carefully.
"""

import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import pymysql

Row = tuple[Any, ...]
ROUND_TRIP_S = 0.0005


class SerialServer:
    """Both tables, by key. ``careless``: each transaction works on a copy, whose writes replace
    what is there.
    """

    def __init__(self, careless: bool = False, fails: dict[str, Exception] | None = None) -> None:
        self.rows: dict[int, Row] = dict.fromkeys(range(8), (100, 0))
        self.lists: dict[int, str] = {}
        self.careless, self.fails = careless, fails or {}
        self.turn = threading.Lock()
        self.connected: list[dict[str, Any]] = []
        self.statements = 0

    def connect(self, **given: Any) -> "SerialConnection":
        """In place of ``pymysql.connect``."""
        self.connected.append(given)
        return SerialConnection(self)


class SerialConnection:
    """A connection, which is its own cursor."""

    def __init__(self, server: SerialServer) -> None:
        self.server, self.answer, self.inside = server, [], False  # type: ignore[var-annotated]
        self.lists: dict[int, str] = {}
        self.rows: dict[int, Row] = {}

    def cursor(self) -> "SerialConnection":
        return self

    def __enter__(self) -> "SerialConnection":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        pass

    def close(self) -> None:
        pass

    def fetchall(self) -> Sequence[Row]:
        return self.answer

    def execute(self, statement: str, values: Sequence[Any] | None) -> None:
        """Raises what the server was given to fail with, once for each."""
        self.server.statements += 1
        self.answer = []
        word = statement.split()[0]
        if (failure := self.server.fails.pop(word, None)) is not None:
            raise failure
        if word == "START":
            self._begin()
        elif word in ("COMMIT", "ROLLBACK"):
            self._end(word == "COMMIT")
        elif word == "SHOW":
            self.answer = [
                ("transaction_isolation", "REPEATABLE-READ"),
                ("innodb_snapshot_isolation", "ON"),
            ]
        elif statement == "SELECT @@global.read_only":
            self.answer = [(0,)]
        elif word != "SET":
            self._data(statement, list(values or ()))

    def _begin(self) -> None:
        if not self.server.careless:
            self.server.turn.acquire()
        self.inside = True
        self.lists, self.rows = dict(self.server.lists), dict(self.server.rows)
        # Without it, a processor's turn often ends between two transactions.
        time.sleep(ROUND_TRIP_S)

    def _end(self, keep: bool) -> None:
        if not self.inside:
            return
        if keep:
            changed = {
                key: row for key, row in self.rows.items() if row[-1] != self.server.rows[key][-1]
            }
            self.server.rows |= changed
            self.server.lists |= self.lists
        self.inside = False
        if not self.server.careless:
            self.server.turn.release()

    def _data(self, statement: str, values: list[Any]) -> None:
        if statement.startswith("SELECT val"):
            self.answer = [(self.lists[values[0]],)] if values[0] in self.lists else []
        elif "CONCAT" in statement:
            self.lists[values[0]] = ",".join(filter(None, [self.lists.get(values[0]), values[1]]))
        elif statement.startswith("INSERT INTO list"):
            self.lists[values[0]] = values[1]
        elif statement.startswith("SELECT balance"):
            self.answer = [self.rows[values[0]]]
        elif statement.startswith("UPDATE bank"):
            balance, version, account = values
            self.rows[account] = (balance, version)
        else:
            raise pymysql.ProgrammingError(1064, statement)
