"""Reads the output of a load; that of `engine.lua`: JSON lines of seconds, errors and the summary.
Pure.
"""

import json
import statistics
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from sandbox.load.common.workload import Phase, Second
from sandbox.record.record import KindMetrics, Metrics
from sandbox.stack.client_python import OVERTIME_S, TIMED_OUT

_SUB_BUCKET_BITS = 7

PRECISION_PERCENT = 100 / (1 << _SUB_BUCKET_BITS)
"""Relative precision of a latency: a bucket is exact below 256 µs; then there are 128 for each
doubling.
"""

RESOLUTION_MS = 0.001
"""Buckets hold whole microseconds."""


class LoadOutput(ABC):
    """The output read so far."""

    def __init__(self, phase: Phase) -> None:
        self.phase = phase
        self.tps: list[float] = []
        """Of each second."""
        self.goes_on = False
        """Whether it went on at other members after it had lost one: those errors are no failure of
        it.
        """
        self.last_foreign: str | None = None
        """The last line that was not the script's own: sysbench's message when it fails."""

    @property
    @abstractmethod
    def first_error(self) -> str | None:
        """The first error of a server or of the load; None without one."""

    @abstractmethod
    def failure(self, code: int) -> str | None:
        """Why a load that ended with this exit code counts as failed; None when it does not."""

    @abstractmethod
    def feed(self, line: str) -> Second | None:
        """Reads a line; returns the second that it reports, if any."""

    @abstractmethod
    def errors_by_code(self) -> dict[str, int]:
        """Errors of the phase; a failure without any code counts as one ``unknown``."""

    @abstractmethod
    def figures(self) -> Mapping[str, Any]:
        """The metrics that come from the summary; empty without one."""

    def metrics(self) -> Metrics:
        """Metrics of the phase; without a summary, only the errors."""
        by_code = self.errors_by_code()
        base = Metrics(
            errors=sum(by_code.values()),
            errors_by_code=by_code,
            tps_sd_1s=round(statistics.stdev(self.tps), 2) if len(self.tps) > 1 else None,
            points_1s=len(self.tps),
        )
        return base.model_copy(update=self.figures())


def rates(
    transactions: int, queries: int, reads: float, writes: float, seconds: float
) -> dict[str, float]:
    """What a phase of ``seconds`` did, and how much of it in a second, by the names of
    `Metrics`.
    """
    done = {"tps": transactions, "qps": queries, "reads_per_s": reads, "writes_per_s": writes}
    per_second = {name: round(number / seconds, 2) for name, number in done.items()}
    return {**per_second, "transactions": transactions, "queries": queries, "measured_s": seconds}


def percentile(buckets: Iterable[tuple[float, int]], percent: float) -> float | None:
    """Value at or below which ``percent`` of the events lie (nearest rank, as sysbench counts);
    None without events.

    ``buckets``: (upper value, events), in ascending order.
    """
    counted = list(buckets)
    wanted = max(1, int(sum(count for _, count in counted) * percent / 100 + 0.5))
    seen = 0
    for value, count in counted:
        seen += count
        if seen >= wanted:
            return value
    return None


def upper_us(bucket: int) -> int:
    """Largest value of a bucket of the engine, µs."""
    shift = max(0, (bucket >> _SUB_BUCKET_BITS) - 1)
    return (((bucket - (shift << _SUB_BUCKET_BITS)) + 1) << shift) - 1


class Histogram:
    """Latencies in buckets whose width grows with the value, as HdrHistogram has them; sum and
    maximum are exact.
    """

    def __init__(
        self, counts: Iterable[tuple[int, int]] = (), sum_us: int = 0, max_us: int = 0
    ) -> None:
        self.counts = Counter({int(bucket): int(count) for bucket, count in counts})
        self.sum_us, self.max_us = sum_us, max_us

    def merge(self, other: "Histogram") -> None:
        """Adds the counts of another one."""
        self.counts += other.counts
        self.sum_us += other.sum_us
        self.max_us = max(self.max_us, other.max_us)

    @property
    def count(self) -> int:
        """Values counted."""
        return self.counts.total()

    def percentile_us(self, percent: float) -> float | None:
        """Value at or below which ``percent`` of the values lie, µs; None without values."""
        found = percentile(
            ((upper_us(bucket), count) for bucket, count in sorted(self.counts.items())), percent
        )
        return None if found is None else min(found, self.max_us)

    def latencies(self) -> dict[str, float | None]:
        """Average, percentiles and maximum by the names of `Metrics`, ms; None without values."""
        count = self.count
        figures = {f"p{percent}": self.percentile_us(percent) for percent in (50, 95, 99)}
        figures = {
            "avg": self.sum_us / count if count else None,
            **figures,
            "max": self.max_us if count else None,
        }
        return {
            f"latency_{name}_ms": None if us is None else round(us / 1000, 3)
            for name, us in figures.items()
        }


def parse_line(line: str) -> dict[str, Any] | None:
    """A line of the engine; None for one of sysbench's own."""
    try:
        parsed = json.loads(line)
    except json.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, dict) else None


class EngineOutput(LoadOutput):
    """The output of `engine.lua`."""

    first_error: str | None = None

    def __init__(self, phase: Phase) -> None:
        super().__init__(phase)
        self.errors = 0
        self.summary: dict[str, Any] | None = None

    def failure(self, code: int) -> str | None:
        """With sysbench's message where there is no error of a server."""
        if self.first_error:
            return self.first_error
        if code == TIMED_OUT:
            return f"the load was terminated: still running {OVERTIME_S} s after its time"
        if code or self.summary is None:
            return f"the load failed with exit code {code}: {self.last_foreign or 'no summary'}"
        return None

    def feed(self, line: str) -> Second | None:
        """Every line of the engine is one JSON object; the others are sysbench's."""
        parsed = parse_line(line)
        if parsed is None:
            self.last_foreign = line.strip() or self.last_foreign
        elif "error" in parsed:
            self.first_error = self.first_error or f"error {parsed['error']}: {parsed['message']}"
        elif "summary" in parsed:
            self.summary = parsed["summary"]
        elif "second" in parsed:
            return self._second(parsed)
        return None

    def _second(self, parsed: dict[str, Any]) -> Second:
        self.errors += parsed["errors"]
        self.tps.append(parsed["transactions"])
        reads, writes = parsed["reads"], parsed["writes"]
        return Second(
            phase=self.phase,
            second=parsed["second"],
            threads=parsed["threads"],
            tps=parsed["transactions"],
            qps=reads + writes + parsed["others"],
            reads_per_s=reads,
            writes_per_s=writes,
            p95_ms=None if parsed["p95_us"] is None else parsed["p95_us"] / 1000,
            conflicts_per_s=sum(parsed["conflicts"].values()),
            reconnects_per_s=0,
            errors=self.errors,
        )

    def errors_by_code(self) -> dict[str, int]:
        """As the summary has them."""
        by_code: dict[str, int] = self.summary["errors"] if self.summary else {}
        return by_code or ({"unknown": 1} if self.first_error else {})

    def figures(self) -> Mapping[str, Any]:
        """Kinds that accompany the load stand alone; a load that had no time has no figures.

        Statements beside a load, before or after its seconds, count as sent, and in no rate.
        """
        summary = self.summary
        if summary is None or not summary["seconds"]:
            return {}
        seconds = summary["seconds"]
        kinds = {name: Histogram(**content) for name, content in summary["kinds"].items()}
        merged = Histogram()
        for name in kinds.keys() - {*summary["background"]}:
            merged.merge(kinds[name])
        queries = summary["reads"] + summary["writes"] + summary["others"]
        return {
            **rates(merged.count, queries, summary["reads"], summary["writes"], seconds),
            "queries": queries + summary.get("beside", 0),
            **merged.latencies(),
            "latency_resolution_ms": RESOLUTION_MS,
            "latency_precision_percent": PRECISION_PERCENT,
            "connections": summary["connections"],
            "conflicts": sum(summary["conflicts"].values()),
            "conflicts_by_code": summary["conflicts"],
            "reconnects": 0,
            "by_kind": {
                name: _of_kind(each, seconds, name in summary["background"])
                for name, each in kinds.items()
            },
        }


def _of_kind(histogram: Histogram, seconds: float, background: bool) -> KindMetrics:
    tps = round(histogram.count / seconds, 2)
    return KindMetrics(
        transactions=histogram.count, tps=tps, background=background, **histogram.latencies()
    )
