"""PURE: results in the formats of other tools: Go's benchmark format for benchstat,
github-action-benchmark.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from sandbox.judge.compare import lasted
from sandbox.judge.past_results import Point, Series
from sandbox.judge.unpaired import ResultSide
from sandbox.judge.variants import circumstances
from sandbox.record.metrics import METRICS
from sandbox.record.record import Record
from sandbox.report.text import figure, levels_text, options_text, tables_text

Tool = Literal["customBiggerIsBetter", "customSmallerIsBetter"]


def benchstat_lines(sides: Sequence[ResultSide]) -> Iterator[str]:
    """One line per run that was ok, after the conditions that comparable runs must share.

    https://go.dev/design/14313-benchmark-format: ``key: value`` lines apply to all lines below.
    benchstat compares only lines that agree in them, so properties that two results may differ in
    (versions, commits) follow a ``#``.
    """
    for metric in METRICS.values():
        better = "higher" if metric.higher_is_better else "lower"
        yield f"Unit {metric.export_unit} better={better}"
    text: dict[str, str] = {}
    for side in sides:
        yield ""
        yield from (f"# {key}: {value}" for key, value in _about(side).items())
        cells = side.cells
        for record in side.records:
            if not record.counts or record.cell not in cells or not (values := _values(record)):
                continue
            for key, value in _conditions(side, record).items():
                if text.get(key) != value:
                    text[key] = value
                    yield f"{key}: {value}"
            yield (
                f"{_name(side, record, cells[record.cell])} {record.metrics.transactions or 1}"
                f" {' '.join(values)}"
            )


def _about(side: ResultSide) -> dict[str, str]:
    versions = dict.fromkeys(
        node.server_version
        for record in side.records
        for node in record.nodes
        if node.server_version
    )
    still_open = Counter(name for run in side.runs if run.status == "ok" for name in run.censored)
    left_out = {
        "left out, still open": ", ".join(f"{name} of {n} runs" for name, n in still_open.items())
    }
    return {
        "result": side.name,
        "profile": side.manifest.profile,
        "servers": ", ".join(versions) or "unknown",
        "tool commit": side.manifest.tool_commit or "unknown",
        "measured": f"{side.manifest.started_utc:%Y-%m-%dT%H:%M:%SZ}",
        **(left_out if still_open else {}),
    }


def _conditions(side: ResultSide, record: Record) -> dict[str, str]:
    """The conditions under which runs are comparable."""
    load = record.workload
    keys = _one_line(load.distribution or "no one distribution")
    return {
        "host": _one_line(side.host_class or "unknown"),
        "workload": _one_line(load.name),
        "seconds": str(load.seconds),
        "warmup-seconds": str(load.warmup_s),
        "data": ", ".join(filter(None, (tables_text(load), keys))),
        "options": _one_line(options_text(load)) or "none",
        **{name: _one_line(text) for name, text in circumstances(record).items()},
    }


def _name(side: ResultSide, record: Record, levels: Mapping[str, str]) -> str:
    """``BenchmarkQuick/durability=off/threads=16``; no spaces, and no ``-16`` at the end
    (processors).
    """
    part = side.manifest.matrix
    text = levels if part else {"threads": str(record.workload.threads)}
    words = re.split(r"[^A-Za-z0-9]+", part.name if part else record.workload.name)
    title = "".join(word[:1].upper() + word[1:] for word in words) or "Run"
    parts = (re.sub(r"[\s/]+", "_", f"{factor}={level}") for factor, level in text.items())
    return re.sub(r"-(\d+)$", r"_\1", "/".join([f"Benchmark{title}", *parts]))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _values(record: Record) -> list[str]:
    """Without those that are only known to be at least so much: the format has no word for it."""
    return [
        f"{found[0] * metric.export_factor:.9g} {metric.export_unit}"
        for metric in METRICS.values()
        if (found := lasted(record, metric.name)) is not None and not found[1]
    ]


def tool_of(metrics: Sequence[str]) -> Tool | None:
    """Value for the action's ``tool``; None for metrics of both directions: a file has only one
    tool.
    """
    directions = {METRICS[name].higher_is_better for name in metrics}
    if len(directions) != 1:
        return None
    return "customBiggerIsBetter" if directions.pop() else "customSmallerIsBetter"


def entries(title: str, series: Sequence[Series]) -> list[dict[str, Any]]:
    """``[{name, unit, value, range?, extra}]``: the newest point of each series.

    ``range``: reach of the 95 % interval on its wider side; absent below six blocks, and where it
    is open.
    """
    return [_entry(title, each, each.points[-1]) for each in series if each.points]


def _entry(title: str, series: Series, point: Point) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": f"{title}: {levels_text(series.levels)}: {series.metric.name}",
        "unit": series.metric.unit,
        "value": float(f"{point.value:.6g}"),
    }
    extra = [
        f"result: {point.result}",
        f"server: {point.version or 'unknown'}",
        f"runs: {point.runs}",
    ]
    if point.interval:
        low, high = point.interval
        if high is not None:
            entry["range"] = f"± {figure(max(point.value - low, high - point.value), '')}"
        extra.append(f"95 % interval: {low:.6g} to {'open' if high is None else f'{high:.6g}'}")
    if point.open_trials:
        least = "; the value is at least this" if point.at_least else ""
        extra.append(f"still open at the end: {point.open_trials} trials{least}")
    if point.unfit:
        extra.append("unfit: the canary differs from its baseline")
    return entry | {"extra": "\n".join(extra)}
