"""Runs in the client node beside probe.py: connections that follow a failover, what is sent and how it is judged."""

import itertools
import random
import socket
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import pymysql

Log = Callable[..., None]
"""Takes the fields of one line."""
Clock = Callable[[], int]
"""Microseconds since the probe's start, monotonic."""
Account = Mapping[str, Any]
"""User, password and database, as PyMySQL names them."""
Code = int | str
Task = Callable[[], None]

INSERT = "INSERT INTO ledger (op_id, attempt, node, at) VALUES (%s, %s, @@hostname, NOW(6))"
# One row whatever is found: forty rows cost PyMySQL twice the time. The count shows whether the list was cut off.
SELECT = "SELECT @@hostname, COUNT(DISTINCT op_id), GROUP_CONCAT(DISTINCT op_id) FROM ledger WHERE op_id IN %s"

ACKED, FAILED, UNKNOWN, NONE = "acked", "failed", "unknown", "-"
LOCK_WAIT, DEADLOCK = 1205, 1213
ROLLED_BACK = frozenset(
    {
        DEADLOCK,  # also a certification conflict in a cluster
        1047,  # Galera: the node is not ready, nothing is executed
        1290, 1792, 1836,  # read-only: by option, in a read-only transaction, in read-only mode
        3100, 3101,  # Group Replication: refused before the commit; rolled back by the plugin
        1040, 1129, 1130, 1203, 1226,  # no session: too many connections, host blocked or not allowed, limits of a user
        1044, 1045, 1698,  # no access: to the schema, or at all
        1142, 1146, 1049,  # no privilege, no table, no schema
    }
)  # fmt: skip
"""Errors after which nothing of the statement is there. All others leave that open: docs/failover.md, the ledger."""
HEALTHY = frozenset({LOCK_WAIT, DEADLOCK})  # they speak against neither the server nor its other connections

NEWEST = DRAWN = 20
KEPT_US = 10_000_000
"""How long an acknowledgement, what a read saw, and an unused connection are remembered."""


def outcome_of(code: Code, decisive: bool, transaction: bool) -> str:
    """``failed`` where an error proves a roll-back, else ``unknown``.

    ``decisive``: the statement, in a transaction its COMMIT, was sent. A lock wait time-out rolls back one statement,
    not its transaction (innodb_rollback_on_timeout is off): a proof under autocommit, where the two are the same.
    """
    certain = code in ROLLED_BACK or (code == LOCK_WAIT and not transaction)
    return FAILED if certain or not decisive else UNKNOWN


def code_of(error: BaseException) -> Code:
    """The MySQL error number, ``timeout``, or the name of an error that has no number."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TimeoutError):  # PyMySQL makes it a lost connection
            return "timeout"
        cause = cause.__context__
    number = error.args[0] if isinstance(error, pymysql.MySQLError) and error.args else None
    return number if isinstance(number, int) and number > 0 else type(error).__name__


class BoundedSocket(socket.socket):
    """Every wait on it ends at one deadline (s, time.monotonic): PyMySQL bounds each read of a handshake anew."""

    deadline_s = 0.0

    def bound(self) -> None:
        """Raises TimeoutError when the deadline has passed; else waits no longer than until then."""
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
    opened = BoundedSocket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
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
    """One connection to an address, opened at once. Raises what PyMySQL raises, and TimeoutError."""

    def __init__(self, who: Account, address: str, port: int, deadline_s: float) -> None:
        self.address = address
        self._socket = open_socket(address, port, deadline_s)
        connect: Any = partial(pymysql.connect, autocommit=True, ssl_disabled=True, defer_connect=True)
        self._connection = connect(**who, host=address)
        self._connection.connect(self._socket)
        self.version = str(self._connection.server_version)

    def execute(self, deadline_s: float, statement: str, values: Sequence[Any] | None = None, kind: Any = None) -> Any:
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
    """Which of several entries is next: the current one until it fails, or each in turn."""

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
        """Moves on from a position, unless that was done since: a late failure says nothing of the current entry."""
        with self._lock:
            moved = failed == self.position and not self.in_turn
            self.position += moved
        return moved


@dataclass(slots=True)
class Attempt:
    """One operation under way. ``decisive``: what may take effect was sent."""

    sent_us: int
    deadline_s: float
    connects: int = 0
    position: int = 0
    decisive: bool = False

    def decide(self) -> None:
        """Called right before what may take effect is sent. Raises TimeoutError when it is too late for that."""
        if time.monotonic() >= self.deadline_s:
            raise TimeoutError("timed out")
        self.decisive = True


class Memory:
    """What was acknowledged in the last ten seconds, and the rows that finished reads saw on each node."""

    def __init__(self) -> None:
        self._acknowledged: deque[tuple[int, int]] = deque()
        self._seen: dict[str, OrderedDict[int, tuple[int, int]]] = {}
        self._lock = threading.Lock()

    def acknowledged(self, op: int, done_us: int) -> None:
        """Remembers a write; the last 20 even when they are old."""
        with self._lock:
            self._acknowledged.append((op, done_us))
            self._forget(done_us)

    def _forget(self, now_us: int) -> None:
        while len(self._acknowledged) > NEWEST and self._acknowledged[0][1] < now_us - KEPT_US:
            self._acknowledged.popleft()

    def asked(self, sent_us: int, draw: random.Random) -> dict[int, int]:
        """What a read sent now asks for, op → its acknowledgement, µs: the 20 newest, and 20 drawn from the others."""
        with self._lock:
            self._forget(sent_us)
            known = self._acknowledged
            end = len(known)
            while end and known[end - 1][1] > sent_us:
                end -= 1
            begin = max(0, end - NEWEST)
            places = [*range(begin, end), *draw.sample(range(begin), min(begin, DRAWN))]
            return dict(known[place] for place in places)

    def judge(self, node: str, missing: Iterable[int], found: Iterable[int], sent_us: int, done_us: int) -> list[str]:
        """What a read misses and another one had got from this node before it was sent. Remembers what it found."""
        with self._lock:
            seen = self._seen.setdefault(node, OrderedDict())
            backwards = [str(op) for op in missing if op in seen and seen[op][0] < sent_us]
            for op in found:
                first_us, last_us = seen.pop(op, (done_us, done_us))
                seen[op] = min(first_us, done_us), max(last_us, done_us)
            while seen and next(iter(seen.values()))[1] < done_us - KEPT_US:
                seen.popitem(last=False)
            return backwards


class Shared(NamedTuple):
    """What all streams of a probe have in common. ``transaction``: a write is BEGIN, INSERT, COMMIT."""

    log: Log
    clock: Clock
    memory: Memory
    timeout_s: float
    transaction: bool

    def begin(self) -> Attempt:
        """An operation that is sent now: its time-out covers connecting, too."""
        return Attempt(self.clock(), time.monotonic() + self.timeout_s)


class Connections:
    """A stream's connections: idle ones, the one used last first, and new ones; those of ``fresh`` are used once.

    ``steers``: a failure here moves the route on; otherwise it belongs to another stream.
    """

    def __init__(
        self, name: str, who: Account, route: Route, addresses: Mapping[str, str], shared: Shared, steers: bool
    ) -> None:
        self._name, self._who, self._route, self._addresses = name, who, route, addresses
        self._shared, self._steers = shared, steers
        self._idle: dict[Entry, deque[tuple[int, Link]]] = {entry: deque() for entry in route.entries}
        self._lock = threading.Lock()

    def run(self, attempt: Attempt, work: Callable[[Link], Any]) -> tuple[Any, Code, int]:
        """What ``work`` returned, or None with the error's code; and when that was, µs."""
        link: Link | None = None
        code: Code = NONE
        try:
            link = self._get(attempt)
            answer = work(link)
        except Exception as error:  # noqa: BLE001  (whatever it was: a slot that was sent has an outcome)
            answer, code = None, code_of(error)
        done_us = self._shared.clock()
        if link and code == NONE:
            self._put(self._route.entry(attempt.position), link)
        elif link:
            link.close()  # a BEGIN on it would commit what an error has left open
            if code not in HEALTHY:
                self._failed(attempt)
        return answer, code, done_us

    def _get(self, attempt: Attempt) -> Link:
        """An idle connection, else a new one; where that fails, to the next entry, to each at most once."""
        attempt.position = self._route.next()
        while True:
            entry = self._route.entry(attempt.position)
            address = self._addresses[entry.node]
            if idle := self._take(entry, address):
                return idle
            attempt.connects += 1
            try:
                return Link(self._who, address, entry.port, attempt.deadline_s)
            except Exception:
                self._failed(attempt)
                failed, attempt.position = attempt.position, self._route.after(attempt.position)
                spent = attempt.connects == len(self._route.entries) or time.monotonic() >= attempt.deadline_s
                if spent or attempt.position == failed:
                    raise

    def _take(self, entry: Entry, address: str) -> Link | None:
        idle = self._idle[entry]
        self._drop(entry, self._shared.clock() - KEPT_US)
        while True:
            with self._lock:
                link = idle.pop()[1] if idle else None
            if link is None or link.address == address:
                return link
            link.close()

    def _put(self, entry: Entry, link: Link) -> None:
        if self._name != "fresh" and (self._route.in_turn or entry == self._route.entry(self._route.position)):
            with self._lock:
                self._idle[entry].append((self._shared.clock(), link))
        else:
            link.close()

    def _failed(self, attempt: Attempt) -> None:
        """What was idle since before the operation is taken for broken, too: a pool would test it before its use."""
        entry = self._route.entry(attempt.position)
        self._drop(entry, attempt.sent_us)
        if self._steers and self._route.move_on(attempt.position) and len(self._route.entries) > 1:
            text = f"{self._name}: {entry.node} failed, next is {self._route.entry(attempt.position + 1).node}"
            self._shared.log("n", self._shared.clock(), text)

    def _drop(self, entry: Entry, before_us: int) -> None:
        dropped, idle = [], self._idle[entry]
        with self._lock:
            while idle and idle[0][0] < before_us:
                dropped.append(idle.popleft()[1])
        for link in dropped:
            link.close()


class Writes(NamedTuple):
    """A stream of writes, one row of the ledger each."""

    name: str
    connections: Connections
    shared: Shared
    ops: "itertools.count[int]"

    def slot(self, due_us: int) -> Task:
        """Writes the intent down; what it returns sends the write."""
        op = next(self.ops)
        self.shared.log("i", op, self.name, due_us)
        return partial(self._send, op)

    def _send(self, op: int) -> None:
        attempt = self.shared.begin()
        _, code, done_us = self.connections.run(attempt, partial(self._write, op, attempt))
        outcome = ACKED if code == NONE else outcome_of(code, attempt.decisive, self.shared.transaction)
        self.shared.log("o", op, attempt.sent_us, done_us, outcome, code, max(1, attempt.connects))
        if outcome == ACKED:
            self.shared.memory.acknowledged(op, done_us)

    def _write(self, op: int, attempt: Attempt, link: Link) -> None:
        insert = (INSERT, (op, max(1, attempt.connects)))
        if self.shared.transaction:
            link.execute(attempt.deadline_s, "BEGIN")
            link.execute(attempt.deadline_s, *insert)
        attempt.decide()
        link.execute(attempt.deadline_s, *(("COMMIT",) if self.shared.transaction else insert))


class Reads(NamedTuple):
    """A stream of reads, which ask for what was acknowledged."""

    name: str
    connections: Connections
    shared: Shared
    draw: random.Random

    def slot(self, due_us: int) -> Task:
        """What sends the read."""
        return partial(self._send, due_us)

    def _send(self, due_us: int) -> None:
        attempt, memory = self.shared.begin(), self.shared.memory
        asked = memory.asked(attempt.sent_us, self.draw)
        answer, code, done_us = self.connections.run(attempt, partial(self._read, asked, attempt))
        node, found = answer or (NONE, set(asked))
        missing = [op for op in asked if op not in found]
        stale = [f"{op}:{attempt.sent_us - asked[op]}" for op in missing]
        backwards = memory.judge(node, missing, found, attempt.sent_us, done_us) if answer else []
        judged = (
            "ok" if answer else FAILED,
            code,
            node,
            len(asked),
            ",".join(stale) or NONE,
            ",".join(backwards) or NONE,
        )
        self.shared.log("r", self.name, due_us, attempt.sent_us, done_us, *judged)

    def _read(self, asked: Mapping[int, int], attempt: Attempt, link: Link) -> tuple[str, set[int]]:
        ((node, count, ops),) = link.execute(attempt.deadline_s, SELECT, (tuple(asked) or (None,),))
        text = ops.decode() if isinstance(ops, bytes) else ops or ""
        found = {int(op) for op in text.split(",") if op}
        if len(found) != count:
            raise BufferError(f"group_concat_max_len cut {count} ops off")
        return node, found
