"""Runs in the client node: an open loop of writes and reads while something breaks, with an
observer of each server.

The request is the first argument; commands come by standard input, one line per event goes to
standard output (docs/failover.md). It ends on ``stop``, at its limit, at the end of its input, and
on TERM.
"""

import gc
import itertools
import json
import math
import os
import random
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from sandbox.measure.trial.in_client import prober_links as links
    from sandbox.measure.trial.in_client import prober_observers as observers
    from sandbox.measure.trial.in_client import prober_streams as streams
else:
    import prober_links as links  # shipped into the same folder
    import prober_observers as observers
    import prober_streams as streams

FIRST_SLOT_US = 200_000
FLUSH_S = 0.05
TIDY_S = 10.0
SPARE = 4
"""Workers of a stream that wait for the next slots."""
STACK_BYTES = 256 * 1024
SWITCH_S = 0.0005
"""A thread that waits for the interpreter wakes up so often, with up to eight slots in flight."""


class Clock:
    """Microseconds since the prober's start, monotonic."""

    def __init__(self, began_ns: int | None = None) -> None:
        """``began_ns``: that of a prober on the same machine, whose time this one counts, too."""
        now_ns = time.monotonic_ns()
        self.began_ns = now_ns if began_ns is None else began_ns
        self.began_utc_s = time.time() - (now_ns - self.began_ns) / 1e9

    def __call__(self) -> int:
        return (time.monotonic_ns() - self.began_ns) // 1000


class Ending:
    """How the prober ends: no new slots, or no wait for those in flight either."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.finished = threading.Event()
        self.now = False
        self.changed = threading.Condition()
        """Notified when it stops or must end now, and when a stream has nothing in flight or no
        worker any more.
        """

    def stop(self) -> None:
        """No new slot from now on."""
        self.stopped.set()
        with self.changed:
            self.changed.notify_all()

    def end_now(self) -> None:
        self.now = True
        self.stop()


class LineWriter:
    """Collects lines and writes them in batches, at least every 100 ms; calls ``gone`` when nobody
    reads them.
    """

    def __init__(self, write: Callable[[bytes], None], gone: Callable[[], None]) -> None:
        self._write = write
        self._gone = gone
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
    """A stream's slots: slot i is due at its start + i / rate; a worker takes the next one and
    waits until it is due.

    Nobody hands a slot over when it is due: that would take a processor and the interpreter once
    more.
    """

    def __init__(
        self,
        source: Source,
        rate: float,
        bounds_us: tuple[int, int],
        shared: streams.Shared,
        ending: Ending,
    ) -> None:
        """``bounds_us``: when the first slot is due, and from when on none is."""
        self.source = source
        self.rate = rate
        self.bounds_us = bounds_us
        self._shared = shared
        self._ending = ending
        self.limit = max(1, math.ceil(rate * shared.timeout_s))
        self.in_flight = self.workers = 0
        self._next = itertools.count()
        self._most = self.limit + SPARE
        self._wanted = threading.Semaphore(0)
        """Released when too few workers wait for a slot."""

    def begin(self) -> None:
        """Starts the first workers, and what starts more."""
        for _ in range(SPARE):
            self._add_worker()
        begin(self._keep_spare)

    def _keep_spare(self) -> None:
        while self._wanted.acquire():
            if self.workers - self.in_flight < SPARE:
                self._add_worker()

    def _add_worker(self) -> None:
        if self.workers == self._most:
            return
        self._count(workers=1)
        try:
            begin(self._work)
        except RuntimeError as error:  # the system has no more: slots wait for those that there are
            self._count(workers=-1)
            self._most = self.workers
            self._shared.log(
                "n", self._shared.clock(), f"{self.source.name}: {self._most} threads: {error}"
            )

    def _count(self, workers: int = 0, in_flight: int = 0) -> None:
        with self._ending.changed:
            self.workers += workers
            self.in_flight += in_flight
            if not self.workers or (not self.in_flight and self._ending.stopped.is_set()):
                self._ending.changed.notify_all()

    def _work(self) -> None:
        start_us, end_us = self.bounds_us
        while not self._ending.stopped.is_set():
            due_us = start_us + round(next(self._next) * 1e6 / self.rate)
            if due_us >= end_us:
                break
            time.sleep(max(0, due_us - self._shared.clock()) / 1e6)
            if self._takes(due_us):
                self.source.slot(due_us)()
                self._count(in_flight=-1)
        self._count(workers=-1)

    def _takes(self, due_us: int) -> bool:
        """Whether the slot is sent, however late; it is missed only where every slot allowed is in
        flight.
        """
        with self._ending.changed:
            if self._ending.stopped.is_set():
                return False
            free = self.in_flight < self.limit
            self.in_flight += free
        if self.workers - self.in_flight < SPARE:
            self._wanted.release()
        if not free:
            self._shared.log("m", self.source.name, due_us)
        return free


def slots_of(
    request: dict[str, Any],
    shared: streams.Shared,
    addresses: dict[str, str],
    ending: Ending,
    start_us: int,
) -> list[Slots]:
    """The streams that have a rate and an entry. Their slots are spread, so that none is due when
    another one's is.
    """
    write, read = (
        [links.Entry(each["node"], each["port"]) for each in request[key]]
        for key in ("write", "read")
    )
    pooled = links.Route(write)
    routes = {
        "pooled": pooled,
        "writer": pooled,
        "reader": links.Route(read, True),
        "fresh": links.Route(write),
    }
    rates = {name: request["rates"].get(name, 0) for name in routes}
    who = links.account(request["user_file"], request["schema"])
    ops = itertools.count(request["first_op"])
    made = []
    for place, name in enumerate(name for name in routes if rates[name] and routes[name].entries):
        follows = name == "writer" and rates["pooled"]
        link = streams.Connections(name, who, routes[name], addresses, shared, not follows)
        draw = random.Random(f"{request['seed']} {name}")  # noqa: S311  (a sample, no secret)
        is_read = name in ("writer", "reader")
        source = (
            streams.Reads(name, link, shared, draw)
            if is_read
            else streams.Writes(name, link, shared, ops)
        )
        first_us = start_us + round(place * 1e6 / rates[name] / len(routes))
        bounds_us = first_us, start_us + round(request["seconds_limit"] * 1e6)
        made.append(Slots(source, rates[name], bounds_us, shared, ending))
    return made


def log_in_once(request: dict[str, Any], addresses: dict[str, str]) -> None:
    """At each entry, whoever answers: a server's first login by caching_sha2 takes RSA, and slots
    would wait for it.
    """
    who = links.account(request["user_file"], request["schema"])
    for node, port in {
        (each["node"], each["port"]) for key in ("write", "read") for each in request[key]
    }:
        with suppress(Exception):  # what fails here fails in a slot, too, which has an outcome
            links.Link(who, addresses[node], port, time.monotonic() + request["timeout_s"]).close()


def obey(
    commands: Iterable[str],
    addresses: dict[str, str],
    lines: LineWriter,
    clock: streams.Clock,
    ending: Ending,
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
                ending.stop()
            case words:
                lines.line("n", now_us, f"not understood: {' '.join(words)}")
    ending.end_now()


def run(
    request: dict[str, Any], commands: Iterable[str], write: Callable[[bytes], None], ending: Ending
) -> None:
    """One prober, from its first line to its last."""
    clock = Clock()
    lines = LineWriter(write, ending.end_now)
    lines.line(header(clock, request))
    addresses = {
        each["node"]: each["address"]
        for key in ("write", "read", "observe")
        for each in request[key]
    }
    bounds = request["timeout_s"], request["transaction"], request["opening_s"]
    shared = streams.Shared(lines.line, clock, streams.Memory(), *bounds)
    root = links.account(request["root_file"], request["schema"])
    begin(obey, commands, addresses, lines, clock, ending)
    for target in request["observe"]:
        follow = observers.Observer(target, root, addresses).follow
        begin(follow, request["observe_interval_s"], lines.line, clock, ending.finished)
    log_in_once(request, addresses)
    start_us = clock() + FIRST_SLOT_US
    every = slots_of(request, shared, addresses, ending, start_us)
    begin(share_interpreter, every)
    for slots in every:
        slots.begin()
    with ending.changed:
        ending.changed.wait_for(
            lambda: ending.stopped.is_set() or not any(slots.workers for slots in every)
        )
    finish(every, request["timeout_s"] + 1, lines, clock, ending)


def header(clock: Clock, request: dict[str, Any]) -> str:
    """The first line of a log; ``began_ns``: its time 0 on the machine's monotonic clock."""
    began = {"began_utc_s": clock.began_utc_s, "began_ns": clock.began_ns}
    return json.dumps({"probe": 1, **began, "request": request})


def finish(
    every: Sequence[Slots], wait_s: float, lines: LineWriter, clock: streams.Clock, ending: Ending
) -> None:
    """Waits for the slots in flight, unless it must end now; then writes the last line."""
    with ending.changed:
        ending.changed.wait_for(
            lambda: ending.now or not any(slots.in_flight for slots in every), wait_s
        )
    if left := sum(slots.in_flight for slots in every):
        lines.line("n", clock(), f"{left} slots were still in flight at the end")
    ending.finished.set()
    lines.close("e", clock())


def share_interpreter(every: Sequence[Slots]) -> None:
    """With more slots in flight each wakes up less often: hundreds would take a processor for that
    alone.
    """
    while True:
        sys.setswitchinterval(SWITCH_S * max(1.0, sum(slots.in_flight for slots in every) / 8))
        time.sleep(FLUSH_S)


def end_on_term(ending: Ending) -> None:
    """TERM is blocked in every thread and waited for here: a handler might interrupt one that holds
    a lock.
    """
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
