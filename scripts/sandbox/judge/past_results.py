"""Results of one plan over time: one value per cell, metric and result, and where it changed for
good.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import AwareDatetime

from sandbox.judge.calibration import Calibration, noise_of
from sandbox.judge.changes import ChangePoint, change_points
from sandbox.judge.compare import judge_result
from sandbox.judge.open_trials import bounds_of
from sandbox.judge.unpaired import ResultSide, at_least_and_most, on_scale
from sandbox.judge.variants import LOAD, circumstances, text_of
from sandbox.judge.verdict import effect_of
from sandbox.record.metrics import METRICS, Metric
from sandbox.record.record import Record


@dataclass(frozen=True, slots=True)
class Point:
    """One result's value, in the metric's unit. ``interval``: 95 %, over blocks; None below six.

    With open trials both are what holds however long these would have lasted: an end may be open
    (None).
    """

    result: str
    started_utc: AwareDatetime
    version: str | None
    tool_commit: str | None
    runs: int
    value: float
    interval: tuple[float, float | None] | None
    unfit: bool
    open_trials: int = 0
    at_least: bool = False
    """Whether ``value`` is only a lower bound."""
    change: ChangePoint | None = None
    """Set if the history changed for good with this result."""


@dataclass(frozen=True, slots=True)
class Series:
    """One metric of one cell (or bench), oldest first."""

    metric: Metric
    levels: Mapping[str, str]
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class History:
    """``left_out``: results that cannot be compared with the newest, by name, each with the
    reason.
    """

    newest: ResultSide
    series: Sequence[Series]
    left_out: Mapping[str, str]


def subject(side: ResultSide) -> tuple[str | None, ...]:
    """The subject of a history: a matrix by its name, a bench or a trial by profile and
    workload.
    """
    if side.manifest.matrix:
        return "matrix", side.manifest.matrix.name
    return (
        side.manifest.kind,
        side.manifest.profile,
        next((each.workload.name for each in side.records), None),
    )


def history_of(
    sides: Sequence[ResultSide],
    metrics: Sequence[str],
    wanted: Mapping[str, Sequence[str]],
    known: Calibration,
) -> History:
    """The history of results of one subject, oldest first; those of another host class or load are
    left out.

    The newest sets host class and load. ``wanted``: levels to show, by factor; all of a factor that
    is not named. Values are Hodges–Lehmann estimates over a result's blocks (of logarithms, for
    ratios).
    """
    newest = sides[-1]
    left_out = {}
    for side in sides:
        reason = _unlike(side, newest)
        if reason:
            left_out[side.name] = reason
    alike = [side for side in sides if side.name not in left_out]
    unfit = {side.name for side in alike if _is_unfit(side, known)}
    shown = [
        each
        for each in newest.cells.values()
        if all(each.get(name) in wanted[name] for name in wanted)
    ]
    series = [
        _series(METRICS[metric], levels, alike, unfit) for metric in metrics for levels in shown
    ]
    return History(newest, [each for each in series if each.points], left_out)


def _is_unfit(side: ResultSide, known: Calibration) -> bool:
    """Whether its canary differed: nothing else in the result needs to be judged for that."""
    part = side.manifest.matrix
    if part is None:
        return False
    noise = noise_of(part, side.records, known)
    return bool(judge_result(side.runs, [], part.canary_pair, part.metrics, noise).unfit)


def _unlike(side: ResultSide, newest: ResultSide) -> str | None:
    if not any(each.counts for each in side.records):
        return "no run was ok"
    if side.host_class != newest.host_class:
        return f"different host class: {side.host_class}"
    ours, theirs = side.manifest.matrix, newest.manifest.matrix
    if ours and theirs and ours.depth != theirs.depth:
        return f"different depth: {ours.depth}"
    loads, others = _loads(side), _loads(newest)
    apart = [
        (loads[key], others[key]) for key in loads if key in others and loads[key] != others[key]
    ]
    for load, other in apart[:1]:
        names = [
            name for name in dict.fromkeys([*load, *other]) if load.get(name) != other.get(name)
        ]
        words = ", ".join(
            f"{name} {text_of(load.get(name))} instead of {text_of(other.get(name))}"
            for name in names
        )
        return f"different load: {words}"
    return None


def _loads(side: ResultSide) -> dict[frozenset[tuple[str, str]], dict[str, object]]:
    """The load of each cell, by its levels, and what else must be alike."""
    counted = [record for record in side.records if record.counts]
    first = {record.cell: record for record in reversed(counted)}
    return {
        frozenset(levels.items()): {
            **{name: getattr(first[cell].workload, name) for name in ("name", *LOAD)},
            **_around(side, [record for record in counted if record.cell == cell]),
        }
        for cell, levels in side.cells.items()
        if cell in first
    }


def _around(side: ResultSide, records: Sequence[Record]) -> dict[str, object]:
    """The circumstances of one run, which has no levels: its entry point, what broke, the inputs of
    its stack. Of a matrix: what broke.

    A random schedule differs between blocks, and the writer, where the load enters without a proxy,
    between stacks.
    """
    if side.manifest.matrix is None:
        return {**circumstances(records[0]), **records[0].environment.inputs.model_dump()}
    seen: dict[str, dict[str, None]] = {}
    for record in records:
        for name, text in circumstances(record).items() if record.trial else ():
            seen.setdefault(name, {})[text] = None
    return {
        name: next(iter(texts)) if len(texts) == 1 else "drawn"
        for name, texts in seen.items()
        if name != "entry"
    }


def _series(
    metric: Metric, levels: Mapping[str, str], sides: Sequence[ResultSide], unfit: set[str]
) -> Series:
    found_points = (_point(metric, levels, side, side.name in unfit) for side in sides)
    points = [point for point in found_points if point is not None]
    exact = [point for point in points if not point.at_least and on_scale(metric, [point.value])]
    found = change_points(
        on_scale(metric, [point.value for point in exact]), metric.smallest_effect
    )
    changes = {exact[each.position].result: each for each in found}
    return Series(
        metric, levels, [replace(point, change=changes.get(point.result)) for point in points]
    )


def _point(
    metric: Metric, levels: Mapping[str, str], side: ResultSide, unfit: bool
) -> Point | None:
    cell = next((name for name, theirs in side.cells.items() if dict(theirs) == dict(levels)), None)
    runs = [each for each in side.runs if each.cell == cell and each.status == "ok"]
    least, most = at_least_and_most(metric, runs)
    if not least:
        return None
    effect = effect_of(metric, least, None)
    size, interval = bounds_of(effect, effect_of(metric, most, None))
    high = None if interval is None or interval.high is None else _unscaled(metric, interval.high)
    ends = (_unscaled(metric, effect.interval.low), high) if effect.interval else None
    records = [each for each in side.records if each.cell == cell and each.counts]
    manifest = side.manifest
    return Point(
        side.name,
        manifest.started_utc,
        _versions(records),
        manifest.tool_commit,
        len(least),
        _unscaled(metric, effect.estimate),
        ends,
        unfit,
        sum(metric.name in run.censored for run in runs),
        size.low != size.high,
    )


def _versions(records: Sequence[Record]) -> str | None:
    """Versions of the writers; of any server if there is no writer."""
    servers = [node for node in records[0].nodes if node.server_version]
    chosen = [node for node in servers if node.role == "writer"] or servers
    return (
        ", ".join(dict.fromkeys(node.server_version for node in chosen if node.server_version))
        or None
    )


def _unscaled(metric: Metric, value: float) -> float:
    return math.exp(value) if metric.scale == "ratio" else value
