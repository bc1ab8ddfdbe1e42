"""PURE: the noise of a host as a calibration found it, as text and as data."""

from collections.abc import Mapping
from typing import Any

from sandbox.judge.verdict import margin_of
from sandbox.record.metrics import METRICS, PROCESSOR_TIME
from sandbox.report.text import text_table

_SHOWN = (*PROCESSOR_TIME, "tps", "latency_avg_ms", "latency_p95_ms", "latency_p99_ms")
_BLOCKS = (6, 8, 16)


def noise_lines(kind: str, pairs: int, sds: Mapping[str, float]) -> list[str]:
    """By metric, the sd of one pair, and from which difference on one counts."""
    header = ("metric", "sd of one pair", *(f"counts from, n = {blocks}" for blocks in _BLOCKS))
    rows = []
    for name in _SHOWN:
        if name in sds and METRICS[name].scale == "ratio":
            rows.append(_row(name, sds[name]))
    table = text_table(header, rows)
    return [f"{kind}, {pairs} pairs", *(f"  {line}" for line in table)]


def _row(name: str, sd: float) -> list[str]:
    metric = METRICS[name]
    margins = [metric.shown(margin_of(metric, sd, blocks)) for blocks in _BLOCKS]
    return [name, f"{sd:.3f}", *(f"{margin:.1%}" for margin in margins)]


def noise_data(kind: str, pairs: int, sds: Mapping[str, float], file: str) -> dict[str, Any]:
    """The same as JSON data. ``file``: where it is kept."""
    return {"kind": kind, "pairs": pairs, "sd": dict(sds), "file": file}
