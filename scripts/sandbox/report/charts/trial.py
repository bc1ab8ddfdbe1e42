"""PURE: the figures of trials: a dot for each trial, fault against everything else as a heat map,
trials in time.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from sandbox.judge.compare import lasted
from sandbox.judge.rank_tests import median_interval
from sandbox.measure.trial.series import TrialSeries
from sandbox.record.manifest import MatrixPart
from sandbox.record.metrics import METRICS
from sandbox.record.record import Record
from sandbox.record.trial import Lasted, TrialRecord
from sandbox.report.charts.layout import Layout, Place, RunData, by_cell, layout_of
from sandbox.report.charts.matrix import ALWAYS
from sandbox.report.charts.svg import LOG_FROM, Bar, Figure, Line, Mark
from sandbox.report.charts.trial_panels import (
    AxisHolds,
    HeatMap,
    HeatSquare,
    LaneBand,
    MedianMark,
    Moment,
    Shade,
    Strip,
    Strips,
    TrialDot,
)
from sandbox.report.text import UNKNOWN, levels_text, varied
from sandbox.report.trial import step_text
from sandbox.report.trial_cells import (
    TRIAL_DOTS,
    CellTrials,
    asked,
    cells_of,
    fault_factor,
    heat_of,
    interval_text,
    is_open,
    lost_in,
    median_of,
    median_text,
    ms_text,
    seen_median,
)

FIRST_MS = 1.0
"""Where a logarithmic axis of trials begins; what is shorter, such as no outage, is drawn there."""
_SPREAD = 0.78
"""Share of a variant's place that the dots of its trials take."""
_MOST_CODES = 6
_MISSING_S = 2.5
"""Between two samples, of which there is one a second: at least one is missing."""
_STREAMS = {"pooled": "pooled", "fresh": "new connections"}
_TIMELINE_CAPTION = (
    "By the prober's clock, in seconds from the start of the first injection. Shaded: from the"
    " injection to the heal (darker while it was not complete). Dashed: the heal, and when every"
    " node was ready again and had caught up. Latency counts from when a write was due; where it is"
    " interrupted, writes due then were never served."
)


def trial_figures(
    part: MatrixPart, runs: Sequence[RunData], series: Mapping[str, TrialSeries]
) -> list[Figure]:
    """Dots by metric, the heat map, and the trials of which there is a series, by the name of their
    run.
    """
    records = [run.record for run in runs]
    drawn = [name for name in dict.fromkeys([*part.metrics, *ALWAYS]) if name in TRIAL_DOTS]
    layout = layout_of(part)
    made = [
        _dots(layout, runs, metric) for metric in sorted(drawn, key=lambda name: name != "rto_ms")
    ]
    made += [heat_map(part, records), timelines(records, series, asked(part))]
    return [each for each in made if each.panels]


def single_trial_figures(run: RunData, series: Mapping[str, TrialSeries]) -> list[Figure]:
    """The trial in time; none without its prober's log."""
    made = timelines([run.record], series)
    return [made] if made.panels else []


def _dots(layout: Layout, runs: Sequence[RunData], metric: str) -> Figure:
    """Every trial of every cell, with the median and its interval."""
    good, unit = by_cell(runs), METRICS[metric].unit
    found: dict[str, list[tuple[Place, list[tuple[Record, Lasted]]]]] = {
        panel: [] for panel in layout.panels
    }
    for cell, place in layout.places.items():
        trials = [
            (run.record, length)
            for run in good.get(cell, ())
            if (length := lasted(run.record, metric))
        ]
        if trials:
            found[place.panel].append((place, trials))
    lengths = [length for cells in found.values() for _, trials in cells for _, length in trials]
    log_from, lowest, highest = _scale(lengths)
    panels = []
    for panel, cells in found.items():
        marks = [
            mark
            for place, trials in cells
            for mark in _cell_marks(layout, place, metric, trials, lowest)
        ]
        if marks:
            panels.append(
                layout.panel(panel, [AxisHolds(lowest, highest), *marks], unit, log_from=log_from)
            )
    caption = (
        "Dot: one trial. Triangle: a trial that was still out at its end, so at least as long."
        " Line: median. Thick bar: its exact 95 % interval by order statistics; none below 6"
        " trials."
    )
    title = f"{METRICS[metric].title}, every trial"
    return Figure(f"trials-{metric}", title, caption, panels, layout.variants)


def _scale(lengths: Sequence[Lasted]) -> tuple[float, float, float]:
    """(what makes an axis logarithmic, its lowest and highest value), the same for all panels of a
    figure.

    From 1 on where the range is wide, else linear from 0.
    """
    values = [max(FIRST_MS, length) for length, _ in lengths] or [FIRST_MS]
    wide = max(values) > LOG_FROM * min(values)
    return (1.0, FIRST_MS, max(values)) if wide else (float("inf"), 0.0, max(values))


def _cell_marks(
    layout: Layout,
    place: Place,
    metric: str,
    trials: Sequence[tuple[Record, Lasted]],
    lowest: float,
) -> Iterator[Mark]:
    lengths, unit = [length for _, length in trials], METRICS[metric].unit
    x, width = (
        layout.position(place),
        _SPREAD * (1.0 if layout.x is None else 0.55 / len(layout.variants)),
    )
    label, interval = layout.label(place), median_interval(lengths)
    top = max(length for length, _ in lengths)
    if interval:
        high = top if interval.high is None else interval.high
        yield Bar(x, max(lowest, interval.low), max(lowest, high), place.variant, thick=True)
    for index, (record, (length, still_open)) in enumerate(trials):
        at = x + width * ((index + 0.5) / len(trials) - 0.5)
        text = f"{label}, block {record.block}: {_value(length, still_open, metric)}"
        yield TrialDot(at, length, place.variant, text, still_open, lowest)
    text = (
        f"{label}: median {median_text(lengths)} {unit} of {len(lengths)} trials, 95 %"
        f" {interval_text(lengths)}"
    )
    yield MedianMark(x, seen_median(lengths), width / 2, text, lowest)


def _value(length: float, still_open: bool, metric: str) -> str:
    if metric.startswith("rto") and length == 0 and not still_open:
        return "no outage"
    return f"{'at least ' if still_open else ''}{ms_text(length)} {METRICS[metric].unit}"


def heat_map(part: MatrixPart, records: Sequence[Record]) -> Figure:
    """Median RTO with the number of trials and of lost writes: columns are faults, rows all other
    levels.
    """
    factor, factors = fault_factor(part, records), varied(part)
    others = [name for name in factors if name != factor]
    cells = [
        cell
        for cell in cells_of(part, records)
        if cell.name != part.canary.cell and cell.lengths("rto_ms")
    ]
    levels = {cell.name: cell.levels for cell in part.cells}
    middles = [seen_median(cell.lengths("rto_ms")) for cell in cells]
    squares, rows = {}, []
    for cell in cells:
        own = levels[cell.name]
        row = " · ".join(own.get(name, "") for name in others) or "all"
        rows.append(row)
        squares[row, own.get(factor or "", "")] = _square(cell, levels_text(own, factors), middles)
    drawn = HeatMap(
        title="median RTO",
        marks=(),
        x_title=factor or "",
        y_title=" · ".join(others),
        rows=list(dict.fromkeys(rows)),
        names=part.factors.get(factor or "", [""]),
        squares=squares,
    )
    caption = (
        "Median RTO and write errors of each cell, acknowledged writes that were lost in all of its"
        " trials, and how many these are. The redder, the longer (by logarithm). Dashed: so many"
        " trials were still out at their end that the median is at least this."
    )
    return Figure("heat-map", f"RTO by {factor}", caption, [drawn] if squares else [])


def _square(cell: CellTrials, label: str, middles: Sequence[float]) -> HeatSquare:
    lengths = cell.lengths("rto_ms")
    lost, _, unjudged = lost_in(cell)
    middle, lower_bound = seen_median(lengths), is_open(lengths)
    shown = (
        "no outage"
        if middle == 0 and not lower_bound
        else f"{'≥ ' if lower_bound else ''}{ms_text(middle)} ms"
    )
    known = f"{lost:,} lost" if unjudged < cell.count else "lost unknown"
    errors = f"{median_of(cell, 'write_errors') or UNKNOWN} write errors"
    trials = f"{cell.count} trial{'s' if cell.count != 1 else ''}"
    about = (
        f"median {median_text(lengths)} ms of {trials}, 95 % {interval_text(lengths)}; median"
        f" {errors}; {known}"
    )
    lines = [shown, trials, errors, known]
    return HeatSquare(
        heat_of(middle, middles), lines, f"{label}: {about}", alarm=lost > 0, dashed=lower_bound
    )


def timelines(
    records: Sequence[Record], series: Mapping[str, TrialSeries], metric: str = "rto_ms"
) -> Figure:
    """A picture for each trial of which there is a series, in that order, which is one by
    ``metric``.
    """
    named = {f"{record.cell}.{record.block}": record for record in records}
    panels = [
        _timeline(name, named[name], found) for name, found in series.items() if name in named
    ]
    several = len(panels) > 1
    worst = "were out longest" if metric == "rto_ms" else f"are worst by {metric}"
    title = f"median trials of the cells that {worst}, in time" if several else "the trial in time"
    return Figure("timelines", title, _TIMELINE_CAPTION, [each for each in panels if each.strips])


def _timeline(name: str, record: Record, series: TrialSeries) -> Strips:
    trial, span = (
        record.trial,
        (float(series.began_s), float(max(series.ended_s, series.began_s + 1))),
    )
    if trial is None:
        return Strips(title=name, marks=(), x_title="", y_title="", strips=())
    found = [
        _acked(series),
        _latency(series),
        _load(series),
        _writers(trial, series),
        _errors(series),
    ]
    found.append(_lags(trial, series))
    found.append(_sampled("received, not yet applied", series.queue, trial, series))
    found.append(
        _sampled("paused by flow control, % of the time", series.paused_percent, trial, series)
    )
    rto = lasted(record, "rto_ms")
    return Strips(
        title=f"{name}: " + (f"RTO {_value(*rto, 'rto_ms')}" if rto else "no RTO"),
        marks=list(_faults(trial, span[1])), x_title="seconds from t0", y_title="",
        span=span, strips=[strip for strip in found if strip.marks],
    )  # fmt: skip


def _acked(series: TrialSeries) -> Strip:
    per = "s" if series.step_s == 1 else f"{1000 * series.step_s:.0f} ms"
    marks: list[Mark] = []
    for colour, counts in enumerate(series.acked.values(), 1):
        points = [
            (series.began_s + (step + 0.5) * series.step_s, float(n))
            for step, n in enumerate(counts)
        ]
        marks += [Line(points, colour)] if points else []
    key = [(_STREAMS.get(name, name), colour) for colour, name in enumerate(series.acked, 1)]
    return Strip(f"acknowledged writes per {per}", marks, key)


def _latency(series: TrialSeries) -> Strip:
    lines = {name: _points(series, values) for name, values in series.latency_ms.items()}
    marks = [Line(points, colour) for colour, points in enumerate(lines.values(), 1) if any(points)]
    return Strip("latency of pooled writes per s, ms", marks, _key(lines), log_from=1.0)


def _load(series: TrialSeries) -> Strip:
    """Interrupted where it did not run: it ends with a lost connection, and is started again."""
    inside = [
        (at - 0.5, tps) for at, tps in series.load_tps if series.began_s < at <= series.ended_s
    ]
    return Strip(
        "transactions of the load per s", [Line(_interrupted(inside), 1)] if inside else []
    )


def _points(
    series: TrialSeries, values: Sequence[float | None]
) -> list[tuple[float, float] | None]:
    """In the middle of each second."""
    return [
        None if value is None else (series.began_s + second + 0.5, value)
        for second, value in enumerate(values)
    ]


def _key(names: Sequence[str] | Mapping[str, object]) -> list[tuple[str, int]]:
    return [(name, colour) for colour, name in enumerate(names, 1)]


def _nodes(trial: TrialRecord, series: TrialSeries) -> dict[str, int]:
    """Every server with its colour."""
    seen = {*series.lag_ms, *series.queue, *(node for each in trial.writers for node in each.nodes)}
    return dict(_key(sorted(seen)))


def _writers(trial: TrialRecord, series: TrialSeries) -> Strip:
    """A lane for each node, filled while it took writes."""
    colours, t0 = _nodes(trial, series), trial.t0_ms or 0.0
    lanes = list(reversed(colours))
    ends = [*(each.at_ms for each in trial.writers[1:]), t0 + 1000 * series.ended_s]
    marks: list[Mark] = []
    for seen, end_ms in zip(trial.writers, ends, strict=False):
        begin, end = max((seen.at_ms - t0) / 1000, float(series.began_s)), (end_ms - t0) / 1000
        for node in seen.nodes if end > begin else ():
            text = f"{node} took writes from {begin:+.1f} s to {end:+.1f} s"
            marks.append(LaneBand(begin, end, lanes.index(node), colours[node], text))
    return Strip("writer, as the observers saw it", marks, list(colours.items()), lanes)


def _errors(series: TrialSeries) -> Strip:
    """Stacked by code, the most frequent ones; all others as one."""
    codes = list(series.errors)
    shown = {code: list(series.errors[code]) for code in codes[:_MOST_CODES]}
    if rest := codes[_MOST_CODES:]:
        shown["others"] = [
            sum(each) for each in zip(*(series.errors[code] for code in rest), strict=True)
        ]
    below = [0.0] * (series.ended_s - series.began_s)
    marks: list[Mark] = []
    for colour, counts in enumerate(shown.values(), 1):
        for second, count in enumerate(counts):
            if count:
                low, below[second] = below[second], below[second] + count
                marks.append(
                    Bar(series.began_s + second + 0.5, low, below[second], colour, thick=True)
                )
    return Strip("errors per s, by code", marks, _key(shown))


def _lags(trial: TrialRecord, series: TrialSeries) -> Strip:
    colours = _nodes(trial, series)
    lines = {node: _points(series, values) for node, values in series.lag_ms.items()}
    marks = [Line(points, colours[node]) for node, points in lines.items() if any(points)]
    return Strip("largest lag per s, ms", marks, [(node, colours[node]) for node in lines])


def _sampled(
    title: str,
    points: Mapping[str, Sequence[tuple[float, float]]],
    trial: TrialRecord,
    series: TrialSeries,
) -> Strip:
    """Lines of the one-second samples of a cluster's nodes, as far as they lie in the picture."""
    colours = _nodes(trial, series)
    inside = {
        node: [(at, value) for at, value in line if series.began_s <= at <= series.ended_s]
        for node, line in points.items()
    }
    marks = [Line(_interrupted(line), colours[node]) for node, line in inside.items() if line]
    return Strip(title, marks, [(node, colours[node]) for node in inside])


def _interrupted(line: Sequence[tuple[float, float]]) -> list[tuple[float, float] | None]:
    """With None where a sample is missing: nothing is known of the node then."""
    found: list[tuple[float, float] | None] = [*line[:1]]
    for before, after in itertools.pairwise(line):
        found += [None, after] if after[0] - before[0] > _MISSING_S else [after]
    return found


def _faults(trial: TrialRecord, end_s: float) -> Iterator[Mark]:
    t0 = trial.t0_ms or 0.0
    for step in trial.steps:
        began, ended, text = (
            (step.began_ms - t0) / 1000,
            (step.ended_ms - t0) / 1000,
            step_text(step, trial),
        )
        if step.action:
            yield Shade(began, ended, text)
            continue
        healed = end_s if step.healed_ms is None else (step.healed_ms - t0) / 1000
        yield Shade(began, max(began, healed), text)
        yield Shade(began, ended, f"{step.name}: until it was in effect")
        if step.healed_ms is not None:
            yield Moment(healed, f"{step.name} healed at {healed:+.1f} s")
    if trial.whole_ms is not None:
        whole = (trial.whole_ms - t0) / 1000
        yield Moment(whole, f"every node ready again and caught up at {whole:+.1f} s")
