"""PURE: the figures of a matrix and of a bench: metrics by level, ratios to the baseline, runs second by second."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sandbox.report.layout import ByCell, Layout, Place, RunData, layout_of, run_lines, thinned
from sandbox.report.server_figures import bench_server_figure, server_figures
from sandbox.report.svg import Area, Bar, Dot, Figure, Level, Line, Mark, Panel
from sandbox.report.text import figure
from sandbox.results.compare import Judged, Verdict
from sandbox.results.manifest import MatrixPart
from sandbox.results.statistics.metrics import METRICS, PROCESSOR_TIME
from sandbox.results.statistics.rank_tests import hodges_lehmann, signed_rank_interval
from sandbox.results.statistics.verdict import Effect

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


def matrix_figures(part: MatrixPart, judged: Judged, runs: Sequence[RunData]) -> list[Figure]:
    """Every figure that the result has data for, in the order of the page."""
    layout = layout_of(part)
    good = by_cell(runs)
    metrics = list(dict.fromkeys([*part.metrics, *ALWAYS]))
    levels = [_levels(layout, good, metric) for metric in metrics]
    relative = [_relative(layout, judged, metric) for metric in part.metrics]
    made = [*side_by_side("levels", "throughput and latency", levels)]
    made += side_by_side("relative", "relative to the baseline", relative)
    made.append(_seconds(layout, good, telling(layout, judged, MOST_WHERES)))
    close = telling(layout, judged, MOST_WHERES_OF_SERVERS)
    panels = dict.fromkeys(place.panel for place in layout.places.values() if place.where in close)
    made += server_figures(layout, good, close, list(panels)[:MOST_PANELS_OF_SERVERS])
    return [each for each in made if each.panels]


def bench_figures(run: RunData) -> list[Figure]:
    """The run second by second: the client side, then the servers."""
    lines = {column: line for column in _SECONDS if len(line := run.seconds.get(column, ())) > 1 and any(line)}
    panels = [
        Panel(title, [Line(thinned(lines[column]), 1)], "second of the run", unit, span=(1, len(lines[column])))
        for column, (title, unit) in _SECONDS.items()
        if column in lines
    ]
    load = Figure("seconds", "second by second", "The client side during the measured window.", panels)
    return [made for made in (load, bench_server_figure(run)) if made.panels]


def side_by_side(name: str, title: str, figures: Sequence[Figure]) -> list[Figure]:
    """Merges figures of one panel each into one figure; returns others unchanged."""
    if any(len(figure.panels) > 1 for figure in figures):
        return list(figures)
    panels = [replace(panel, title=figure.title) for figure in figures for panel in figure.panels]
    return [replace(figures[0], name=name, title=title, panels=panels)]


def by_cell(runs: Iterable[RunData]) -> dict[str, list[RunData]]:
    """The runs whose figures count, by cell."""
    found: dict[str, list[RunData]] = {}
    for run in runs:
        if run.good:
            found.setdefault(run.record.cell, []).append(run)
    return found


def telling(layout: Layout, judged: Judged, most: int) -> list[str]:
    """Combinations to draw second by second: all, or those with the largest real differences; in file order."""
    if len(layout.wheres) <= most:
        return layout.wheres
    sizes = dict.fromkeys(layout.wheres, (False, 0.0))
    for verdict in judged.verdicts:
        if verdict.judgement and verdict.cell in layout.places:
            where = layout.places[verdict.cell].where
            size = abs(verdict.judgement.effect.estimate) / verdict.judgement.effect.margin
            sizes[where] = max(sizes[where], (verdict.word in ("better", "worse"), size))
    best = sorted(sizes, key=lambda where: sizes[where], reverse=True)[:most]
    return [where for where in layout.wheres if where in best]


def _levels(layout: Layout, good: ByCell, metric: str) -> Figure:
    """The metric by level: median over blocks with its interval, and the spread of the seconds."""
    found: dict[str, list[Mark]] = {panel: [] for panel in layout.panels}
    lines: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for cell, place in layout.places.items():
        values = [value for run in good.get(cell, ()) if (value := getattr(run.record.metrics, metric)) is not None]
        if not values:
            continue
        deviation = _pooled([run.seconds.get(_SECONDS_OF.get(metric, ""), ()) for run in good[cell]])
        found[place.panel] += _level_marks(layout, place, metric, values, deviation)
        lines.setdefault((place.panel, place.variant), []).append((layout.position(place), hodges_lehmann(values)))
    if layout.x:
        for (panel, variant), points in lines.items():
            found[panel].insert(0, Line(sorted(points), variant, faint=True))
    caption = (
        "Dot: pseudo-median over blocks (Hodges-Lehmann). Thick bar: its exact 95 % interval; none below 6 blocks. "
        "Thin bar: standard deviation of the one-second series, pooled within runs; none for metrics of whole runs."
    )
    panels = [layout.panel(panel, marks, METRICS[metric].unit) for panel, marks in found.items() if marks]
    return Figure(f"levels-{metric}", spoken(metric), caption, panels, layout.variants)


def _level_marks(
    layout: Layout, place: Place, metric: str, values: Sequence[float], deviation: float | None
) -> list[Mark]:
    x, middle, interval = layout.position(place), hodges_lehmann(values), signed_rank_interval(values)
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
    """Each cell against the baseline at the same level: 1.00 (for differences 0); grey where too small to count."""
    ratio = METRICS[metric].scale == "ratio"
    found: dict[str, list[Mark]] = {panel: [] for panel in layout.panels}
    for verdict in judged.verdicts:
        if verdict.metric == metric and verdict.judgement and verdict.cell in layout.places:
            place = layout.places[verdict.cell]
            found[place.panel] += _relative_marks(layout, place, verdict, verdict.judgement.effect)
    better = "more" if METRICS[metric].higher_is_better else "less"
    unit = f"{'ratio' if ratio else f'difference, {METRICS[metric].unit}'}; {better} is better"
    panels = [
        layout.panel(panel, [Level(1.0 if ratio else 0.0), *_areas_first(marks)], unit, zero=False, log_from=4.0)
        for panel, marks in found.items()
        if marks
    ]
    base = "1.00" if ratio else "0"
    caption = (
        f"Per block against {layout.variants[0]}, all other levels equal (dashed: {base}). "
        "Dot: Hodges-Lehmann. Bar: exact 95 % interval. Grey: within ±δ, too small to count."
    )
    return Figure(f"relative-{metric}", f"{spoken(metric)}, relative", caption, panels, layout.variants)


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


def _areas_first(marks: Iterable[Mark]) -> list[Mark]:
    """Later marks are drawn on top."""
    return sorted(marks, key=lambda mark: not isinstance(mark, Area))


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
        Panel(where, _strong_last(marks), "second of the run", "1/s", span=(1, longest[where]))
        for where, marks in found.items()
        if marks
    ]
    caption = "Thin: every run, one line per block. Thick: their median."
    if len(chosen) < len(layout.wheres):
        caption += f" Of {len(layout.wheres)} combinations, the {len(chosen)} with the largest differences;"
        caption += " the rest: see each run's files."
    return Figure("seconds", "throughput of every run, second by second", caption, panels, layout.variants)


def _strong_last(marks: Iterable[Mark]) -> list[Mark]:
    """Strong lines above faint ones."""
    return sorted(marks, key=lambda mark: isinstance(mark, Line) and not mark.faint)


def _pooled(runs: Iterable[Sequence[float]]) -> float | None:
    """Standard deviation of the seconds within runs, pooled over them (docs/statistics.md, rule 10)."""
    several = [run for run in runs if len(run) > 1]
    freedom = sum(len(run) - 1 for run in several)
    squares = sum((len(run) - 1) * statistics.variance(run) for run in several)
    return math.sqrt(squares / freedom) if freedom else None


def spoken(metric: str) -> str:
    """A metric as a heading: ``throughput (tps)``, ``latency p95``."""
    if metric in PROCESSOR_TIME:
        return f"processor time of the {metric.partition('_')[0]} per transaction"
    return f"throughput ({metric})" if metric in ("tps", "qps") else metric.removesuffix("_ms").replace("_", " ")
