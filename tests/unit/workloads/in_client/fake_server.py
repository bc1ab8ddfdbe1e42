"""A server without a server: what is sent to it is kept, what it answers a test says."""

from collections.abc import Callable
from typing import Any

import pymysql

from sandbox.workloads.in_client.connection import Endpoint

TARGET = Endpoint("mysql1", 3306, "sbtest", "sbtest", "secret")
Answer = Callable[[str], list[tuple[Any, ...]]]


class FakeServer:
    """``answer`` gives the rows of a statement, or raises."""

    def __init__(self, answer: Answer = lambda _: []) -> None:
        self.answer = answer
        self.sent: list[str] = []
        self.connected = self.closed = 0

    def connect(self, **given: Any) -> "FakeConnection":
        assert given["password"] == TARGET.password and given["host"] == TARGET.host
        self.connected += 1
        return FakeConnection(self)


class FakeConnection:
    """One connection, its own cursor."""

    def __init__(self, server: FakeServer) -> None:
        self._server = server
        self._sock = self
        self._rows: list[tuple[Any, ...]] = []

    def cursor(self) -> "FakeConnection":
        return self

    def execute(self, statement: str, values: tuple[Any, ...] | None = None) -> int:
        told = statement % tuple(map(repr, values)) if values else statement
        self._server.sent.append(told)
        self._rows = self._server.answer(told)
        return len(self._rows)

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows

    def settimeout(self, seconds: float) -> None: ...

    def sendall(self, data: bytes) -> None:
        assert data == b"\x01\x00\x00\x00\x01", "COM_QUIT"
        self._server.closed += 1

    def recv(self, size: int) -> bytes:
        return b""

    def _force_close(self) -> None: ...


def error(code: int, message: str = "told by a test") -> pymysql.MySQLError:
    """What PyMySQL raises for a server's error."""
    return pymysql.err.OperationalError(code, message)
