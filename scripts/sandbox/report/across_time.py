"""PURE: results of different times, as lines of at most 100 columns and as data: two compared, and a history."""

from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.judge.changes import FEWEST, Shift
from sandbox.judge.compare import unsteady_cells
from sandbox.judge.past_results import History, Point
from sandbox.judge.unpaired import Differences, ResultSide, Unpaired, UnpairedVerdict, data_of
from sandbox.record.metrics import Metric
from sandbox.report.censored_text import bounds_data, bounds_text
from sandbox.report.rendering import rendered_lines
from sandbox.report.text import UNKNOWN, WIDTH, cut, figure, text_table
from sandbox.report.verdict_table import (
    FIGURES,
    RUNS,
    figures_text,
    judgement_data,
    margins_by_workload,
    noise_data,
    unsteady_data,
    unsteady_text,
)

_MOST_VARIABLES = 10
_HISTORY_HEADER = ("measured (UTC)", "server", "tool", "n", "value", "95 % interval", "")
_MOST_VERSION = 26


def unpaired_lines(first: ResultSide, second: ResultSide, compared: Unpaired, differences: Differences) -> list[str]:
    """Both results, what else differs, one table per metric, notes."""
    tables = {}
    for metric in dict.fromkeys(verdict.metric for verdict in compared.verdicts):
        verdicts = [each for each in compared.verdicts if each.metric == metric]
        title = f"{metric}   B against A   {margins_by_workload(verdicts, RUNS, compared.noise)}"
        tables[title] = _table(verdicts)
    return rendered_lines(
        "unpaired.txt",
        sides={"A": first, "B": second},
        differences=differences,
        most=_MOST_VARIABLES,
        tables=tables,
        compared=compared,
        sources={source for source, _ in compared.noise.values()},
        unsteady={name: unsteady_text(_unsteady(side)) for name, side in (("A", first), ("B", second))},
    )


def _unsteady(side: ResultSide) -> Mapping[str, Sequence[Shift]]:
    """What changed in this side's cells that were too unsteady to compare."""
    return unsteady_cells(side.runs, side.cells)


def unpaired_data(
    first: ResultSide, second: ResultSide, compared: Unpaired, differences: Differences
) -> dict[str, Any]:
    """The same as JSON data; effects as shares of A for ratios, else in the metric's unit."""
    return {
        "paired": False,
        "a": _side_data(first),
        "b": _side_data(second),
        "differences": data_of(differences),
        "unfit": list(compared.unfit),
        "unsteady": {name: unsteady_data(_unsteady(side)) for name, side in (("A", first), ("B", second))},
        "noise": noise_data(compared.noise),
        "verdicts": [_data(verdict) for verdict in compared.verdicts],
        "only_in": {side: [dict(levels) for levels in cells] for side, cells in compared.only.items()},
    }


def _side_data(side: ResultSide) -> dict[str, Any]:
    manifest = side.manifest
    return {
        "result": side.name,
        "profile": manifest.profile,
        "started_utc": manifest.started_utc.isoformat().replace("+00:00", "Z"),
        "tool_commit": manifest.tool_commit,
        "host_class": side.host_class,
    }


def _table(verdicts: Sequence[UnpairedVerdict]) -> list[str]:
    """Omits the medians of both sides where there is no room for them."""
    factors = list(dict.fromkeys(factor for verdict in verdicts for factor in verdict.levels))
    rows = [
        (
            [each.levels.get(factor, "") for factor in factors],
            ["" if each is None else _value_text(*each) for each in each.typical],
            _figures(each),
        )
        for each in verdicts
    ]
    full = text_table([*factors, "A", "B", *FIGURES], [[*levels, *sides, *text] for levels, sides, text in rows])
    if max(map(len, full)) + 2 <= WIDTH:
        return full
    return text_table([*factors, *FIGURES], [[*levels, *text] for levels, _, text in rows])


def _value_text(value: float, at_least: bool) -> str:
    return f"{'≥ ' if at_least else ''}{figure(value, '')}"


def _figures(verdict: UnpairedVerdict) -> Sequence[str]:
    """With open trials what holds however long they would have lasted, and their number in A and in B."""
    runs = f"{verdict.runs[0]}+{verdict.runs[1]}"
    text = figures_text(verdict.judgement, verdict.word, runs, verdict.missing, RUNS)
    if verdict.bounds is None:
        return text
    still_open = f"{verdict.word} ({verdict.open_trials[0]}+{verdict.open_trials[1]} open)"
    return (*bounds_text(verdict.metric, *verdict.bounds, RUNS.too_few), *text[2:-1], still_open)


def _data(verdict: UnpairedVerdict) -> Mapping[str, Any]:
    """Medians that are only lower bounds are null."""
    medians = [None if each is None or each[1] else each[0] for each in verdict.typical]
    text: dict[str, Any] = {
        "levels": dict(verdict.levels), "metric": verdict.metric, "verdict": verdict.word, "runs_a": verdict.runs[0],
        "runs_b": verdict.runs[1], "median_a": medians[0], "median_b": medians[1], "lost_runs": verdict.missing,
        "open_trials": {"a": verdict.open_trials[0], "b": verdict.open_trials[1]},
    }  # fmt: skip
    between = bounds_data(verdict.metric, *verdict.bounds) if verdict.bounds else {}
    return text | judgement_data(verdict.judgement, RUNS) | between


def history_lines(history: History) -> list[str]:
    """The subject, one table for each metric and cell, and the results left out.

    Where the history changed, a line before the result describes the change.
    """
    return rendered_lines(
        "history.txt",
        subject=_subject(history),
        history=history,
        tables=[
            (series, text_table(_HISTORY_HEADER, [_history_row(each) for each in series.points]))
            for series in history.series
        ],
        fewest=FEWEST,
    )


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


def _history_row(point: Point) -> Sequence[str]:
    version = cut(point.version or UNKNOWN, _MOST_VERSION)
    interval = " … ".join("open" if end is None else figure(end, "") for end in point.interval or ())
    marks = [*([f"{point.open_trials} open"] if point.open_trials else []), *(["unfit"] if point.unfit else [])]
    commit = point.tool_commit or ""
    return (
        f"{point.started_utc:%Y-%m-%d %H:%M}", version, commit[:7] + ("+" if commit.endswith("+") else ""),
        str(point.runs), _value_text(point.value, point.at_least), interval, ", ".join(marks),
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
        "at_least": point.at_least,
        "open_trials": point.open_trials,
        "interval_95": list(point.interval) if point.interval else None,
        "unfit": point.unfit,
        "change": change
        and {"effect": metric.shown(change.effect), "p": change.p, "better": metric.improves(change.effect)},
    }
