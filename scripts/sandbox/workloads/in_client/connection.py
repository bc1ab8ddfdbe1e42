"""One client's connection to the entry point: counts statements as they are sent, separates conflicts from errors."""

from dataclasses import dataclass
from typing import Any

import pymysql
from pymysql.optionfile import Parser

Row = tuple[Any, ...]

CONFLICTS = frozenset({1213, 1205, 1020, 3101})
"""Deadlock (and every certification or brute-force abort of Galera), lock wait timeout, record changed since it was
read, certification conflict of Group Replication: the transaction is rolled back and tried again."""

CONNECT_LIMIT_S = 120


@dataclass(frozen=True)
class Endpoint:
    """Where to connect, as whom. ``password`` was read from the client node's own file."""

    host: str
    port: int
    user: str
    schema: str
    password: str


@dataclass
class Sent:
    """Connections made and statements sent, whatever their outcome: reads, writes, and others."""

    connections: int = 0
    reads: int = 0
    writes: int = 0
    others: int = 0

    def add(self, other: "Sent") -> None:
        """Adds the counts of another one."""
        self.connections += other.connections
        self.reads += other.reads
        self.writes += other.writes
        self.others += other.others


def read_target(request: dict[str, Any]) -> Endpoint:
    """The target of a request; its password is in the option file that the request names."""
    options = Parser()
    options.read(request["credentials"])
    password = options.get("client", "password")
    return Endpoint(request["host"], request["port"], request["user"], request["schema"], password)


def code_of(error: BaseException) -> int | None:
    """The error number of the server or the client library; None without one."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, int) and isinstance(error, pymysql.MySQLError) else None


class Connection:
    """Opened once and kept open until its user closes it."""

    def __init__(self, target: Endpoint) -> None:
        self._target = target
        self._connection: Any = None
        self._cursor: Any = None
        self._sent = Sent()

    def open(self) -> None:
        """Connects. Raises pymysql.MySQLError."""
        self._connection = pymysql.connect(
            host=self._target.host,
            port=self._target.port,
            user=self._target.user,
            password=self._target.password,
            database=self._target.schema,
            connect_timeout=CONNECT_LIMIT_S,
            autocommit=True,
            charset="utf8mb4",
        )
        self._cursor = self._connection.cursor()
        self._sent.connections += 1

    def read(self, statement: str, values: Row | None = None) -> tuple[Row, ...]:
        """Rows of a query."""
        self._sent.reads += 1
        self._cursor.execute(statement, values)
        return tuple(self._cursor.fetchall())

    def write(self, statement: str, values: Row | None = None) -> int:
        """Number of rows that a statement changed."""
        self._sent.writes += 1
        return int(self._cursor.execute(statement, values))

    def other(self, statement: str) -> None:
        """Statements that neither read nor write rows: transaction control, DDL."""
        self._sent.others += 1
        self._cursor.execute(statement)

    def begin(self) -> None:
        """Starts a transaction."""
        self.other("BEGIN")

    def commit(self) -> None:
        """Ends a transaction."""
        self.other("COMMIT")

    def rollback(self) -> None:
        """Rolls a transaction back."""
        self.other("ROLLBACK")

    def take_sent(self) -> Sent:
        """What was sent since the last call."""
        sent, self._sent = self._sent, Sent()
        return sent

    def close(self) -> None:
        """Sends COM_QUIT and waits until the server has closed the connection.

        The side that closes first keeps the connection's port for a minute (TIME_WAIT): the server's is the same for
        all, the client would run out of ports after some 28,000 connections.
        """
        socket = getattr(self._connection, "_sock", None)
        if socket is None:
            return
        try:
            socket.settimeout(5)
            socket.sendall(b"\x01\x00\x00\x00\x01")  # COM_QUIT
            while socket.recv(4096):
                pass
        except OSError:
            pass
        finally:
            self._connection._force_close()
            self._connection = None
