"""PURE: a history as lines of at most 100 columns, and as data."""

from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.report.text import UNKNOWN, cut, figure, levels_text, p_text, shown, text_table, wrapped
from sandbox.results.history import History, Point, Series
from sandbox.results.statistics.changes import FEWEST, ChangePoint
from sandbox.results.statistics.metrics import Metric

_HEADER = ("measured (UTC)", "server", "tool", "n", "value", "95 % interval", "")
_MOST_VERSION = 26


def history_lines(history: History) -> list[str]:
    """The subject, one table for each metric and cell, and the results left out."""
    lines = wrapped(_subject(history), indent="")
    lines += [*wrapped(f"host: {history.newest.host_class or UNKNOWN}", indent=""), ""]
    for series in history.series:
        metric, better = series.metric, "higher is better" if series.metric.higher_is_better else "lower is better"
        name = f"{metric.name} ({metric.unit}, {better}), {levels_text(series.levels)}"
        lines += [*wrapped(name, indent=""), *_table(series), ""]
    for result, reason in history.left_out.items():
        lines += wrapped(f"left out: {result}: {reason}")
    if any(len(series.points) < FEWEST for series in history.series):
        lines.append(f"change detection needs at least {FEWEST} results")
    return lines


def history_data(history: History) -> dict[str, Any]:
    """The same as JSON data; a change's effect as a share for ratios, else in the metric's unit."""
    return {
        "subject": _subject(history),
        "host_class": history.newest.host_class,
        "series": [
            {
                "metric": series.metric.name,
                "unit": series.metric.unit,
                "levels": dict(series.levels),
                "points": [_point(series.metric, each) for each in series.points],
            }
            for series in history.series
        ],
        "left_out": dict(history.left_out),
    }


def _subject(history: History) -> str:
    part = history.newest.manifest.matrix
    if part:
        return f"matrix {part.name}: {part.question}"
    load = history.newest.records[0].workload
    return f"bench of {history.newest.manifest.profile}: {load.name}, {load.threads} threads, {load.seconds} s"


def _table(series: Series) -> Sequence[str]:
    """One row per result; where the history changed, a line before the result describes the change."""
    head, *rows = text_table(_HEADER, [_row(each) for each in series.points])
    lines = [f"  {head}"]
    for row, point in zip(rows, series.points, strict=True):
        if point.change:
            lines.append(f"  -- {_change(series.metric, point.change)}")
        lines.append(f"  {row}")
    return lines


def _change(metric: Metric, change: ChangePoint) -> str:
    word = "better" if metric.improves(change.effect) else "worse"
    p = p_text(change.p)
    return f"{word} from here on: {shown(metric, change.effect)} (p {p if p.startswith('<') else f'= {p}'})"


def _row(point: Point) -> Sequence[str]:
    version = cut(point.version or UNKNOWN, _MOST_VERSION)
    interval = " … ".join(figure(end, "") for end in point.interval or ())
    commit = point.tool_commit or ""
    return (
        f"{point.started_utc:%Y-%m-%d %H:%M}", version, commit[:7] + ("+" if commit.endswith("+") else ""),
        str(point.runs), figure(point.value, ""), interval, "unfit" if point.unfit else "",
    )  # fmt: skip


def _point(metric: Metric, point: Point) -> Mapping[str, Any]:
    change = point.change
    return {
        "result": point.result,
        "started_utc": point.started_utc.isoformat().replace("+00:00", "Z"),
        "server_version": point.version,
        "tool_commit": point.tool_commit,
        "runs": point.runs,
        "value": point.value,
        "interval_95": list(point.interval) if point.interval else None,
        "unfit": point.unfit,
        "change": change
        and {"effect": metric.shown(change.effect), "p": change.p, "better": metric.improves(change.effect)},
    }
