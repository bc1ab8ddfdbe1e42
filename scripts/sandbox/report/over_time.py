"""PURE: what is said about results of different times: two compared, and all of one subject."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sandbox.judge.changes import FEWEST, Shift
from sandbox.judge.compare import lasted, unsteady_cells
from sandbox.judge.past_results import History, Point, Series
from sandbox.judge.unpaired import ResultSide, Unpaired, UnpairedVerdict
from sandbox.judge.variants import Differences, data_of
from sandbox.judge.verdict import FEWEST_BLOCKS, FEWEST_TRIALS
from sandbox.record.metrics import METRICS, Metric
from sandbox.record.trial import Lasted
from sandbox.report.document import (
    Column,
    Document,
    Fact,
    FactList,
    Medium,
    Notes,
    Part,
    Row,
    Said,
    Section,
    Table,
    TableCell,
)
from sandbox.report.text import UNKNOWN, cut, figure, levels_text, p_text, shown, value_text
from sandbox.report.verdicts import (
    FIGURES,
    RUNS,
    bounds_data,
    bounds_text,
    figures_text,
    judgement_data,
    margins_by_workload,
    noise_data,
    unsteady_data,
    unsteady_text,
)

_MOST_VARIABLES = 10
_UNPAIRED = (
    "Unpaired: A and B ran at different times, so anything else that changed in between counts as a"
    " difference too, and no interval accounts for it. Where it matters, run both as variants of"
    " one matrix."
)
_SINGLE_TRIALS = (
    "One trial a side is no comparison: recovery time varies between trials, so nothing here is"
    f" better or worse. A verdict needs {FEWEST_BLOCKS} trials of each, and {FEWEST_TRIALS} are"
    " good: run both as variants of one matrix."
)
_OPEN_TRIALS = (
    "open: trials of A+B that were still open at their end; the effect is a bound that holds"
    " however long they would have lasted"
)
_MOST_VERSION = 26
_POINT_COLUMNS = [
    Column("measured (UTC)"),
    Column("server"),
    Column("tool"),
    Column("n", number=True),
    Column("value", number=True),
    Column("95 % interval", number=True),
    Column(""),
]


def comparison_document(
    first: ResultSide, second: ResultSide, compared: Unpaired, differences: Differences
) -> Document:
    """Both results, what else differs, one table per metric, notes. Of single trials the figures
    beside each other, without a verdict.
    """
    sides = FactList([_side_fact("A", first), _side_fact("B", second)])
    metrics = dict.fromkeys(verdict.metric for verdict in compared.verdicts)
    parts: list[Part] = [
        sides,
        Said(_UNPAIRED),
        _differences(differences),
    ]
    if _are_single_trials(first, second):
        parts += [_side_by_side(first, second), Said(_SINGLE_TRIALS)]
    else:
        parts += [_table(metric, compared) for metric in metrics]
        parts.append(Notes.of([*_notes(compared), *_unsteady_notes(first, second)]))
    return Document(Said(f"{second.name} against {first.name}", Medium.PAPER), [Section(parts)])


def _are_single_trials(first: ResultSide, second: ResultSide) -> bool:
    """Whether neither has more than one trial, so that nothing can be said of a difference."""
    alone = len(first.records) <= 1 and len(second.records) <= 1
    return first.manifest.kind == "trial" and alone


def _side_by_side(first: ResultSide, second: ResultSide) -> Table:
    """Every figure that either of two single trials has."""
    rows: list[list[str | TableCell]] = []
    for name, figures in _trial_figures(first, second).items():
        metric = METRICS[name]
        unit = "" if metric.unit == "1/run" else f", {metric.unit}"
        cells = [
            TableCell("") if each is None else TableCell(value_text(*each), each[0])
            for each in figures
        ]
        rows.append([f"{metric.title}{unit}", *cells])
    return Table.of(("figure", "A", "B"), rows, "One trial each", numbers=2)


def _trial_figures(
    first: ResultSide, second: ResultSide
) -> dict[str, tuple[Lasted | None, Lasted | None]]:
    """By metric the figure of A and that of B, and whether each is only a lower bound."""
    found = {}
    for name, metric in METRICS.items():
        ours, theirs = (lasted(side.records[-1], name) for side in (first, second))
        if "trial" in metric.produced_by and (ours or theirs):
            found[name] = (ours, theirs)
    return found


def _side_fact(name: str, side: ResultSide) -> Fact:
    manifest = side.manifest
    commit = f", commit {manifest.tool_commit}" if manifest.tool_commit else ""
    return Fact(name, f"{side.name}  {manifest.profile}{commit}")


def _differences(differences: Differences) -> Part:
    """What else differs between the two; of many variables the first ones."""
    shown = [*differences.others, *differences.variables[:_MOST_VARIABLES]]
    if not shown:
        return Said("No other recorded difference.")
    items = [Said(f"{each.what}: {_given(each.first)} → {_given(each.second)}") for each in shown]
    more = len(differences.variables) - _MOST_VARIABLES
    if more > 0:
        items.append(Said(f"and {more} more variables   (JSON=1 lists all)"))
    return Notes(items, "Other differences")


def _given(value: str | None) -> str:
    return "unknown or none" if value is None else value


def _notes(compared: Unpaired) -> Iterator[str]:
    sources = {source for source, _ in compared.noise.values()}
    if compared.unfit:
        names = " and ".join(compared.unfit)
        yield f"UNFIT: the canary of {names} differs from its baseline; no verdicts"
    if any(verdict.word == "no difference" for verdict in compared.verdicts):
        yield "sees: the smallest difference that this many runs detect with 80 % power"
    if any(verdict.bounds for verdict in compared.verdicts):
        yield _OPEN_TRIALS
    if "canary" in sources:
        yield (
            "not calibrated for both: the noisier of the two canaries sets the margin   (make"
            " calibrate)"
        )
    if "unknown" in sources:
        yield "no canary and no calibration: the noise is unknown, so nothing is better or worse"
    for side, alone in compared.only.items():
        if alone:
            yield f"only in {side}: {'; '.join(levels_text(each) for each in alone)}"


def _unsteady_notes(first: ResultSide, second: ResultSide) -> Iterator[str]:
    for name, side in (("A", first), ("B", second)):
        for cell, changed in unsteady_text(_unsteady(side)).items():
            yield f"not steady in {name}: {cell}: {changed}"


def _unsteady(side: ResultSide) -> Mapping[str, Sequence[Shift]]:
    """What changed in this side's cells that were too unsteady to compare."""
    return unsteady_cells(side.runs, side.cells)


def unpaired_data(
    first: ResultSide, second: ResultSide, compared: Unpaired, differences: Differences
) -> dict[str, Any]:
    """The same as JSON data; effects as shares of A for ratios, else in the metric's unit."""
    data = {
        "paired": False,
        "a": _side_data(first),
        "b": _side_data(second),
        "differences": data_of(differences),
        "unfit": list(compared.unfit),
        "unsteady": {
            name: unsteady_data(_unsteady(side)) for name, side in (("A", first), ("B", second))
        },
        "noise": noise_data(compared.noise),
        "verdicts": [_data(verdict) for verdict in compared.verdicts],
        "only_in": {
            side: [dict(levels) for levels in cells] for side, cells in compared.only.items()
        },
    }
    if not _are_single_trials(first, second):
        return data
    figures = {}
    for name, pair in _trial_figures(first, second).items():
        values = dict(zip("ab", pair, strict=True))
        figures[name] = {
            side: each and {"value": each[0], "at_least": each[1]} for side, each in values.items()
        }
    return {**data, "figures": figures}


def _side_data(side: ResultSide) -> dict[str, Any]:
    manifest = side.manifest
    return {
        "result": side.name,
        "profile": manifest.profile,
        "started_utc": manifest.started_utc.isoformat().replace("+00:00", "Z"),
        "tool_commit": manifest.tool_commit,
        "host_class": side.host_class,
    }


def _table(metric: str, compared: Unpaired) -> Table:
    """One metric: the levels, the medians of both sides, and what is known of their difference."""
    verdicts = [each for each in compared.verdicts if each.metric == metric]
    factors = list(dict.fromkeys(factor for verdict in verdicts for factor in verdict.levels))
    medians = [Column(name, number=True) for name in ("A", "B")]
    figures = [Column(heading, number=True) for heading in FIGURES[:-1]]
    columns = [
        *map(Column, factors),
        *medians,
        *figures,
        Column(FIGURES[-1], look="word", kept=True),
    ]
    margins = margins_by_workload(verdicts, RUNS, compared.noise)
    note = "   ".join(filter(None, ("B against A", margins)))
    return Table(columns, [_row(each, factors) for each in verdicts], metric, note)


def _row(verdict: UnpairedVerdict, factors: Sequence[str]) -> Row:
    levels = [TableCell(verdict.levels.get(factor, "")) for factor in factors]
    medians = [
        TableCell("") if each is None else TableCell(value_text(*each), each[0])
        for each in verdict.typical
    ]
    effect, *others, word = _figures(verdict)
    known = verdict.judgement.effect if verdict.judgement and not verdict.bounds else None
    size = TableCell(effect, known.metric.shown(known.estimate) if known else None)
    verdict_cell = TableCell(word, look=verdict.word.replace(" ", "-"))
    return Row.of([*levels, *medians, size, *others, verdict_cell])


def _figures(verdict: UnpairedVerdict) -> Sequence[str]:
    """With open trials what holds however long they would have lasted, and their number in A and in
    B.
    """
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
        "levels": dict(verdict.levels),
        "metric": verdict.metric,
        "verdict": verdict.word,
        "runs_a": verdict.runs[0],
        "runs_b": verdict.runs[1],
        "median_a": medians[0],
        "median_b": medians[1],
        "lost_runs": verdict.missing,
        "open_trials": {"a": verdict.open_trials[0], "b": verdict.open_trials[1]},
    }
    between = bounds_data(verdict.metric, *verdict.bounds) if verdict.bounds else {}
    return text | judgement_data(verdict.judgement, RUNS) | between


def history_document(history: History) -> Document:
    """The subject, one table for each metric and cell, and the results left out.

    Where the history changed, a line before the result describes the change.
    """
    parts: list[Part] = [_series_table(series) for series in history.series]
    host = Said(f"host: {history.newest.host_class or UNKNOWN}")
    return Document(
        Said(_subject(history)),
        [Section([*parts, Notes.of(_history_notes(history))])],
        about=[host],
    )


def _series_table(series: Series) -> Table:
    metric = series.metric
    better = "higher" if metric.higher_is_better else "lower"
    levels = levels_text(series.levels)
    title = f"{metric.name} ({metric.unit}, {better} is better), {levels}"
    return Table(_POINT_COLUMNS, [_point_row(metric, each) for each in series.points], title)


def _change_text(metric: Metric, point: Point) -> str:
    """That it is better or worse from this result on, by how much; empty where nothing changed."""
    change = point.change
    if change is None:
        return ""
    word = "better" if metric.improves(change.effect) else "worse"
    p = p_text(change.p)
    known = p if p.startswith("<") else f"= {p}"
    return f"-- {word} from here on: {shown(metric, change.effect)} (p {known})"


def _history_notes(history: History) -> Iterator[str]:
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
                "points": [_point_data(series.metric, each) for each in series.points],
            }
            for series in history.series
        ],
        "left_out": dict(history.left_out),
    }


def _subject(history: History) -> str:
    part = history.newest.manifest.matrix
    if part:
        return f"matrix {part.name}: {part.question}"
    manifest = history.newest.manifest
    newest = history.newest.records[0]
    if newest.trial:
        steps = ", ".join(step.fault or step.action or "" for step in newest.trial.steps)
        return f"{manifest.kind} of {manifest.profile}: {steps}"
    load = newest.workload
    return (
        f"{manifest.kind} of {manifest.profile}: {load.name}, {load.threads} threads,"
        f" {load.seconds} s"
    )


def _point_row(metric: Metric, point: Point) -> Row:
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
    return Row.of(texts, mark=_change_text(metric, point))


def _point_data(metric: Metric, point: Point) -> Mapping[str, Any]:
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
