"""Parses the output of sysbench 1.0: one-second lines, errors, histogram, summary. Pure."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from sandbox.workloads.common.in_client import OVERTIME_S, TIMED_OUT
from sandbox.workloads.common.load_output import LoadOutput, percentile, rates
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
_CONFLICTS = re.compile(r"conflicts of code (\d+): (\d+)$")
_TOTALS = "read|write|total|transactions|queries|ignored errors|reconnects|avg|max|total time"
_TOTAL = re.compile(rf"\s+({_TOTALS}): +{_NUMBER}")


def parse_second(line: str, phase: Phase, errors: int) -> Second | None:
    """One line of ``--report-interval=1``; None for any other line. ``errors`` is the count so far."""
    match = _SECOND.match(line)
    if match is None:
        return None
    second, threads = int(match[1]), int(match[2])
    tps, qps, reads, writes, _, p95, conflicts, reconnects = (float(group) for group in match.groups()[2:])
    return Second(phase, second, threads, tps, qps, reads, writes, p95, conflicts, reconnects, errors)


class SysbenchOutput(LoadOutput):
    """The output of a script that prints sysbench's own report; a repeated message is printed once, then a count."""

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
        totals, seconds = self._totals, self._totals["total time"]
        transactions = int(totals["transactions"])
        # sysbench counts the loss of a member as an ignored error, too.
        conflicts = self._conflicts.total() if self.goes_on else int(totals["ignored errors"])
        return {
            **rates(transactions, int(totals["total"]), totals["read"], totals["write"], seconds),
            "latency_avg_ms": totals["avg"] if transactions else None,
            **{f"latency_p{percent}_ms": percentile(self.buckets, percent) for percent in (50, 95, 99)},
            "latency_max_ms": totals["max"] if transactions else None,
            "latency_resolution_ms": HISTOGRAM_RESOLUTION_MS,
            "latency_precision_percent": HISTOGRAM_PRECISION_PERCENT,
            "conflicts": conflicts,
            "conflicts_by_code": dict(self._conflicts) or None,
            "reconnects": int(totals["reconnects"]),
        }
