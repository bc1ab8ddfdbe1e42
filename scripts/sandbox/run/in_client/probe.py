"""Runs in the client node: an open loop of writes and reads while something breaks, with an observer of each server.

The request is the first argument; commands come by standard input, one line per event goes to standard output
(docs/failover.md). It ends on ``stop``, at its limit, at the end of its input, and on TERM.
"""

import gc
import heapq
import itertools
import json
import math
import os
import queue
import random
import re
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pymysql.cursors import DictCursor
from pymysql.optionfile import Parser

if TYPE_CHECKING:
    from sandbox.run.in_client import probe_links as links
    from sandbox.run.in_client import probe_streams as streams
else:
    import probe_links as links  # shipped into the same folder
    import probe_streams as streams

GTID = {"mysql": "@@global.gtid_executed", "mariadb": "IF(@@global.log_bin, @@gtid_binlog_pos, @@gtid_current_pos)"}
# read_only alone: super_read_only implies it, so it is off exactly where the application may write.
OBSERVED = (
    "SELECT @@global.read_only AS read_only, {gtid} AS gtid, newest.op_id AS last_op, "
    "ROUND(UNIX_TIMESTAMP(newest.at) * 1000000) AS last_at_us FROM (SELECT 1) AS one "
    "LEFT JOIN (SELECT op_id, at FROM ledger ORDER BY id DESC LIMIT 1) AS newest ON TRUE"
)
WSREP = (
    "SHOW GLOBAL STATUS WHERE Variable_name IN "
    "('wsrep_cluster_status', 'wsrep_local_state_comment', 'wsrep_cluster_size')"
)
NEWER, OLDER = "SHOW REPLICA STATUS", "SHOW SLAVE STATUS"  # from MySQL 8.0.22 on, and before
STATE = {
    ("galera", "mysql"): WSREP,
    ("galera", "mariadb"): WSREP,
    ("gr", "mysql"): "SELECT MAX(IF(member_id = @@server_uuid, member_role, NULL)) AS role, "
    "MAX(IF(member_id = @@server_uuid, member_state, NULL)) AS state, "
    "COUNT(IF(member_state = 'UNREACHABLE', NULL, 1)) AS view "  # long before the group expels it
    "FROM performance_schema.replication_group_members",
    ("single", "mysql"): NEWER,
    ("single", "mariadb"): "SHOW ALL SLAVES STATUS",
}
# A Galera node outside the primary component answers, too; none waits for what others have committed.
SESSION = {"galera": "SET SESSION wsrep_dirty_reads = ON, wsrep_sync_wait = 0"}

FIRST_SLOT_US = 200_000
FLUSH_S = 0.05
TIDY_S = 10.0
OBSERVER_TIMEOUT_S = 1.0
SPARE = 4
"""Workers of a stream that wait for the next slots."""
STACK_BYTES = 256 * 1024
SWITCH_S = 0.0005


class Clock:
    """Microseconds since the probe's start, monotonic."""

    def __init__(self) -> None:
        self._began_ns = time.monotonic_ns()
        self.began_utc_s = time.time()

    def __call__(self) -> int:
        return (time.monotonic_ns() - self._began_ns) // 1000


class Ending:
    """How the probe ends: no new slots, or no wait for those in flight either."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.finished = threading.Event()
        self.now = False
        self.changed = threading.Condition()
        """Notified when it must end now, and when a stream has nothing in flight."""

    def end_now(self) -> None:
        self.now = True
        self.stopped.set()
        with self.changed:
            self.changed.notify_all()


class LineWriter:
    """Collects lines and writes them in batches, at least every 100 ms; calls ``gone`` when nobody reads them."""

    def __init__(self, write: Callable[[bytes], None], gone: Callable[[], None]) -> None:
        self._write, self._gone = write, gone
        self._lines: deque[str] = deque()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def line(self, *fields: object) -> None:
        """One event; a field must contain neither a tab nor a line end."""
        self._lines.append("\t".join(map(str, fields)) + "\n")

    def close(self, *fields: object) -> None:
        """Writes the last line; what comes later is not written."""
        self._closed.set()
        self._thread.join()
        self.line(*fields)
        self._flush()

    def _follow(self) -> None:
        while not self._closed.wait(FLUSH_S):
            self._flush()

    def _flush(self) -> None:
        batch = "".join(self._lines.popleft() for _ in range(len(self._lines)))
        try:
            if batch:
                self._write(batch.encode())
        except OSError:
            self._gone()


class Source(Protocol):
    """Makes the operations of a stream."""

    @property
    def name(self) -> str: ...

    def slot(self, due_us: int) -> streams.Task: ...


class Slots:
    """A stream's slots: slot i is due at its start + i / rate, and goes to a worker thread that waits for it."""

    def __init__(self, source: Source, rate: float, start_us: int, shared: streams.Shared, ending: Ending) -> None:
        self.source, self.rate, self.start_us, self._shared, self._ending = source, rate, start_us, shared, ending
        self.limit = max(1, math.ceil(rate * shared.timeout_s))
        self.in_flight = 0
        self._next, self._workers, self._most = 0, 0, self.limit + SPARE
        self._tasks: queue.SimpleQueue[streams.Task | None] = queue.SimpleQueue()
        for _ in range(SPARE):
            self._add_worker()

    @property
    def due_us(self) -> int:
        """When the next slot is due."""
        return self.start_us + round(self._next * 1e6 / self.rate)

    def hand_over(self) -> None:
        """Sends the slot that is due, however late; it is missed only where every slot allowed is in flight."""
        due_us = self.due_us
        self._next += 1
        if self.in_flight >= self.limit:
            self._shared.log("m", self.source.name, due_us)
            return
        with self._ending.changed:
            self.in_flight += 1
        self._tasks.put(self.source.slot(due_us))
        if self._workers - self.in_flight < SPARE:
            self._add_worker()

    def close(self) -> None:
        """Lets every worker end after its task."""
        for _ in range(self._workers):
            self._tasks.put(None)

    def _add_worker(self) -> None:
        if self._workers == self._most:
            return
        try:
            begin(self._work)
            self._workers += 1
        except RuntimeError as error:  # the system has no more: slots wait for those that there are
            self._most = self._workers
            self._shared.log("n", self._shared.clock(), f"{self.source.name}: {self._most} threads: {error}")

    def _work(self) -> None:
        while task := self._tasks.get():
            task()
            with self._ending.changed:
                self.in_flight -= 1
                if not self.in_flight:
                    self._ending.changed.notify_all()


def schedule(every: Sequence[Slots], clock: streams.Clock, end_us: int, ending: Ending) -> None:
    """Hands over every slot when it is due, until the end."""
    upcoming = [(slots.due_us, place, slots) for place, slots in enumerate(every)]
    heapq.heapify(upcoming)
    while True:
        due_us, place, slots = upcoming[0] if upcoming else (end_us, 0, None)
        if ending.stopped.wait(max(0, min(due_us, end_us) - clock()) / 1e6) or due_us >= end_us or not slots:
            return
        slots.hand_over()
        heapq.heapreplace(upcoming, (slots.due_us, place, slots))


NOTHING: dict[str, Any] = dict.fromkeys(
    ("read_only", "role", "state", "view", "gtid", "last_op", "last_at_us", "error")
)
NEWS = ("read_only", "role", "state", "view", "error", "last_op")
"""An answer that differs in one of these is written at once; any is after a second."""


def standing(topology: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Role, state and view of a server, as its topology has them."""
    if topology == "gr":
        return dict(rows[0])
    if topology == "galera":
        status = {row["Variable_name"]: row["Value"] for row in rows}
        component = status.get("wsrep_cluster_status")
        state = status.get("wsrep_local_state_comment") if component == "Primary" else component
        return {"state": state, "view": int(status.get("wsrep_cluster_size", 0))}
    running = [[row[name] for name in row if name.endswith(("_IO_Running", "_SQL_Running"))] for row in rows]
    return {"state": ",".join("/".join(threads) for threads in running) or None}


def is_news(written: tuple[int, dict[str, Any]] | None, now_us: int, answer: dict[str, Any]) -> bool:
    """Whether a line is due: it differs from the one written last, or that was a second ago."""
    if written is None or now_us - written[0] >= 1_000_000:
        return True
    return any(answer[name] != written[1][name] for name in NEWS)


class Observer:
    """Asks one server over a connection of its own, at every multiple of the interval that it can keep."""

    def __init__(self, target: dict[str, Any], who: links.Account, addresses: dict[str, str]) -> None:
        self._target, self._who, self._addresses = target, who, addresses
        self._statement = STATE[target["topology"], target["family"]]
        self._link: links.Link | None = None

    def ask(self) -> dict[str, Any]:
        """The server's answer, or nothing but the error."""
        deadline_s = time.monotonic() + OBSERVER_TIMEOUT_S
        try:
            return {**NOTHING, **self._answer(self._connected(deadline_s), deadline_s)}
        except Exception as error:  # noqa: BLE001  (whatever it was: it is the answer)
            self._disconnect()
            return {**NOTHING, "error": f"{links.code_of(error)}: {error.args[-1] if error.args else ''}"}

    def follow(self, interval_s: float, line: streams.Log, clock: streams.Clock, ending: Ending) -> None:
        """Asks until the probe has ended; the time of an answer is when it was there."""
        interval_us = round(interval_s * 1e6)
        written = None
        while not ending.finished.wait((interval_us - clock() % interval_us) / 1e6):
            answer = self.ask()
            now_us = clock()
            if is_news(written, now_us, answer):
                written = (now_us, answer)
                line("s", self._target["node"], now_us, json.dumps(answer, separators=(",", ":")))

    def _answer(self, link: links.Link, deadline_s: float) -> dict[str, Any]:
        release = tuple(int(number) for number in re.findall(r"\d+", link.version)[:3])
        statement = OLDER if self._statement == NEWER and release < (8, 0, 22) else self._statement
        answer = standing(self._target["topology"], link.execute(deadline_s, statement, kind=DictCursor))
        observed = OBSERVED.format(gtid=GTID[self._target["family"]])
        (row,) = link.execute(deadline_s, observed, kind=DictCursor)
        read_only = int(str(row["read_only"]).upper() not in ("0", "OFF"))  # a word from MariaDB 12 on
        at_us = None if row["last_at_us"] is None else int(row["last_at_us"])
        return {**answer, **row} | {"read_only": read_only, "gtid": row["gtid"].replace("\n", ""), "last_at_us": at_us}

    def _connected(self, deadline_s: float) -> links.Link:
        address = self._addresses[self._target["node"]]
        if self._link is None or self._link.address != address:
            self._disconnect()
            self._link = links.Link(self._who, address, self._target["port"], deadline_s)
            if setting := SESSION.get(self._target["topology"]):
                self._link.execute(deadline_s, setting)
        return self._link

    def _disconnect(self) -> None:
        if self._link:
            self._link.close()
        self._link = None


def account(path: str, schema: str) -> links.Account:
    """The account of an option file. Raises configparser.Error for a file that has none."""
    parser = Parser()
    parser.read(path)
    return {**{name: parser.get("client", name) for name in ("user", "password")}, "database": schema}


def slots_of(
    request: dict[str, Any], shared: streams.Shared, addresses: dict[str, str], ending: Ending, start_us: int
) -> list[Slots]:
    """The streams that have a rate and an entry. Their slots are spread, so that none is due when another one's is."""
    write, read = ([streams.Entry(each["node"], each["port"]) for each in request[key]] for key in ("write", "read"))
    pooled = streams.Route(write)
    routes = {"pooled": pooled, "writer": pooled, "reader": streams.Route(read, True), "fresh": streams.Route(write)}
    rates = {name: request["rates"].get(name, 0) for name in routes}
    who, ops, made = account(request["user_file"], request["schema"]), itertools.count(request["first_op"]), []
    for place, name in enumerate(name for name in routes if rates[name] and routes[name].entries):
        follows = name == "writer" and rates["pooled"]
        link = streams.Connections(name, who, routes[name], addresses, shared, not follows)
        draw = random.Random(f"{request['seed']} {name}")  # noqa: S311  (a sample, no secret)
        is_read = name in ("writer", "reader")
        source = streams.Reads(name, link, shared, draw) if is_read else streams.Writes(name, link, shared, ops)
        phase_us = round(place * 1e6 / rates[name] / len(routes))
        made.append(Slots(source, rates[name], start_us + phase_us, shared, ending))
    return made


def obey(
    commands: Iterable[str], addresses: dict[str, str], line: streams.Log, clock: streams.Clock, ending: Ending
) -> None:
    """Does what the input says, until it ends; then everything ends."""
    for command in commands:
        now_us = clock()
        match command.split():
            case ["clock", token]:
                line("c", token, now_us)
            case ["address", node, address] if node in addresses:
                addresses[node] = address
                line("n", now_us, f"{node} is now at {address}")
            case ["stop"]:
                ending.stopped.set()
            case words:
                line("n", now_us, f"not understood: {' '.join(words)}")
    ending.end_now()


def run(request: dict[str, Any], commands: Iterable[str], write: Callable[[bytes], None], ending: Ending) -> None:
    """One probe, from its first line to its last."""
    clock = Clock()
    lines = LineWriter(write, ending.end_now)
    lines.line(json.dumps({"probe": 1, "began_utc_s": clock.began_utc_s, "request": request}))
    addresses = {each["node"]: each["address"] for key in ("write", "read", "observe") for each in request[key]}
    bounds = request["timeout_s"], request["transaction"], request["opening_s"]
    shared = streams.Shared(lines.line, clock, streams.Memory(), *bounds)
    start_us = clock() + FIRST_SLOT_US
    every = slots_of(request, shared, addresses, ending, start_us)
    root = account(request["root_file"], request["schema"])
    begin(obey, commands, addresses, lines.line, clock, ending)
    for target in request["observe"]:
        begin(Observer(target, root, addresses).follow, request["observe_interval_s"], lines.line, clock, ending)
    schedule(every, clock, start_us + round(request["seconds_limit"] * 1e6), ending)
    finish(every, request["timeout_s"] + 1, lines, clock, ending)


def finish(every: Sequence[Slots], wait_s: float, lines: LineWriter, clock: streams.Clock, ending: Ending) -> None:
    """Waits for the slots in flight, unless it must end now; then writes the last line."""
    with ending.changed:
        ending.changed.wait_for(lambda: ending.now or not any(slots.in_flight for slots in every), wait_s)
    if left := sum(slots.in_flight for slots in every):
        lines.line("n", clock(), f"{left} slots were still in flight at the end")
    ending.finished.set()
    for slots in every:
        slots.close()
    lines.close("e", clock())


def end_on_term(ending: Ending) -> None:
    """TERM is blocked in every thread and waited for here: a handler might interrupt one that holds a lock."""
    signal.sigwait({signal.SIGTERM})
    ending.end_now()


def begin(work: Callable[..., None], *given: Any) -> None:
    """Runs it in a thread that ends with the process at the latest."""
    threading.Thread(target=work, args=given, daemon=True).start()


def tidy() -> None:
    """Collects garbage now and then, instead of whenever a slot is due."""
    gc.collect()
    gc.freeze()
    gc.disable()
    while True:
        time.sleep(TIDY_S)
        gc.collect()


def write_out(text: bytes) -> None:
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()


def main() -> None:
    """Argument: the request as JSON."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    threading.stack_size(STACK_BYTES)
    sys.setswitchinterval(SWITCH_S)
    ending = Ending()
    begin(end_on_term, ending)
    begin(tidy)
    run(json.loads(sys.argv[1]), sys.stdin, write_out, ending)


if __name__ == "__main__":
    main()
    os._exit(0)  # the input's reader and what is still in flight may wait for long
