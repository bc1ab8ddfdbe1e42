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
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pymysql.optionfile import Parser

if TYPE_CHECKING:
    from sandbox.run.in_client import probe_links as links
    from sandbox.run.in_client import probe_observers as observers
    from sandbox.run.in_client import probe_streams as streams
else:
    import probe_links as links  # shipped into the same folder
    import probe_observers as observers
    import probe_streams as streams

FIRST_SLOT_US = 200_000
FLUSH_S = 0.05
TIDY_S = 10.0
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
        self._closed = False
        self._urgent = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def line(self, *fields: object) -> None:
        """One event; a field must contain neither a tab nor a line end."""
        self._lines.append("\t".join(map(str, fields)) + "\n")

    def line_now(self, *fields: object) -> None:
        """One event whose reader waits for it: it is written at once, with those before it."""
        self.line(*fields)
        self._urgent.set()

    def close(self, *fields: object) -> None:
        """Writes the last line; what comes later is not written."""
        self._closed = True
        self._urgent.set()
        self._thread.join()
        self.line(*fields)
        self._flush()

    def _follow(self) -> None:
        while not self._closed:
            self._urgent.wait(FLUSH_S)
            self._urgent.clear()
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
    commands: Iterable[str], addresses: dict[str, str], lines: LineWriter, clock: streams.Clock, ending: Ending
) -> None:
    """Does what the input says, until it ends; then everything ends."""
    for command in commands:
        now_us = clock()
        match command.split():
            case ["clock", token]:
                lines.line_now("c", token, now_us)
            case ["address", node, address] if node in addresses:
                addresses[node] = address
                lines.line("n", now_us, f"{node} is now at {address}")
            case ["stop"]:
                ending.stopped.set()
            case words:
                lines.line("n", now_us, f"not understood: {' '.join(words)}")
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
    begin(obey, commands, addresses, lines, clock, ending)
    for target in request["observe"]:
        follow = observers.Observer(target, root, addresses).follow
        begin(follow, request["observe_interval_s"], lines.line, clock, ending.finished)
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
