"""Servers that fail, lie and come back as a test wants, and the failover prober's streams on
them.
"""

import importlib
import itertools
import random
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import ModuleType, SimpleNamespace
from typing import Any

import pymysql

from sandbox.core.paths import CHECKOUT

PACKAGE = CHECKOUT / "scripts" / "sandbox"
FOLDERS = [
    str(PACKAGE / "measure" / "trial" / "in_client"),
    str(PACKAGE / "stack" / "in_client"),
]


def _load() -> ModuleType:
    """Its modules are shipped into one folder, where they import each other."""
    before = [*sys.path]
    sys.path[:0] = FOLDERS
    try:
        return importlib.import_module("sandbox.measure.trial.in_client.prober")
    finally:
        sys.path[:] = before


prober = _load()
links, observers, streams = prober.links, prober.observers, prober.streams
NEWEST = (
    ("read_only", "gtid", "last_op", "last_at_us"),
    [(0, "a:1-5,\nb:7", 17, Decimal("1700000000123456"))],
)
"""What a server answers that is asked for its newest row."""


def error(code: int) -> Exception:
    """What PyMySQL makes of an error packet, and of a connection that is lost."""
    return pymysql.err.OperationalError(code, f"error {code}")


def wait_in_vain(deadline_s: float) -> None:
    """A server that says nothing: what PyMySQL raises for a time-out."""
    time.sleep(max(0.0, deadline_s - time.monotonic()))
    try:
        raise TimeoutError("timed out")
    except TimeoutError as cause:
        raise error(2013) from cause


@dataclass
class FakeServer:
    """One server. ``fails``: beginning of a statement (or ``connect``, ``greeting``) → error code
    or ``hang``.
    """

    name: str
    fails: dict[str, int | str] = field(default_factory=dict)
    rows: list[int] = field(default_factory=list)
    loses: bool = False
    """Whether it acknowledges and loses what it was sent."""
    hides: set[int] = field(default_factory=set)
    statements: list[str] = field(default_factory=list)
    connections: int = 0
    opened: int = 0
    answers: dict[str, tuple[tuple[str, ...], Sequence[Sequence[Any]]]] = field(
        default_factory=dict
    )
    """Beginning of a statement → column names and rows."""
    version: str = "8.0.40"

    def reach(self, statement: str, deadline_s: float) -> None:
        """Fails where the statement is one that is to fail."""
        for beginning, failure in self.fails.items():
            if statement.startswith(beginning):
                if failure == "hang":
                    wait_in_vain(deadline_s)
                raise error(int(failure))

    def sent(self, beginning: str) -> int:
        """How many statements it got that begin like this."""
        return sum(each.startswith(beginning) for each in self.statements)


class FakeCursor:
    """Knows the statements of the prober."""

    def __init__(self, connection: "FakeConnection", kind: Any) -> None:
        self._connection, self._server = connection, connection.server
        self._named = kind is pymysql.cursors.DictCursor
        self._rows: Sequence[Any] = ()

    def __enter__(self) -> "FakeCursor":
        return self

    def __exit__(self, *_: object) -> None: ...

    def execute(self, statement: str, values: Sequence[Any] | None = None) -> int:
        server = self._server
        server.statements.append(statement)
        server.reach(statement, self._connection.socket.deadline_s)
        self._rows = self._answer(statement, values)
        return len(self._rows)

    def fetchall(self) -> Sequence[Any]:
        return self._rows

    def _answer(self, statement: str, values: Sequence[Any] | None) -> Sequence[Any]:
        server, connection = self._server, self._connection
        if statement.startswith("INSERT") and values:
            connection.open_rows.append(values[0])
        if statement == "BEGIN":
            connection.in_transaction = True
        elif statement == "COMMIT" or not connection.in_transaction:
            connection.in_transaction = False
            server.rows += [] if server.loses else connection.open_rows
            connection.open_rows.clear()
        for beginning, (names, rows) in server.answers.items():
            if re.match(beginning, statement):
                return [dict(zip(names, row, strict=True)) for row in rows] if self._named else rows
        if statement.startswith("SELECT @@hostname") and values:
            found = sorted({*server.rows} & {*values[0]} - server.hides)
            return ((server.name, len(found), ",".join(map(str, found)) or None),)
        return ()


class FakeConnection:
    """A connection that PyMySQL was to make."""

    def __init__(self, server: FakeServer) -> None:
        self.server, self.server_version, self.open = server, server.version, False
        self.in_transaction, self.open_rows = False, list[int]()
        self.socket: Any = SimpleNamespace(deadline_s=time.monotonic() + 1)

    def connect(self, opened: Any) -> None:
        self.socket = opened
        self.server.reach("greeting", opened.deadline_s)
        self.open = True
        self.server.connections += 1
        self.server.opened += 1

    def cursor(self, kind: Any = None) -> FakeCursor:
        return FakeCursor(self, kind)

    def close(self) -> None:
        if self.open:
            self.server.connections -= 1
        self.open = False


class FakeServers(dict[str, FakeServer]):
    """Servers by address; the address of a new one is its name."""

    def add(self, *names: str) -> list[FakeServer]:
        self.update({name: FakeServer(name) for name in names})
        return [self[name] for name in names]

    def connect(self, **given: Any) -> FakeConnection:
        """Instead of pymysql.connect."""
        return FakeConnection(self[given["host"]])

    def open_socket(self, address: str, port: int, deadline_s: float) -> Any:
        """Instead of probe_links.open_socket."""
        self[address].reach("connect", deadline_s)
        return SimpleNamespace(deadline_s=deadline_s)


class Manual:
    """A clock that is set by hand, µs."""

    now = 1_000_000

    def __call__(self) -> int:
        return self.now


class Rig:
    """Streams on fake servers whose slots are sent one at a time."""

    def __init__(
        self, servers: FakeServers, write: Sequence[str], read: Sequence[str] = (), **changed: Any
    ) -> None:
        self.servers, self.lines, self.clock = servers, list[list[str]](), Manual()
        self.memory = streams.Memory()
        values = {"timeout_s": 0.05, "transaction": False, "opening_s": 0.0, **changed}
        self.shared = streams.Shared(self.line, self.clock, self.memory, **values)
        self.addresses = {name: name for name in servers}
        self.pooled = links.Route([links.Entry(name, 3306) for name in write])
        routes = {"pooled": self.pooled, "writer": self.pooled}
        routes["fresh"] = links.Route(self.pooled.entries)
        routes["reader"] = links.Route([links.Entry(name, 3307) for name in read], in_turn=True)
        who = {"user": "sbtest", "password": "", "database": "sbtest"}
        self.connections = {
            name: streams.Connections(
                name, who, route, self.addresses, self.shared, name != "writer"
            )
            for name, route in routes.items()
        }
        ops, draw = itertools.count(1), random.Random(7)
        self.sources = {
            name: streams.Writes(name, self.connections[name], self.shared, ops)
            for name in ("pooled", "fresh")
        }
        for name in ("writer", "reader"):
            self.sources[name] = streams.Reads(name, self.connections[name], self.shared, draw)

    def line(self, *fields: object) -> None:
        self.lines.append([str(each) for each in fields])

    def send(self, name: str, times: int = 1) -> list[str]:
        """Sends slots of a stream one after the other, 1 ms apart; the last outcome line without
        its kind.
        """
        for _ in range(times):
            self.clock.now += 1000
            self.sources[name].slot(self.clock.now)()
        return next(line for line in reversed(self.lines) if line[0] in "or")[1:]

    def outcome(self, name: str = "pooled") -> tuple[str, str, int]:
        """Outcome, code and attempts of a write."""
        *_, outcome, code, attempts = self.send(name)
        return outcome, code, int(attempts)

    def node(self, name: str) -> str:
        """Who answered a read."""
        return self.send(name)[6]
