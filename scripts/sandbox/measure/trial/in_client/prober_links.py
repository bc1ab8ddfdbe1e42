"""Runs in the client node beside prober.py: one connection with one deadline, what its errors
prove, and to which entry it goes.
"""

import socket
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pymysql
from pymysql.optionfile import Parser

if TYPE_CHECKING:
    from sandbox.stack.in_client import outcomes
else:
    import outcomes  # shipped into the same folder

Account = Mapping[str, Any]
"""User, password and database, as PyMySQL names them."""
Code = outcomes.Code
ACKED = outcomes.ACKED
FAILED = outcomes.FAILED
UNKNOWN = outcomes.UNKNOWN
NONE = outcomes.NONE
code_of = outcomes.code_of
outcome_of = outcomes.outcome_of
# They speak against neither the server nor its other connections.
HEALTHY = frozenset({outcomes.LOCK_WAIT, outcomes.DEADLOCK})


def account(path: str, schema: str) -> Account:
    """The account of an option file. Raises configparser.Error for a file that has none."""
    parser = Parser()
    parser.read(path)
    return {
        **{name: parser.get("client", name) for name in ("user", "password")},
        "database": schema,
    }


class BoundedSocket(socket.socket):
    """Every wait on it ends at one deadline (s, time.monotonic): PyMySQL bounds each read of a
    handshake anew.
    """

    deadline_s = 0.0

    def bound(self) -> None:
        """Raises TimeoutError when the deadline has passed; else waits no longer than until
        then.
        """
        left_s = self.deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        super().settimeout(left_s)

    def settimeout(self, value: float | None, /) -> None:
        """Ignored: the deadline rules."""

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        self.bound()
        return super().recv_into(buffer, nbytes, flags)

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        self.bound()
        super().sendall(data, flags)


def open_socket(address: str, port: int, deadline_s: float) -> BoundedSocket:
    """Connects to an IP address. Raises TimeoutError, or OperationalError 2003 as PyMySQL would."""
    opened = BoundedSocket(
        socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM
    )
    opened.deadline_s = deadline_s
    try:
        opened.bound()
        opened.connect((address, port))
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        opened.close()
        if isinstance(error, TimeoutError):
            raise
        reason = f"Can't connect to {address}:{port} ({error.strerror or error})"
        raise pymysql.err.OperationalError(2003, reason) from error
    return opened


class Link:
    """One connection to an address, opened at once. Raises what PyMySQL raises, and
    TimeoutError.
    """

    def __init__(self, who: Account, address: str, port: int, deadline_s: float) -> None:
        self.address = address
        self._socket = open_socket(address, port, deadline_s)
        connect: Any = partial(
            pymysql.connect, autocommit=True, ssl_disabled=True, defer_connect=True
        )
        self._connection = connect(**who, host=address)
        self._connection.connect(self._socket)
        self.version = str(self._connection.server_version)

    def execute(
        self,
        deadline_s: float,
        statement: str,
        values: Sequence[Any] | None = None,
        kind: Any = None,
    ) -> Any:
        """Rows of a statement; of the kind that a cursor class of PyMySQL gives."""
        self._socket.deadline_s = deadline_s
        with self._connection.cursor(kind) as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall()

    def close(self) -> None:
        """Says good-bye where that takes no time."""
        self._socket.deadline_s = time.monotonic() + 0.1
        if self._connection.open:
            self._connection.close()


class Entry(NamedTuple):
    """A server or proxy port that operations are sent to; its address may change."""

    node: str
    port: int


class Route:
    """The order of several entries: the current one until it fails, or each in turn."""

    def __init__(self, entries: Sequence[Entry], in_turn: bool = False) -> None:
        self.entries = entries
        self.in_turn = in_turn
        self.position = 0
        self._lock = threading.Lock()

    def entry(self, position: int) -> Entry:
        return self.entries[position % len(self.entries)]

    def next(self) -> int:
        """The position to use now."""
        with self._lock:
            position = self.position
            self.position += self.in_turn
        return position

    def after(self, failed: int) -> int:
        """The position to use after one that failed; the same where there is no other one."""
        return failed + 1 if self.in_turn else self.position

    def move_on(self, failed: int) -> bool:
        """Moves on from a position, unless that was done since: a late failure says nothing of the
        current entry.
        """
        with self._lock:
            moved = failed == self.position and not self.in_turn
            self.position += moved
        return moved
