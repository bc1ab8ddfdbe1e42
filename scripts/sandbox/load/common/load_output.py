"""The output of a load: sysbench's own report, or the JSON lines of `engine.lua`. Pure."""

import json
import re
import statistics
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from sandbox.load.common.workload import (
    Phase,
    Second,
)
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
    """The work of a phase of ``seconds``, in all and in a second, by the names of `Metrics`."""
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
        self.sum_us = sum_us
        self.max_us = max_us

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
            reconnects_per_s=parsed.get("reconnects", 0),
            errors=self.errors,
        )

    def errors_by_code(self) -> dict[str, int]:
        """Errors by code, as the summary has them."""
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
            "reconnects": summary.get("reconnects", 0),
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


# sysbench.c keeps 1024 buckets from 0.001 ms to 100 s at equal ratios (sb_histogram_init).
HISTOGRAM_PRECISION_PERCENT = round(100 * ((100_000 / 0.001) ** (1 / 1023) - 1), 2)
HISTOGRAM_RESOLUTION_MS = 0.001
"""Buckets are printed with three decimals."""
_NUMBER = r"([0-9.]+)"
_SECOND = re.compile(
    rf"\[ (\d+)s \] thds: (\d+) tps: {_NUMBER} qps: {_NUMBER} \(r/w/o:"
    rf" {_NUMBER}/{_NUMBER}/{_NUMBER}\)"
    rf" lat \(ms,\d+%\): {_NUMBER} err/s: {_NUMBER} reconn/s: {_NUMBER}"
)
_CODED = re.compile(r"FATAL: (?:.* returned error|error) (\d+)\b")
_REPEATED = re.compile(r"\(last message repeated (\d+) times\)")
_BUCKET = re.compile(r"\s*([0-9.]+) \|\**\s+(\d+)$")
_CONFLICTS = re.compile(r"conflicts of code (\d+): (\d+)$")
_TOTALS = "read|write|total|transactions|queries|ignored errors|reconnects|avg|max|total time"
_TOTAL = re.compile(rf"\s+({_TOTALS}): +{_NUMBER}")


def parse_second(line: str, phase: Phase, errors: int) -> Second | None:
    """One line of ``--report-interval=1``; None for any other line. ``errors`` is the count so
    far.
    """
    match = _SECOND.match(line)
    if match is None:
        return None
    second, threads = int(match[1]), int(match[2])
    tps, qps, reads, writes, _, p95, conflicts, reconnects = (
        float(group) for group in match.groups()[2:]
    )
    return Second(
        phase, second, threads, tps, qps, reads, writes, p95, conflicts, reconnects, errors
    )


class SysbenchOutput(LoadOutput):
    """The output of a script that prints sysbench's own report; a repeated message is printed once,
    then a count.
    """

    def __init__(self, phase: Phase) -> None:
        super().__init__(phase)
        self.buckets: list[tuple[float, int]] = []
        """Of the histogram: upper value in ms, events."""
        self._totals: dict[str, float] = {}
        self._by_code: Counter[str] = Counter()
        self._conflicts: Counter[str] = Counter()
        """By code, where the script counts them (conflict_codes.lua)."""
        self._last_code: str | None = None
        self._first: str | None = None
        self._first_coded: str | None = None

    @property
    def first_error(self) -> str | None:
        """The first error with a code, else the first one, which is usually a consequence."""
        return self._first_coded or self._first

    @property
    def is_whole(self) -> bool:
        """Whether it has a summary: the script ended, and it sent a statement."""
        return {"max", "total time", "queries"} <= self._totals.keys()

    def feed(self, line: str) -> Second | None:
        """A second, an error, or a line of the report."""
        self._count_error(line)
        second = parse_second(line, self.phase, self._by_code.total())
        if second:
            self.tps.append(second.tps)
        elif bucket := _BUCKET.match(line):
            self.buckets.append((float(bucket[1]), int(bucket[2])))
        elif conflicts := _CONFLICTS.match(line):
            self._conflicts[conflicts[1]] += int(conflicts[2])
        elif total := _TOTAL.match(line):
            self._totals.setdefault(total[1], float(total[2]))
        return second

    def _count_error(self, line: str) -> None:
        if repeated := _REPEATED.match(line):
            if self._last_code:
                self._by_code[self._last_code] += int(repeated[1])
            return
        coded = _CODED.match(line)
        self._last_code = coded[1] if coded else None
        if self._last_code:
            self._by_code[self._last_code] += 1
            self._first_coded = self._first_coded or line
        elif line.startswith("FATAL:"):
            self._first = self._first or line

    def failure(self, code: int) -> str | None:
        """The first error, else how sysbench ended."""
        if self.first_error and not (self.goes_on and self.is_whole):
            return self.first_error
        if code == TIMED_OUT:
            return f"sysbench was terminated: still running {OVERTIME_S} s after its time"
        if code or not self.is_whole:
            return f"sysbench exited with code {code} and printed no statement summary"
        return None

    def errors_by_code(self) -> dict[str, int]:
        """A failure without any code counts as one ``unknown``."""
        return dict(self._by_code) or ({"unknown": 1} if self._first else {})

    def figures(self) -> Mapping[str, Any]:
        """Percentiles come from the histogram."""
        if not self.is_whole:
            return {}
        totals = self._totals
        seconds = self._totals["total time"]
        transactions = int(totals["transactions"])
        # sysbench counts the loss of a member as an ignored error, too.
        conflicts = self._conflicts.total() if self.goes_on else int(totals["ignored errors"])
        return {
            **rates(transactions, int(totals["total"]), totals["read"], totals["write"], seconds),
            "latency_avg_ms": totals["avg"] if transactions else None,
            **{
                f"latency_p{percent}_ms": percentile(self.buckets, percent)
                for percent in (50, 95, 99)
            },
            "latency_max_ms": totals["max"] if transactions else None,
            "latency_resolution_ms": HISTOGRAM_RESOLUTION_MS,
            "latency_precision_percent": HISTOGRAM_PRECISION_PERCENT,
            "conflicts": conflicts,
            "conflicts_by_code": dict(self._conflicts) or None,
            "reconnects": int(totals["reconnects"]),
        }
