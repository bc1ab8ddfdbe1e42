"""Parses the output of `engine.lua`: JSON lines of seconds, errors and the summary. Pure."""

import json
import statistics
from dataclasses import dataclass, field
from typing import Any

from sandbox.results.record import KindMetrics, Metrics
from sandbox.workloads.common.histogram import PRECISION_PERCENT, RESOLUTION_MS, Histogram
from sandbox.workloads.common.model import Phase, Second


def parse_line(line: str) -> dict[str, Any] | None:
    """A line of the engine; None for one of sysbench's own."""
    try:
        parsed = json.loads(line)
    except json.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, dict) else None


@dataclass
class LoadOutput:
    """The output read so far."""

    phase: Phase
    tps: list[float] = field(default_factory=list)
    errors: int = 0
    first_error: str | None = None
    last_foreign: str | None = None
    """The last line that was not the engine's: sysbench's message when it fails."""
    summary: dict[str, Any] | None = None

    def feed(self, line: str) -> Second | None:
        """Reads a line; returns the second that it reports, if any."""
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

    def metrics(self) -> Metrics:
        """Metrics of the phase; only the errors for a load that had no time or printed no summary."""
        summary = self.summary
        by_code = summary["errors"] if summary else {}
        if not by_code and self.first_error:
            by_code = {"unknown": 1}
        base = Metrics(
            errors=sum(by_code.values()),
            errors_by_code=by_code,
            tps_sd_1s=round(statistics.stdev(self.tps), 2) if len(self.tps) > 1 else None,
            points_1s=len(self.tps),
        )
        return base.model_copy(update=_figures(summary)) if summary and summary["seconds"] else base


def _figures(summary: dict[str, Any]) -> dict[str, Any]:
    seconds = summary["seconds"]
    kinds = {name: Histogram.from_json(**content) for name, content in summary["kinds"].items()}
    merged = Histogram()
    for name, histogram in kinds.items():
        if name not in summary["background"]:
            merged.merge(histogram)
    queries = summary["reads"] + summary["writes"] + summary["others"]
    return {
        "tps": round(merged.count / seconds, 2),
        "qps": round(queries / seconds, 2),
        "reads_per_s": round(summary["reads"] / seconds, 2),
        "writes_per_s": round(summary["writes"] / seconds, 2),
        **_latencies(merged),
        "latency_resolution_ms": RESOLUTION_MS,
        "latency_precision_percent": PRECISION_PERCENT,
        "transactions": merged.count,
        "queries": queries,
        "connections": summary["connections"],
        "measured_s": seconds,
        "conflicts": sum(summary["conflicts"].values()),
        "conflicts_by_code": summary["conflicts"],
        "reconnects": 0,
        "by_kind": {
            name: KindMetrics(
                transactions=histogram.count,
                tps=round(histogram.count / seconds, 2),
                background=name in summary["background"],
                **_latencies(histogram),
            )
            for name, histogram in kinds.items()
        },
    }


def _latencies(histogram: Histogram) -> dict[str, float | None]:
    count = histogram.count
    percentiles = {f"latency_p{percent}_ms": _ms(histogram.percentile_us(percent)) for percent in (50, 95, 99)}
    return {
        "latency_avg_ms": _ms(histogram.sum_us / count) if count else None,
        **percentiles,
        "latency_max_ms": _ms(histogram.max_us) if count else None,
    }


def _ms(value_us: float | None) -> float | None:
    return None if value_us is None else round(value_us / 1000, 3)
