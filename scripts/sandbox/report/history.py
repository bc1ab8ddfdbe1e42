"""PURE: what is said about all results of one matrix or bench over time."""

from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.judge.changes import FEWEST
from sandbox.judge.past_results import History, Point, Series
from sandbox.record.metrics import Metric
from sandbox.report.document import (
    Column,
    Document,
    Notes,
    Part,
    Row,
    Said,
    Section,
    Table,
    TableCell,
)
from sandbox.report.text import UNKNOWN, cut, figure, levels_text, p_text, shown, value_text

_MOST_VERSION = 26
_COLUMNS = [
    Column("measured (UTC)"),
    Column("server"),
    Column("tool"),
    Column("n", number=True),
    Column("value", number=True),
    Column("95 % interval", number=True),
    Column(""),
]


def history_document(history: History) -> Document:
    """The subject, one table for each metric and cell, and the results left out.

    Where the history changed, a line before the result describes the change.
    """
    parts: list[Part] = [_table(series) for series in history.series]
    host = Said(f"host: {history.newest.host_class or UNKNOWN}")
    return Document(
        Said(_subject(history)), [Section([*parts, Notes.of(_notes(history))])], about=[host]
    )


def _table(series: Series) -> Table:
    metric = series.metric
    better = "higher" if metric.higher_is_better else "lower"
    levels = levels_text(series.levels)
    title = f"{metric.name} ({metric.unit}, {better} is better), {levels}"
    return Table(_COLUMNS, [_row(metric, each) for each in series.points], title)


def _change(metric: Metric, point: Point) -> str:
    """That it is better or worse from this result on, by how much; empty where nothing changed."""
    change = point.change
    if change is None:
        return ""
    word = "better" if metric.improves(change.effect) else "worse"
    p = p_text(change.p)
    known = p if p.startswith("<") else f"= {p}"
    return f"-- {word} from here on: {shown(metric, change.effect)} (p {known})"


def _notes(history: History) -> Iterator[str]:
    for result, reason in history.left_out.items():
        yield f"left out: {result}: {reason}"
    if any(len(series.points) < FEWEST for series in history.series):
        yield f"change detection needs at least {FEWEST} results"


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
    manifest = history.newest.manifest
    return (
        f"{manifest.kind} of {manifest.profile}: {load.name}, {load.threads} threads,"
        f" {load.seconds} s"
    )


def _row(metric: Metric, point: Point) -> Row:
    commit = point.tool_commit or ""
    changed = "+" if commit.endswith("+") else ""
    interval = " … ".join(
        "open" if end is None else figure(end, "") for end in point.interval or ()
    )
    marks = [f"{point.open_trials} open"] if point.open_trials else []
    if point.unfit:
        marks.append("unfit")
    first = [f"{point.started_utc:%Y-%m-%d %H:%M}", cut(point.version or UNKNOWN, _MOST_VERSION)]
    value = TableCell(value_text(point.value, point.at_least), point.value)
    runs = TableCell(str(point.runs), point.runs)
    texts: list[str | TableCell] = [
        *first,
        commit[:7] + changed,
        runs,
        value,
        interval,
        ", ".join(marks),
    ]
    return Row.of(texts, mark=_change(metric, point))


def _point(metric: Metric, point: Point) -> Mapping[str, Any]:
    change = point.change
    return {
        "result": point.result,
        "started_utc": point.started_utc.isoformat().replace("+00:00", "Z"),
        "server_version": point.version,
        "tool_commit": point.tool_commit,
        "runs": point.runs,
        "value": point.value,
        "at_least": point.at_least,
        "open_trials": point.open_trials,
        "interval_95": list(point.interval) if point.interval else None,
        "unfit": point.unfit,
        "change": (
            change
            and {
                "effect": metric.shown(change.effect),
                "p": change.p,
                "better": metric.improves(change.effect),
            }
        ),
    }
