"""Runs in the client node beside prober.py: pools of connections that follow a failover, what is
sent and how it is judged.
"""

import itertools
import math
import random
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sandbox.measure.trial.in_client import prober_links as links
else:
    import prober_links as links  # shipped into the same folder

Log = Callable[..., None]
"""Takes the fields of one line."""
Clock = Callable[[], int]
"""Microseconds since the prober's start, monotonic."""
Task = Callable[[], None]

INSERT = "INSERT INTO ledger (op_id, attempt, node, at) VALUES (%s, %s, @@hostname, NOW(6))"
# One row whatever is found: forty rows cost PyMySQL twice the time. The count shows whether the
# list was cut off.
SELECT = (
    "SELECT @@hostname, COUNT(DISTINCT op_id), GROUP_CONCAT(DISTINCT op_id) FROM ledger WHERE op_id"
    " IN %s"
)

NEWEST = DRAWN = 20
KEPT_US = 10_000_000
"""How long an acknowledgement, what a read saw, and an unused connection are remembered."""


@dataclass(slots=True)
class Attempt:
    """One operation under way. ``decisive``: what may take effect was sent."""

    sent_us: int
    deadline_s: float
    connects: int = 0
    position: int = 0
    decisive: bool = False

    def decide(self) -> None:
        """Called right before what may take effect is sent. Raises TimeoutError when it is too late
        for that.
        """
        if time.monotonic() >= self.deadline_s:
            raise TimeoutError("timed out")
        self.decisive = True


class Memory:
    """The writes acknowledged in the last ten seconds, and the rows that finished reads saw on each
    node.
    """

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
        """The writes that a read sent now asks for, op → its acknowledgement, µs: the 20 newest,
        and 20 drawn from the others.
        """
        with self._lock:
            self._forget(sent_us)
            known = self._acknowledged
            end = len(known)
            while end and known[end - 1][1] > sent_us:
                end -= 1
            begin = max(0, end - NEWEST)
            places = [*range(begin, end), *draw.sample(range(begin), min(begin, DRAWN))]
            return dict(known[place] for place in places)

    def judge(
        self, node: str, missing: Iterable[int], found: Iterable[int], sent_us: int, done_us: int
    ) -> list[str]:
        """Writes that a read misses and another one had got from this node before it was sent.
        Remembers what it found.
        """
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
    """Everything that the streams of a prober have in common. ``transaction``: a write is BEGIN,
    INSERT, COMMIT.

    ``opening_s``: a pool opens no two connections to an entry closer together: hundreds at once
    would be the overload that it measures. A slot that finds none waits for one of the others.
    """

    log: Log
    clock: Clock
    memory: Memory
    timeout_s: float
    transaction: bool
    opening_s: float

    def begin(self) -> Attempt:
        """An operation that is sent now: its time-out covers connecting, too."""
        return Attempt(self.clock(), time.monotonic() + self.timeout_s)


class Connections:
    """A stream's connections: idle ones, the one used last first, and new ones; those of ``fresh``
    are used once.

    ``steers``: a failure here moves the route on; otherwise it belongs to another stream.
    """

    def __init__(
        self,
        name: str,
        who: links.Account,
        route: links.Route,
        addresses: Mapping[str, str],
        shared: Shared,
        steers: bool,
    ) -> None:
        self._name = name
        self._who = who
        self._route = route
        self._addresses = addresses
        self._shared = shared
        self._steers = steers
        self._idle: dict[links.Entry, deque[tuple[int, links.Link]]] = {
            entry: deque() for entry in route.entries
        }
        self._lock = threading.Lock()
        """Guards what is idle."""
        every = threading.Condition(self._lock)
        self._changed = {
            entry: threading.Condition(self._lock) if route.in_turn else every
            for entry in route.entries
        }
        """Notified when there is one more idle, or another entry. In turn, a slot waits for its own
        entry alone.
        """
        self._opened_s = dict.fromkeys(route.entries, -math.inf)

    def run(
        self, attempt: Attempt, work: Callable[[links.Link], Any]
    ) -> tuple[Any, links.Code, int]:
        """The answer of ``work``, or None with the error's code; and when that was, µs."""
        link: links.Link | None = None
        code: links.Code = links.NONE
        try:
            link = self._get(attempt)
            answer = work(link)
        except Exception as error:  # noqa: BLE001  (whatever it was: a slot that was sent has an outcome)
            answer = None
            code = links.code_of(error)
        done_us = self._shared.clock()
        if link and code == links.NONE:
            self._put(self._route.entry(attempt.position), link)
        elif link:
            link.close()  # a BEGIN on it would commit what an error has left open
            if code not in links.HEALTHY:
                self._failed(attempt)
        return answer, code, done_us

    def _get(self, attempt: Attempt) -> links.Link:
        """An idle connection, else a new one; where that fails, to the next entry, to each at most
        once.
        """
        attempt.position = self._route.next()
        while True:
            if idle := self._idle_or_turn(attempt):
                return idle
            entry = self._route.entry(attempt.position)
            attempt.connects += 1
            try:
                return links.Link(
                    self._who, self._addresses[entry.node], entry.port, attempt.deadline_s
                )
            except Exception:
                self._failed(attempt)
                failed = attempt.position
                attempt.position = self._route.after(attempt.position)
                spent = (
                    attempt.connects == len(self._route.entries)
                    or time.monotonic() >= attempt.deadline_s
                )
                if spent or attempt.position == failed:
                    raise

    def _idle_or_turn(self, attempt: Attempt) -> links.Link | None:
        """An idle connection; None when it is this slot's turn to open one. Raises TimeoutError
        when neither comes.

        Only a slot that has just come may open one: it has its whole time-out for that. The others
        wait.
        """
        entry = self._route.entry(attempt.position)
        idle = self._take(entry)
        if idle or self._name == "fresh" or attempt.connects or self._is_turn(entry):
            return idle
        while not (idle := self._take(self._route.entry(attempt.position))):
            self._wait(attempt)
        return idle

    def _wait(self, attempt: Attempt) -> None:
        entry = self._route.entry(attempt.position)
        with self._lock:
            left_s = attempt.deadline_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError("timed out")
            if not self._idle[entry]:
                self._changed[entry].wait(left_s)
        if not self._route.in_turn:
            attempt.position = self._route.next()

    def _is_turn(self, entry: links.Entry) -> bool:
        with self._lock:
            now_s = time.monotonic()
            turn = now_s - self._opened_s[entry] >= self._shared.opening_s
            if turn:
                self._opened_s[entry] = now_s
        return turn

    def _take(self, entry: links.Entry) -> links.Link | None:
        idle = self._idle[entry]
        self._drop(entry, self._shared.clock() - KEPT_US)
        while True:
            with self._lock:
                link = idle.pop()[1] if idle else None
            if link is None or link.address == self._addresses[entry.node]:
                return link
            link.close()

    def _put(self, entry: links.Entry, link: links.Link) -> None:
        if self._name != "fresh" and (
            self._route.in_turn or entry == self._route.entry(self._route.position)
        ):
            with self._lock:
                self._idle[entry].append((self._shared.clock(), link))
                self._changed[entry].notify()
        else:
            link.close()

    def _failed(self, attempt: Attempt) -> None:
        """Takes connections that were idle since before the operation for broken, too: a pool would
        test it before its use.
        """
        entry = self._route.entry(attempt.position)
        moves = (
            self._steers and self._route.move_on(attempt.position) and len(self._route.entries) > 1
        )
        self._drop(entry, math.inf if moves else attempt.sent_us)
        if moves:
            with self._lock:
                self._changed[entry].notify_all()
            text = (
                f"{self._name}: {entry.node} failed, next is"
                f" {self._route.entry(attempt.position + 1).node}"
            )
            self._shared.log("n", self._shared.clock(), text)

    def _drop(self, entry: links.Entry, before_us: float) -> None:
        dropped = []
        idle = self._idle[entry]
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
        outcome = (
            links.ACKED
            if code == links.NONE
            else links.outcome_of(code, attempt.decisive, self.shared.transaction)
        )
        self.shared.log("o", op, attempt.sent_us, done_us, outcome, code, max(1, attempt.connects))
        if outcome == links.ACKED:
            self.shared.memory.acknowledged(op, done_us)

    def _write(self, op: int, attempt: Attempt, link: links.Link) -> None:
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
        """A task that sends the read."""
        return partial(self._send, due_us)

    def _send(self, due_us: int) -> None:
        attempt = self.shared.begin()
        memory = self.shared.memory
        asked = memory.asked(attempt.sent_us, self.draw)
        answer, code, done_us = self.connections.run(attempt, partial(self._read, asked, attempt))
        node, found = answer or (links.NONE, set(asked))
        missing = [op for op in asked if op not in found]
        stale = [f"{op}:{attempt.sent_us - asked[op]}" for op in missing]
        backwards = memory.judge(node, missing, found, attempt.sent_us, done_us) if answer else []
        judged = (
            "ok" if answer else links.FAILED,
            code,
            node,
            len(asked),
            ",".join(stale) or links.NONE,
            ",".join(backwards) or links.NONE,
        )
        self.shared.log("r", self.name, due_us, attempt.sent_us, done_us, *judged)

    def _read(
        self, asked: Mapping[int, int], attempt: Attempt, link: links.Link
    ) -> tuple[str, set[int]]:
        ((node, count, ops),) = link.execute(attempt.deadline_s, SELECT, (tuple(asked) or (None,),))
        text = ops.decode() if isinstance(ops, bytes) else ops or ""
        found = {int(op) for op in text.split(",") if op}
        if len(found) != count:
            raise BufferError(f"group_concat_max_len cut {count} ops off")
        return node, found
