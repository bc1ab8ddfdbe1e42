"""PURE: the figures of a matrix and of a bench: metrics by level, ratios to the baseline, seconds,
server activity.
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sandbox.judge.compare import Judged, Verdict
from sandbox.judge.open_trials import CensoredVerdict
from sandbox.judge.rank_tests import hodges_lehmann, signed_rank_interval
from sandbox.judge.verdict import Effect
from sandbox.record.manifest import MatrixPart
from sandbox.record.metrics import METRICS, PROCESSOR_TIME
from sandbox.record.server_series import COUNTERS, Counter, Points, added_up
from sandbox.report.charts.layout import (
    ByCell,
    Layout,
    Place,
    RunData,
    by_cell,
    layout_of,
    mean,
    median_line,
    run_lines,
    telling,
    thinned,
)
from sandbox.report.charts.svg import Area, Bar, Dot, Figure, Level, Line, Mark, Panel
from sandbox.report.text import figure
from sandbox.report.trial_cells import TRIAL_DOTS, of_trials

ALWAYS = ("tps", "latency_p95_ms", "latency_p99_ms", *PROCESSOR_TIME)
"""Drawn whether or not they are judged."""
_SECONDS_OF = {"tps": "tps", "qps": "qps", "latency_p95_ms": "p95_ms"}
"""Metric → its column in the one-second series."""
MOST_WHERES = 12
"""Combinations of levels that are drawn second by second; nobody reads a page with more."""
MOST_WHERES_OF_SERVERS = 6
MOST_PANELS_OF_SERVERS = 4
"""The same for the servers, where each needs some thirty charts."""
_SECONDS = {
    "tps": ("transactions", "1/s"),
    "qps": ("statements", "1/s"),
    "p95_ms": ("latency p95", "ms"),
    "conflicts_per_s": ("conflicts", "1/s"),
}
"""Column of the one-second series → title and unit of its panel."""

OfCell = Mapping[str, Sequence[Mapping[str, Points]]]
"""By cell, for every run the points of each counter."""

AGAINST_THE_LOAD = "Threads_connected"
"""Drawn with the threads of the load, dashed: the gap shows what a proxy multiplexes or keeps
idle.
"""
_TIME_CAPTION = "Second by second from the one-second samples, which start just before the load."


def matrix_figures(part: MatrixPart, judged: Judged, runs: Sequence[RunData]) -> list[Figure]:
    """Every figure that the result has data for, in the order of the page."""
    layout = layout_of(part)
    good = by_cell(runs)
    metrics = list(dict.fromkeys([*part.metrics, *ALWAYS]))
    trials = TRIAL_DOTS if of_trials(run.record for run in runs) else ()
    levels = [_levels(layout, good, metric) for metric in metrics if metric not in trials]
    relative = [_relative(layout, judged, metric) for metric in part.metrics]
    made = [*side_by_side("levels", "throughput and latency", levels)]
    made += side_by_side("relative", "relative to the baseline", relative)
    made.append(_seconds(layout, good, telling(layout, judged, MOST_WHERES)))
    close = telling(layout, judged, MOST_WHERES_OF_SERVERS)
    panels = dict.fromkeys(place.panel for place in layout.places.values() if place.where in close)
    made += _server_figures(layout, good, close, list(panels)[:MOST_PANELS_OF_SERVERS])
    return [each for each in made if each.panels]


def bench_figures(run: RunData) -> list[Figure]:
    """The run second by second: the client side, then the servers."""
    lines = {
        column: line
        for column in _SECONDS
        if len(line := run.seconds.get(column, ())) > 1 and any(line)
    }
    panels = [
        Panel(
            title,
            [Line(thinned(lines[column]), 1)],
            "second of the run",
            unit,
            span=(1, len(lines[column])),
        )
        for column, (title, unit) in _SECONDS.items()
        if column in lines
    ]
    load = Figure(
        "seconds", "second by second", "The client side during the measured window.", panels
    )
    return [made for made in (load, _bench_server_figure(run)) if made.panels]


def side_by_side(name: str, title: str, figures: Sequence[Figure]) -> list[Figure]:
    """Merges figures of one panel each into one figure; returns others unchanged."""
    if any(len(figure.panels) > 1 for figure in figures):
        return list(figures)
    panels = [replace(panel, title=figure.title) for figure in figures for panel in figure.panels]
    return [replace(figures[0], name=name, title=title, panels=panels)]


def _levels(layout: Layout, good: ByCell, metric: str) -> Figure:
    """The metric by level: median over blocks with its interval, and the spread of the seconds."""
    found: dict[str, list[Mark]] = {panel: [] for panel in layout.panels}
    lines: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for cell, place in layout.places.items():
        values = [
            value
            for run in good.get(cell, ())
            if (value := getattr(run.record.metrics, metric)) is not None
        ]
        if not values:
            continue
        deviation = _pooled(
            [run.seconds.get(_SECONDS_OF.get(metric, ""), ()) for run in good[cell]]
        )
        found[place.panel] += _level_marks(layout, place, metric, values, deviation)
        lines.setdefault((place.panel, place.variant), []).append(
            (layout.position(place), hodges_lehmann(values))
        )
    if layout.x:
        for (panel, variant), points in lines.items():
            found[panel].insert(0, Line(sorted(points), variant, faint=True))
    caption = (
        "Dot: pseudo-median over blocks (Hodges-Lehmann). Thick bar: its exact 95 % interval; none"
        " below 6 blocks. Thin bar: standard deviation of the one-second series, pooled within"
        " runs; none for metrics of whole runs."
    )
    panels = [
        layout.panel(panel, marks, METRICS[metric].unit) for panel, marks in found.items() if marks
    ]
    return Figure(f"levels-{metric}", METRICS[metric].title, caption, panels, layout.variants)


def _level_marks(
    layout: Layout, place: Place, metric: str, values: Sequence[float], deviation: float | None
) -> list[Mark]:
    x, middle, interval = (
        layout.position(place),
        hodges_lehmann(values),
        signed_rank_interval(values),
    )
    unit = METRICS[metric].unit
    tooltip = f"{layout.label(place)}: {figure(middle)} {unit}, {len(values)} blocks"
    marks: list[Mark] = []
    if deviation:
        tooltip += f", sd of seconds {figure(deviation)}"
        marks.append(Bar(x, middle - deviation, middle + deviation, place.variant, thick=False))
    if interval:
        tooltip += f", interval {figure(interval.low)} to {figure(interval.high)}"
        marks.append(Bar(x, interval.low, interval.high, place.variant, thick=True))
    return [*marks, Dot(x, middle, place.variant, tooltip)]


def _relative(layout: Layout, judged: Judged, metric: str) -> Figure:
    """Each cell against the baseline at the same level: 1.00 (for differences 0); grey where too
    small to count.
    """
    ratio = METRICS[metric].scale == "ratio"
    found: dict[str, list[Mark]] = {panel: [] for panel in layout.panels}
    for verdict in judged.verdicts:
        if isinstance(verdict, CensoredVerdict):
            continue
        if verdict.metric == metric and verdict.judgement and verdict.cell in layout.places:
            place = layout.places[verdict.cell]
            found[place.panel] += _relative_marks(layout, place, verdict, verdict.judgement.effect)
    better = "more" if METRICS[metric].higher_is_better else "less"
    unit = f"{'ratio' if ratio else f'difference, {METRICS[metric].unit}'}; {better} is better"
    panels = [
        layout.panel(
            panel,
            [Level(1.0 if ratio else 0.0), *sorted(marks, key=_is_on_top)],
            unit,
            zero=False,
            log_from=4.0,
        )
        for panel, marks in found.items()
        if marks
    ]
    base = "1.00" if ratio else "0"
    caption = (
        f"Per block against {layout.variants[0]}, all other levels equal (dashed: {base}). "
        "Dot: Hodges-Lehmann. Bar: exact 95 % interval. Grey: within ±δ, too small to count."
    )
    if any(
        isinstance(verdict, CensoredVerdict)
        for verdict in judged.verdicts
        if verdict.metric == metric
    ):
        caption += (
            " A pair with trials that were still out at their end is not drawn: see the table."
        )
    title = f"{METRICS[metric].title}, relative"
    return Figure(f"relative-{metric}", title, caption, panels, layout.variants)


def _relative_marks(layout: Layout, place: Place, verdict: Verdict, effect: Effect) -> list[Mark]:
    x, shown = layout.position(place), math.exp if effect.metric.scale == "ratio" else float
    half = 0.42 if layout.x is None else 0.27 / len(layout.variants)
    tooltip = f"{layout.label(place)}: {shown(effect.estimate):.3f}, {verdict.word}"
    marks: list[Mark] = [Area((x - half, x + half), shown(-effect.margin), shown(effect.margin))]
    if effect.interval:
        low, high = shown(effect.interval.low), shown(effect.interval.high)
        tooltip += f", interval {low:.3f} to {high:.3f}"
        marks.append(Bar(x, low, high, place.variant, thick=True))
    return [*marks, Dot(x, shown(effect.estimate), place.variant, tooltip)]


def _seconds(layout: Layout, good: ByCell, chosen: Sequence[str]) -> Figure:
    """Transactions per second of every run (the first ones of very many), with their median."""
    found: dict[str, list[Mark]] = {where: [] for where in chosen}
    longest = dict.fromkeys(chosen, 1.0)
    for cell, place in layout.places.items():
        lines = [line for run in good.get(cell, ()) if len(line := run.seconds.get("tps", ())) > 1]
        if place.where in found and lines:
            found[place.where] += run_lines(lines, place.variant)
            longest[place.where] = max(longest[place.where], *map(len, lines))
    panels = [
        Panel(
            where,
            sorted(marks, key=_is_on_top),
            "second of the run",
            "1/s",
            span=(1, longest[where]),
        )
        for where, marks in found.items()
        if marks
    ]
    caption = "Thin: every run, one line per block. Thick: their median."
    if len(chosen) < len(layout.wheres):
        caption += (
            f" Of {len(layout.wheres)} combinations, the {len(chosen)} with the largest"
            " differences;"
        )
        caption += " the rest: see each run's files."
    return Figure(
        "seconds", "throughput of every run, second by second", caption, panels, layout.variants
    )


def _is_on_top(mark: Mark) -> bool:
    """Later marks are drawn on top: strong lines above faint ones, everything above areas."""
    return not (isinstance(mark, Area) or (isinstance(mark, Line) and mark.faint))


def _pooled(runs: Iterable[Sequence[float]]) -> float | None:
    """Standard deviation of the seconds within runs, pooled over them (docs/statistics.md, rule
    10).
    """
    several = [run for run in runs if len(run) > 1]
    freedom = sum(len(run) - 1 for run in several)
    squares = sum((len(run) - 1) * statistics.variance(run) for run in several)
    return math.sqrt(squares / freedom) if freedom else None


def _server_figures(
    layout: Layout, good: ByCell, wheres: Sequence[str], panels: Sequence[str]
) -> list[Figure]:
    """By level for each panel, then second by second for each combination of levels.

    All but the first are folded: a reader opens those where a difference was found.
    """
    sampled = {
        cell: [added_up(run.servers) for run in good.get(cell, ()) if run.servers]
        for cell in layout.places
    }
    threads = {cell: runs[0].record.workload.threads for cell, runs in good.items()}
    by_level = [
        _by_level(layout, sampled, threads, panel, index) for index, panel in enumerate(panels)
    ]
    in_time = [
        _in_time(layout, sampled, threads, where, index) for index, where in enumerate(wheres)
    ]
    return [*by_level, *in_time]


def _bench_server_figure(run: RunData) -> Figure:
    """The servers of one run, one colour each."""
    panels = []
    for counter in _moving(run.servers.values()):
        series = enumerate(run.servers.values())
        lines = [(colour, [each[counter.name]]) for colour, each in series if counter.name in each]
        panels.append(_time_panel(counter, lines, [run.record.workload.threads]))
    return Figure(
        "servers", "inside the servers, second by second", _TIME_CAPTION, panels, tuple(run.servers)
    )


def _moving(found: Iterable[Mapping[str, Points]]) -> list[Counter]:
    """The counters that any server moved: a panel of zeros shows nothing."""
    nonzero = {name for series in found for name, points in series.items() if any(points)}
    return [counter for counter in COUNTERS if counter.name in nonzero]


def _by_level(
    layout: Layout, sampled: OfCell, threads: Mapping[str, int], panel: str, index: int
) -> Figure:
    there = {cell: place for cell, place in layout.places.items() if place.panel == panel}
    panels = []
    for counter in _moving(series for cell in there for series in sampled[cell]):
        marks = list(_counter_marks(layout, there, sampled, counter))
        if counter.name == AGAINST_THE_LOAD:
            known = [
                (layout.position(place), threads[cell])
                for cell, place in there.items()
                if cell in threads
            ]
            marks += [Line([(x - 0.2, load), (x + 0.2, load)], None) for x, load in known]
        panels.append(layout.panel(_title(counter), marks, counter.unit, group=counter.group))
    caption = (
        "Means over the measured window of each run, summed over all servers of a variant. Dot:"
        " median over blocks; bar: smallest to largest block. Counters that stayed at zero are"
        " omitted."
    )
    title = "inside the servers" + (f", {panel}" if panel else "")
    return Figure(f"servers-{index + 1}", title, caption, panels, layout.variants, folded=index > 0)


def _counter_marks(
    layout: Layout, there: Mapping[str, Place], sampled: OfCell, counter: Counter
) -> Iterable[Mark]:
    lines: dict[int, list[tuple[float, float]]] = {}
    for cell, place in there.items():
        means = [
            found
            for series in sampled[cell]
            if (found := mean(series.get(counter.name, ()))) is not None
        ]
        if not means:
            continue
        x, middle = layout.position(place), statistics.median(means)
        lines.setdefault(place.variant, []).append((x, middle))
        tooltip = f"{layout.label(place)}: {figure(middle)} {counter.unit}, {len(means)} blocks"
        yield Bar(x, min(means), max(means), place.variant, thick=True)
        yield Dot(x, middle, place.variant, tooltip)
    if layout.x:
        yield from (Line(sorted(points), variant, faint=True) for variant, points in lines.items())


def _title(counter: Counter) -> str:
    return (
        f"{counter.name} (dashed: threads of the load)"
        if counter.name == AGAINST_THE_LOAD
        else counter.name
    )


def _in_time(
    layout: Layout, sampled: OfCell, threads: Mapping[str, int], where: str, index: int
) -> Figure:
    there = {cell: place for cell, place in layout.places.items() if place.where == where}
    panels = []
    for counter in _moving(series for cell in there for series in sampled[cell]):
        lines = [
            (
                place.variant,
                [series[counter.name] for series in sampled[cell] if counter.name in series],
            )
            for cell, place in there.items()
        ]
        load = sorted({threads[cell] for cell in there if cell in threads})
        panels.append(_time_panel(counter, [each for each in lines if each[1]], load))
    caption = f"{_TIME_CAPTION} Median over blocks, summed over all servers of a variant."
    title = "inside the servers, second by second" + (f", {where}" if where else "")
    return Figure(
        f"servers-in-time-{index + 1}", title, caption, panels, layout.variants, folded=True
    )


def _time_panel(
    counter: Counter, lines: Sequence[tuple[int, Sequence[Points]]], load: Sequence[int]
) -> Panel:
    """The median of the lines of each colour."""
    levels = [Level(threads) for threads in load if counter.name == AGAINST_THE_LOAD]
    marks: list[Mark] = [*levels, *(median_line(series, colour) for colour, series in lines)]
    longest = max(2, *(len(line) for _, series in lines for line in series))
    return Panel(
        _title(counter), marks, "second", counter.unit, span=(1, longest), group=counter.group
    )
