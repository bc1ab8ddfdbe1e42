"""A trial without Docker or waiting: time that only sleeping moves, servers that break, a prober
that sees it.
"""

import json
import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from sandbox.failure import action as actions_model
from sandbox.failure.breaker import Breaking
from sandbox.failure.fault import FaultRequest, Injection
from sandbox.measure.trial import actions_beside, conductor, ledger_on_servers, prober, trial
from sandbox.stack.protocol import ExecResult, Stream
from unit.fake_stack import CLIENT, FakeStack, server

SLOT_US = 10_000
BASELINE_US = 500_000
"""What the prober has done by the time that somebody first looks."""
ADDRESSES = {"mysql1": "172.18.0.2", "replica1": "172.18.0.3"}
HEADER = {"probe": 1, "began_utc_s": 1732000000.0, "began_ns": 1}


@dataclass
class FakeControl:
    """A node's container: where it is, and what was done to it."""

    name: str
    at: str | None
    shown: str = "running"
    done: list[str] = field(default_factory=list)

    def address(self) -> str | None:
        return self.at

    def state(self) -> str:
        return self.shown

    def stop(self, grace_s: float) -> None:
        self.done.append(f"stop {grace_s:g}")

    def start(self) -> None:
        self.done.append("start")

    def weigh(self, weight: float) -> None:
        self.done.append(f"weigh {weight:g}")


class ProberStream:
    """The prober's lines, which a test or the world adds; `settled` returns when every one has been
    read.
    """

    def __init__(self, world: "World", request: Mapping[str, Any]) -> None:
        self.request, self.sent, self._world = request, list[str](), world
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._ended = False
        self.print(json.dumps({**HEADER, "request": request}))

    def print(self, *fields: object) -> None:
        """A line of tab-separated fields."""
        if not self._ended:
            self._lines.put("\t".join(map(str, fields)))

    def lines(self) -> Iterator[str]:
        while (line := self._lines.get()) is not None:
            yield line
            self._lines.task_done()
        self._lines.task_done()

    def settled(self) -> None:
        if not self._ended:
            self._lines.join()

    def send(self, line: str) -> None:
        self.sent.append(line)
        words = line.split()
        if words[0] == "clock":
            self.print("c", words[1], self._world.prober_us)
        elif words[0] == "stop":
            self.print("e", self._world.prober_us)
            self.end()

    def end(self) -> None:
        """The process ends, with or without its last line."""
        if not self._ended:
            self._ended = True
            self._lines.put(None)

    def close_stdin(self) -> None:
        if not self._ended:
            self._world.events.append("prober closed")
        self.end()

    def wait(self, timeout_s: float) -> int:
        return 0

    def kill(self) -> None:
        self.end()


class World:
    """Stands for the module `time`, and for servers that take 100 writes and 100 reads per second
    while they are up.
    """

    def __init__(self) -> None:
        self.now_us = 1_000_000_000
        self.began_us = 0
        self.prober: ProberStream | None = None
        self.broken = False
        self.code = 2003
        """Of every error while it is broken."""
        self.back_us: int | None = None
        """When writes are taken again, whatever is healed."""
        self.late_us = 200
        self.replicating = "Yes/Yes"
        """State of the replica's threads."""
        self.rows: dict[str, set[int]] = {name: set() for name in ADDRESSES}
        self.losing = False
        """Whether what is acknowledged now is not kept."""
        self.interrupt_at_s: float | None = None
        self.dies_at_s: float | None = None
        self.events: list[str] = []
        self._op = 0
        self._guard = threading.RLock()

    @property
    def prober_us(self) -> int:
        """The time on the prober's clock."""
        return self.now_us - self.began_us

    def monotonic(self) -> float:
        return self.now_us / 1e6

    def monotonic_ns(self) -> int:
        return self.now_us * 1000

    def sleep(self, seconds: float) -> None:
        self._advance(seconds)
        if self.prober:
            self.prober.settled()
        at_s = self.prober_us / 1e6
        if self.dies_at_s is not None and at_s >= self.dies_at_s and self.prober:
            self.prober.print("Killed")
            self.prober.end()
            for (
                thread
            ) in threading.enumerate():  # its reader must have seen that before time moves on
                if thread.name == "prober":
                    thread.join(10)
        if self.interrupt_at_s is not None and at_s >= self.interrupt_at_s:
            self.interrupt_at_s = None
            raise KeyboardInterrupt

    def start_prober(self, request: Mapping[str, Any]) -> ProberStream:
        self.began_us, self.prober = self.now_us, ProberStream(self, request)
        for node in ADDRESSES:
            self._observe(node)
        self._advance(BASELINE_US / 1e6)  # nobody reads yet
        return self.prober

    def _advance(self, seconds: float) -> None:
        with self._guard:
            end_us = self.now_us + round(seconds * 1e6)
            while self.now_us < end_us:
                self.now_us = min(end_us, self.now_us + SLOT_US)
                self._slot()

    def take_down(self, seconds: float | None) -> None:
        """No write is taken for so long, or until `heal`."""
        self.broken = True
        self.back_us = None if seconds is None else self.now_us + round(seconds * 1e6)

    def _slot(self) -> None:
        if self.prober is None:
            return
        if self.back_us is not None and self.now_us >= self.back_us:
            self.broken, self.back_us = False, None
        due = self.prober_us
        for stream in ("pooled", "fresh") if due % (5 * SLOT_US) == 0 else ("pooled",):
            self._write(stream, due)
        outcome = ("failed", self.code) if self.broken else ("ok", "-")
        node = "-" if self.broken else "mysql1"
        times = (due, due + self.late_us, due + self.late_us + 1000)
        self.prober.print("r", "writer", *times, *outcome, node, 20, "-", "-")
        if due % 1_000_000 == 0:
            for name in ADDRESSES:
                self._observe(name)

    def _write(self, stream: str, due: int) -> None:
        assert self.prober
        self._op += 1
        self.prober.print("i", self._op, stream, due)
        outcome = ("failed", self.code) if self.broken else ("acked", "-")
        self.prober.print("o", self._op, due + self.late_us, due + self.late_us + 2000, *outcome, 1)
        if not self.broken and not self.losing:
            for rows in self.rows.values():
                rows.add(self._op)

    def _observe(self, node: str) -> None:
        assert self.prober
        state = None if node == "mysql1" else self.replicating
        answer = {"read_only": int(node != "mysql1"), "role": None, "error": None, "state": state}
        self.prober.print(
            "s", node, self.prober_us, json.dumps({**answer, "last_at_us": self.prober_us})
        )


class FakeBreaking(Breaking):
    """Breaks the world's writer for a while, and keeps what it was asked to do. ``missing``: why
    nothing happens.
    """

    def __init__(
        self, world: World, outage_s: float | None = 2.0, missing: Mapping[str, str] | None = None
    ) -> None:
        self.world, self.outage_s, self.missing = world, outage_s, missing or {}
        self.requests: dict[str, FaultRequest] = {}
        self.active: list[str] = []
        self.refused: Exception | None = None

    def prepare(self, key: str, request: FaultRequest) -> None:
        if self.refused:
            raise self.refused
        self.requests[key] = request

    def inject(self, key: str) -> Injection:
        self.active.append(key)
        began_ns = self.world.monotonic_ns()
        if not self.missing:
            self.world.take_down(self.outage_s)
        self.world.events.append(
            f"inject {key} at {self.world.prober_us / 1e6 - BASELINE_US / 1e6:.2f}"
        )
        return Injection(began_ns, began_ns + 50_000_000, self.missing)

    def heal(self, key: str) -> int:
        self.active.remove(key)
        if self.outage_s is None:
            self.world.broken = False
        self.world.events.append(
            f"heal {key} at {self.world.prober_us / 1e6 - BASELINE_US / 1e6:.2f}"
        )
        return self.world.monotonic_ns()

    def close(self) -> None:
        for key in list(self.active):
            self.heal(key)


class TrialStack(FakeStack):
    """A source and its replica, whose ledgers are the world's rows."""

    def __init__(self, world: World, **given: Any) -> None:
        super().__init__(**given)
        self.world = world
        self.controls = {name: FakeControl(name, at) for name, at in ADDRESSES.items()}
        self.controls[CLIENT.name] = FakeControl(CLIENT.name, "172.18.0.9")
        self.members = [server("mysql1"), server("replica1", "replica"), CLIENT]
        self.gtids: dict[str, str | None] = dict.fromkeys(
            ADDRESSES, "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-99"
        )
        self.unreadable: dict[str, str] = {}

    def stream(self, node: str, argv: Sequence[str]) -> Stream:
        if argv[1].endswith("/prober.py"):
            self.streamed.append(list(argv))
            return self.world.start_prober(json.loads(argv[2]))
        return super().stream(node, argv)

    def ask_session(
        self, node: str, argv: Sequence[str], line: str, timeout_s: float = 60.0
    ) -> ExecResult:
        request = json.loads(line) if line.startswith("{") else {}
        if "family" not in request:
            return super().ask_session(node, argv, line, timeout_s)
        name = next(name for name, at in ADDRESSES.items() if at == request["host"])
        if name in self.unreadable:
            return ExecResult(0, json.dumps({"rows": None, "error": self.unreadable[name]}), "")
        ops = sorted(self.world.rows[name])
        rows = {
            "hosts": {"mysql1": [f"{op}-{op}" for op in ops]},
            "more_than_once": {},
            "rows": len(ops),
        }
        return ExecResult(0, json.dumps({**rows, "gtid": self.gtids[name], "error": None}), "")

    def _rows(self, name: str, text: str, values: list[Any] | None) -> list[list[Any]]:
        if text == "SELECT @@hostname":
            return [["mysql1"]]
        if text.startswith("SELECT MAX(op_id)"):
            return [[max(self.world.rows[name], default=None)]]
        return super()._rows(name, text, values)


def made_world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose time the modules of a trial go by: it stands still but where somebody
    sleeps.
    """
    made = World()
    for module in (conductor, actions_beside, prober, trial, ledger_on_servers, actions_model):
        monkeypatch.setattr(module, "time", made)
    return made
