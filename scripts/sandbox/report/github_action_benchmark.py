"""PURE: a result in the input format of github-action-benchmark, one entry per cell and metric."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from sandbox.results.history import Point, Series
from sandbox.results.statistics.metrics import METRICS

Tool = Literal["customBiggerIsBetter", "customSmallerIsBetter"]


def tool_of(metrics: Sequence[str]) -> Tool | None:
    """Value for the action's ``tool``; None for metrics of both directions: a file has only one tool."""
    directions = {METRICS[name].higher_is_better for name in metrics}
    if len(directions) != 1:
        return None
    return "customBiggerIsBetter" if directions.pop() else "customSmallerIsBetter"


def entries(title: str, series: Sequence[Series]) -> list[dict[str, Any]]:
    """``[{name, unit, value, range?, extra}]``: the newest point of each series.

    ``range``: reach of the 95 % interval on its wider side; absent below six blocks.
    """
    return [entry for each in series for entry in _entry(title, each)]


def _entry(title: str, series: Series) -> Iterator[dict[str, Any]]:
    if not series.points:
        return
    point = series.points[-1]
    levels = ", ".join(f"{factor} {level}" for factor, level in series.levels.items())
    entry: dict[str, Any] = {
        "name": f"{title}: {levels}: {series.metric.name}",
        "unit": series.metric.unit,
        "value": float(f"{point.value:.6g}"),
    }
    if point.interval:
        entry["range"] = f"± {max(point.value - point.interval[0], point.interval[1] - point.value):.4g}"
    yield entry | {"extra": _extra(point)}


def _extra(point: Point) -> str:
    lines = [f"result: {point.result}", f"server: {point.version or 'unknown'}", f"runs: {point.runs}"]
    if point.interval:
        lines.append(f"95 % interval: {point.interval[0]:.6g} to {point.interval[1]:.6g}")
    if point.unfit:
        lines.append("unfit: the canary differs from its baseline")
    return "\n".join(lines)
