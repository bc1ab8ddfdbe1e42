"""Parses the output of sysbench 1.0: one-second lines, errors, histogram, summary. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.workloads.common.execution import OVERTIME_S, TIMED_OUT
from sandbox.workloads.common.load_output import LoadOutput, percentile
from sandbox.workloads.common.model import Phase, Second

# sysbench.c keeps 1024 buckets from 0.001 ms to 100 s at equal ratios (sb_histogram_init).
HISTOGRAM_PRECISION_PERCENT = round(100 * ((100_000 / 0.001) ** (1 / 1023) - 1), 2)

HISTOGRAM_RESOLUTION_MS = 0.001
"""Buckets are printed with three decimals."""

IGNORED_BY_DEFAULT = (1213, 1020, 1205)
"""Errors after which sysbench restarts the transaction by default."""

_NUMBER = r"([0-9.]+)"
_SECOND = re.compile(
    rf"\[ (\d+)s \] thds: (\d+) tps: {_NUMBER} qps: {_NUMBER} \(r/w/o: {_NUMBER}/{_NUMBER}/{_NUMBER}\)"
    rf" lat \(ms,\d+%\): {_NUMBER} err/s: {_NUMBER} reconn/s: {_NUMBER}"
)
_CODED = re.compile(r"FATAL: (?:.* returned error|error) (\d+)\b")
_REPEATED = re.compile(r"\(last message repeated (\d+) times\)")
_BUCKET = re.compile(r"\s*([0-9.]+) \|\**\s+(\d+)$")
_TOTALS = "read|write|total|transactions|queries|ignored errors|reconnects|avg|max|total time"
_TOTAL = re.compile(rf"\s+({_TOTALS}): +{_NUMBER}")


@dataclass(frozen=True, slots=True)
class Summary:
    """The results of a finished run. Latency in ms; ``buckets`` are (upper value in ms, events)."""

    reads: int
    writes: int
    queries: int
    transactions: int
    conflicts: int
    reconnects: int
    total_s: float
    latency_avg_ms: float
    latency_max_ms: float
    buckets: tuple[tuple[float, int], ...]


def parse_second(line: str, phase: Phase, errors: int) -> Second | None:
    """One line of ``--report-interval=1``; None for any other line. ``errors`` is the count so far."""
    match = _SECOND.match(line)
    if match is None:
        return None
    second, threads = int(match[1]), int(match[2])
    tps, qps, reads, writes, _, p95, conflicts, reconnects = (float(group) for group in match.groups()[2:])
    return Second(phase, second, threads, tps, qps, reads, writes, p95, conflicts, reconnects, errors)


class ErrorCount:
    """Errors by code, fed line by line: sysbench prints a repeated message once, with a count after it."""

    def __init__(self) -> None:
        self.by_code: Counter[str] = Counter()
        self._last: str | None = None
        self._first: str | None = None
        self._first_coded: str | None = None

    @property
    def first_fatal(self) -> str | None:
        """The first error with a code, else the first one, which is usually a consequence."""
        return self._first_coded or self._first

    def feed(self, line: str) -> None:
        """Counts the error in a line, if any."""
        repeated = _REPEATED.match(line)
        if repeated:
            if self._last:
                self.by_code[self._last] += int(repeated[1])
            return
        coded = _CODED.match(line)
        self._last = coded[1] if coded else None
        if self._last:
            self.by_code[self._last] += 1
            self._first_coded = self._first_coded or line
        elif line.startswith("FATAL:"):
            self._first = self._first or line

    def counted(self) -> dict[str, int]:
        """Errors by code; a failure without any code counts as one ``unknown``."""
        if not self.by_code and self._first:
            return {"unknown": 1}
        return dict(self.by_code)


def parse_summary(lines: Iterable[str]) -> Summary | None:
    """Summary and histogram of a finished run; None when it did not get that far, or sent no statement."""
    buckets: list[tuple[float, int]] = []
    found: dict[str, float] = {}
    for line in lines:
        bucket = _BUCKET.match(line)
        total = _TOTAL.match(line)
        if bucket:
            buckets.append((float(bucket[1]), int(bucket[2])))
        elif total:
            found.setdefault(total[1], float(total[2]))
    if not {"max", "total time", "queries"} <= found.keys():
        return None
    return Summary(
        reads=int(found["read"]),
        writes=int(found["write"]),
        queries=int(found["total"]),
        transactions=int(found["transactions"]),
        conflicts=int(found["ignored errors"]),
        reconnects=int(found["reconnects"]),
        total_s=found["total time"],
        latency_avg_ms=found["avg"],
        latency_max_ms=found["max"],
        buckets=tuple(buckets),
    )


class SysbenchOutput(LoadOutput):
    """The output of a script that prints sysbench's own report."""

    def __init__(self, phase: Phase) -> None:
        super().__init__(phase)
        self._errors = ErrorCount()
        self._rest: list[str] = []

    @property
    def first_error(self) -> str | None:
        """The first fatal one."""
        return self._errors.first_fatal

    def feed(self, line: str) -> Second | None:
        """Reads a line; returns the second that it reports, if any."""
        self._errors.feed(line)
        second = parse_second(line, self.phase, self._errors.by_code.total())
        if second is None:
            self._rest.append(line)
        else:
            self.tps.append(second.tps)
        return second

    def failure(self, code: int) -> str | None:
        """The first error, else how sysbench ended."""
        if self.first_error:
            return self.first_error
        if code == TIMED_OUT:
            return f"sysbench was terminated: still running {OVERTIME_S} s after its time"
        if code or parse_summary(self._rest) is None:
            return f"sysbench exited with code {code} and printed no statement summary"
        return None

    def errors_by_code(self) -> dict[str, int]:
        """As `ErrorCount` counts them."""
        return self._errors.counted()

    def figures(self) -> Mapping[str, Any]:
        """Percentiles come from the histogram."""
        summary = parse_summary(self._rest)
        if summary is None:
            return {}
        seconds, events = summary.total_s, summary.transactions > 0
        return {
            "tps": round(summary.transactions / seconds, 2),
            "qps": round(summary.queries / seconds, 2),
            "reads_per_s": round(summary.reads / seconds, 2),
            "writes_per_s": round(summary.writes / seconds, 2),
            "latency_avg_ms": summary.latency_avg_ms if events else None,
            **{f"latency_p{percent}_ms": percentile(summary.buckets, percent) for percent in (50, 95, 99)},
            "latency_max_ms": summary.latency_max_ms if events else None,
            "latency_resolution_ms": HISTOGRAM_RESOLUTION_MS,
            "latency_precision_percent": HISTOGRAM_PRECISION_PERCENT,
            "transactions": summary.transactions,
            "queries": summary.queries,
            "measured_s": summary.total_s,
            "conflicts": summary.conflicts,
            "reconnects": summary.reconnects,
        }
