"""The failover prober from this side: where it writes and reads, its lines as they arrive, its
clock beside ours.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from sandbox.core.errors import MachineError
from sandbox.measure.trial import in_client
from sandbox.stack.client_python import end_stream, folder_of, ship
from sandbox.stack.protocol import RunningStack, StackNode, Stream

FIRST_WRITE_LIMIT_S = 30.0
END_LIMIT_S = 20.0
CLOCK_LIMIT_S = 5.0
OPENING_S = 0.025
"""A pool of the prober opens no two connections to an entry closer together; so an outage is known
to within this.
"""
_CLOCK_QUESTIONS = 5
HEADER = '{"probe"'
_MOVED = re.compile(r"\tpooled: \S+ failed, next is (\S+)$")


@dataclass(frozen=True, slots=True)
class ProberRates:
    """Slots in a second: writes on pooled connections, writes that connect anew, reads at the
    writer and at readers.
    """

    pooled: int = 100
    fresh: int = 20
    writer: int = 100
    reader: int = 100

    @classmethod
    def at(cls, rate: int) -> "ProberRates":
        """Rates in proportion to that of pooled writes."""
        return cls(pooled=rate, fresh=max(1, rate // 5), writer=rate, reader=rate)


@dataclass(frozen=True, slots=True)
class ProberPlan:
    """The work of a prober. ``write``, ``read``: (node, port) in the order in which they are tried;
    one: a proxy.

    ``observe``: servers of the stack, which it asks as root.
    """

    write: Sequence[tuple[str, int]]
    read: Sequence[tuple[str, int]]
    observe: Sequence[StackNode]
    schema: str
    rates: ProberRates = field(default_factory=ProberRates)
    timeout_s: float = 2.0
    transaction: bool = False
    """Whether each write is a transaction of its own statements, BEGIN and COMMIT, instead of an
    autocommit.
    """
    seconds_limit: int = 6 * 3600
    """More than the longest trial: the prober ends when it is stopped."""
    seed: int = 1

    def request(self, addresses: Mapping[str, str]) -> dict[str, Any]:
        """The request as the client node gets it: addresses only, since a vanished name takes 20 s
        to look up.
        """

        def at(places: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
            return [
                {"node": node, "address": addresses[node], "port": port}
                for node, port in places
                if node in addresses
            ]

        observed = [
            {
                "node": node.name,
                "address": addresses[node.name],
                "port": node.port,
                "topology": node.topology,
                "family": node.family,
            }
            for node in self.observe
            if node.name in addresses and node.topology and node.family
        ]
        rates = {
            name: getattr(self.rates, name) for name in ("pooled", "fresh", "writer", "reader")
        }
        return {
            "schema": self.schema,
            "user_file": "/sandbox/app.cnf",
            "root_file": "/sandbox/root.cnf",
            "seconds_limit": self.seconds_limit,
            "timeout_s": self.timeout_s,
            "rates": rates,
            "write": at(self.write),
            "read": at(self.read),
            "observe": observed,
            "observe_interval_s": 0.1,
            "transaction": self.transaction,
            "opening_s": OPENING_S,
            "seed": self.seed,
            "first_op": 1,
        }


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """Prober's time minus ours, µs, and by how much it can be wrong (half the quickest round
    trip).
    """

    offset_us: float
    uncertainty_us: float

    def prober_us(self, ours_ns: int) -> float:
        """A time on our monotonic clock, on the prober's."""
        return ours_ns / 1000 + self.offset_us


class Prober:
    """A prober in the client node, from `start` on; every line of its log goes to a file as it
    arrives.

    Its methods are safe in any thread.
    """

    def __init__(
        self,
        stack: RunningStack,
        client: str,
        plan: ProberPlan,
        on_observed: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``on_observed``: gets the first line of its log, and each line that names a server's
        state.
        """
        self._stack = stack
        self._client = client
        self._plan = plan
        self._on_observed = on_observed
        self._nodes: list[StackNode] = []
        self._addresses: dict[str, str] = {}
        self._following = threading.Lock()
        self._answers: dict[str, tuple[int, int]] = {}
        self._changed = threading.Condition()
        self.acknowledged = 0
        self.started = False
        self.ended = False
        self.writes_at = plan.write[0][0] if len(plan.write) > 1 else None
        """The server to which a client that has a list of them sends its pooled writes now; None
        through a proxy.
        """
        self.began_ns = 0
        """Time 0 of its log on the monotonic clock of the machine that it runs on, once its log has
        begun.
        """
        self._last = ""

    def start(self, path: Path) -> None:
        """Starts it; its log goes to ``path``. Raises SandboxError (exit 4) where the client node
        cannot run it.
        """
        plan = self._plan
        names = {*dict(plan.write), *dict(plan.read), *(node.name for node in plan.observe)}
        self._nodes = [node for node in self._stack.nodes() if node.name in names]
        self._addresses = addresses_of(self._nodes, self._stack)
        self._path = path
        self._stream = self._begin()
        self._reader = threading.Thread(target=self._read, name="prober", daemon=True)
        self.started = True
        self._reader.start()

    def _begin(self) -> Stream:
        """The process, in the client node."""
        contents = prober_files()
        ship(self._stack, self._client, contents)
        request = json.dumps(self._plan.request(self._addresses))
        return self._stack.stream(
            self._client, ["python3", f"{folder_of(contents)}/prober.py", request]
        )

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended yet."""
        return self.started and not self.ended

    def wait_for_writes(self, count: int = 10) -> None:
        """Until so many writes are acknowledged. Raises SandboxError (exit 4) where they are
        not.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self.acknowledged >= count or self.ended, FIRST_WRITE_LIMIT_S
            )
        if self.acknowledged < count:
            known = (
                self.last_words
                if self.ended
                else f"{self.acknowledged} writes in {FIRST_WRITE_LIMIT_S:.0f} s"
            )
            raise MachineError("the prober's writes are not acknowledged", known, "try: make ps")

    def clock(self) -> ClockOffset:
        """Its clock beside ours: the quickest of five questions (Cristian 1989)."""
        asked = [self._ask_clock(f"c{time.monotonic_ns()}") for _ in range(_CLOCK_QUESTIONS)]
        trip_us, offset_us = min(asked)
        return ClockOffset(offset_us, trip_us / 2)

    def _ask_clock(self, token: str) -> tuple[float, float]:
        sent_ns = time.monotonic_ns()
        self._stream.send(f"clock {token}")
        with self._changed:
            self._changed.wait_for(lambda: token in self._answers or self.ended, CLOCK_LIMIT_S)
        if token not in self._answers:
            raise MachineError("the prober does not answer", self.last_words, "try: make ps")
        at_us, received_ns = self._answers[token]
        return (received_ns - sent_ns) / 1000, at_us - (sent_ns + received_ns) / 2000

    def follow_addresses(self, nodes: Iterable[str]) -> dict[str, str]:
        """Gives it the addresses that have changed among those of some nodes; node → new
        address.
        """
        with self._following:
            known = [node for node in self._nodes if node.name in {*nodes} & {*self._addresses}]
            now = addresses_of(known, self._stack)
            moved = {
                node: address for node, address in now.items() if self._addresses[node] != address
            }
            for node, address in moved.items():
                self._stream.send(f"address {node} {address}")
            self._addresses |= moved
        return moved

    @property
    def last_words(self) -> str:
        """The last text printed that is no line of its log, or why that cannot be written: why it
        ended.
        """
        return self._last or ("it printed nothing" if self.started else "it was not started")

    def stop(self) -> None:
        """Ends it: no new slot, and those in flight come to their end. Harmless when repeated."""
        if not self.ended:
            self._stream.send("stop")
            self._reader.join(END_LIMIT_S)
        self.close()

    def close(self) -> None:
        """Ends it at once. Harmless when repeated."""
        end_stream(self._stream, END_LIMIT_S)
        self._reader.join(END_LIMIT_S)

    def _read(self) -> None:
        try:
            with self._path.open("w", encoding="utf-8") as file:
                for line in self._stream.lines():
                    if line.startswith(HEADER) or line[1:2] == "\t":
                        file.write(line + "\n")
                        if line.startswith((HEADER, "w\t")):
                            self._on_observed(line)
                        self._note(line)
                    elif line.strip():
                        self._hear(line.strip())
        except OSError as error:  # the disk of the results is full
            self._last = f"{self._path}: {error}"
        finally:
            with self._changed:
                self.ended = True
                self._changed.notify_all()

    def _hear(self, line: str) -> None:
        """A line that is not of the log: of Python, or of the engine's client."""
        self._last = line

    def _note(self, line: str) -> None:
        if line.startswith(HEADER):
            self.began_ns = json.loads(line).get("began_ns", 0)
        kind, _, rest = line.partition("\t")
        if kind == "o" and "\tacked\t" in rest:
            self.acknowledged += 1
        elif kind == "c":
            token, _, at_us = rest.partition("\t")
            self._answers[token] = int(at_us), time.monotonic_ns()
        elif kind == "n" and self.writes_at and (moved := _MOVED.search(rest)):
            self.writes_at = moved[1]
        else:
            return
        with self._changed:
            self._changed.notify_all()


def prober_files(*more: str) -> dict[str, str]:
    """The prober's modules, which import each other and are shipped together: name → text.

    ``more``: beginnings of the names of others that use them.
    """
    shipped = files(in_client).iterdir()
    beginnings = ("prober", *more)
    found = [
        file for file in shipped if file.name.startswith(beginnings) and file.name.endswith(".py")
    ]
    found.append(files("sandbox.stack.in_client").joinpath("outcomes.py"))
    return {file.name: file.read_text(encoding="utf-8") for file in found}


def addresses_of(nodes: Iterable[StackNode], stack: RunningStack) -> dict[str, str]:
    """Address of each node that has one now; of a server outside the stack, what the client knows
    it by.
    """
    found = {
        node.name: stack.control(node.name).address() if node.has_container else node.host
        for node in nodes
    }
    return {node: address for node, address in found.items() if address}
