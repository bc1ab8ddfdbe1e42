"""Counts what a load does as it happens: by kind of transaction, since the last `take`."""

import threading
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from sandbox.workloads.in_client.connection import Sent
from sandbox.workloads.in_client.histogram import Histogram


@dataclass
class Tally:
    """Counts of a period. ``background``: kinds that accompany the load and are not part of its results."""

    kinds: dict[str, Histogram] = field(default_factory=dict)
    background: set[str] = field(default_factory=set)
    sent: Sent = field(default_factory=Sent)
    conflicts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    messages: dict[str, str] = field(default_factory=dict)
    """The first message of each error, by its code."""

    def merge(self, other: "Tally") -> None:
        """Adds the counts of another one."""
        for kind, histogram in other.kinds.items():
            self.kinds.setdefault(kind, Histogram()).merge(histogram)
        self.background |= other.background
        self.sent.add(other.sent)
        self.conflicts.update(other.conflicts)
        self.errors.update(other.errors)
        self.messages = {**other.messages, **self.messages}

    @property
    def latencies(self) -> Histogram:
        """Latencies of every transaction that is part of the results."""
        merged = Histogram()
        for kind, histogram in self.kinds.items():
            if kind not in self.background:
                merged.merge(histogram)
        return merged

    def second_json(self, second: int, threads: int) -> dict[str, Any]:
        """One second of load, as printed; ``errors``: counts by code, of that second."""
        latencies = self.latencies
        return {
            "second": second,
            "threads": threads,
            "transactions": latencies.count,
            **asdict(self.sent),
            "p95_us": latencies.percentile_us(95),
            "conflicts": dict(self.conflicts),
            "errors": dict(self.errors),
        }

    def summary_json(self, seconds: float) -> dict[str, Any]:
        """The whole load, as printed at its end; ``seconds``: how long it took."""
        return {
            "seconds": round(seconds, 4),
            **asdict(self.sent),
            "conflicts": dict(self.conflicts),
            "errors": dict(self.errors),
            "background": sorted(self.background),
            "kinds": {kind: histogram.as_json() for kind, histogram in sorted(self.kinds.items())},
        }


class Recorder:
    """Counts of the threads of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tally = Tally()

    def done(self, kind: str, latency_us: int, counted: bool) -> None:
        """Counts a completed transaction."""
        with self._lock:
            tally = self._tally
            histogram = tally.kinds.get(kind)
            if histogram is None:
                histogram = tally.kinds.setdefault(kind, Histogram())
            if not counted:
                tally.background.add(kind)
            histogram.add(latency_us)

    def sent(self, sent: Sent) -> None:
        """Counts what was sent to the server, whatever its outcome."""
        with self._lock:
            self._tally.sent.add(sent)

    def conflict(self, code: str) -> None:
        """Counts an expected rollback."""
        with self._lock:
            self._tally.conflicts[code] += 1

    def error(self, code: str, message: str) -> None:
        """Counts an unexpected error, and keeps its first message."""
        with self._lock:
            self._tally.errors[code] += 1
            self._tally.messages.setdefault(code, message)

    def take(self) -> Tally:
        """Returns the counts since the last call."""
        with self._lock:
            taken, self._tally = self._tally, Tally()
        return taken
