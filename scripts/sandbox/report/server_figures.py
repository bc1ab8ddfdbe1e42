"""PURE: server activity during the runs, from one-second samples: by level, and second by second."""

import statistics
from collections.abc import Iterable, Mapping, Sequence

from sandbox.report.layout import ByCell, Layout, Place, RunData, mean, median_line
from sandbox.report.svg import Bar, Dot, Figure, Level, Line, Mark, Panel
from sandbox.report.text import figure
from sandbox.results.server_series import COUNTERS, Counter, Points, added_up

OfCell = Mapping[str, Sequence[Mapping[str, Points]]]
"""By cell, for every run the points of each counter."""

AGAINST_THE_LOAD = "Threads_connected"
"""Drawn with the threads of the load, dashed: the gap shows what a proxy multiplexes or keeps idle."""


def server_figures(layout: Layout, good: ByCell, wheres: Sequence[str], panels: Sequence[str]) -> list[Figure]:
    """By level for each panel, then second by second for each combination of levels.

    All but the first are folded: a reader opens those where a difference was found.
    """
    sampled = {cell: [added_up(run.servers) for run in good.get(cell, ()) if run.servers] for cell in layout.places}
    threads = {cell: runs[0].record.workload.threads for cell, runs in good.items()}
    by_level = [_by_level(layout, sampled, threads, panel, index) for index, panel in enumerate(panels)]
    in_time = [_in_time(layout, sampled, threads, where, index) for index, where in enumerate(wheres)]
    return [*by_level, *in_time]


def bench_server_figure(run: RunData) -> Figure:
    """The servers of one run, one colour each."""
    panels = []
    for counter in moving(run.servers.values()):
        series = enumerate(run.servers.values())
        lines = [(colour, [each[counter.name]]) for colour, each in series if counter.name in each]
        panels.append(_time_panel(counter, lines, [run.record.workload.threads]))
    return Figure("servers", "inside the servers, second by second", _TIME_CAPTION, panels, tuple(run.servers))


def moving(found: Iterable[Mapping[str, Points]]) -> list[Counter]:
    """The counters that any server moved: a panel of zeros shows nothing."""
    nonzero = {name for series in found for name, points in series.items() if any(points)}
    return [counter for counter in COUNTERS if counter.name in nonzero]


_TIME_CAPTION = "Second by second from the one-second samples, which start just before the load."


def _by_level(layout: Layout, sampled: OfCell, threads: Mapping[str, int], panel: str, index: int) -> Figure:
    there = {cell: place for cell, place in layout.places.items() if place.panel == panel}
    panels = []
    for counter in moving(series for cell in there for series in sampled[cell]):
        marks = list(_level_marks(layout, there, sampled, counter))
        if counter.name == AGAINST_THE_LOAD:
            known = [(layout.position(place), threads[cell]) for cell, place in there.items() if cell in threads]
            marks += [Line([(x - 0.2, load), (x + 0.2, load)], None) for x, load in known]
        panels.append(layout.panel(_title(counter), marks, counter.unit, group=counter.group))
    caption = (
        "Means over the measured window of each run, summed over all servers of a variant. "
        "Dot: median over blocks; bar: smallest to largest block. Counters that stayed at zero are omitted."
    )
    title = "inside the servers" + (f", {panel}" if panel else "")
    return Figure(f"servers-{index + 1}", title, caption, panels, layout.variants, folded=index > 0)


def _level_marks(layout: Layout, there: Mapping[str, Place], sampled: OfCell, counter: Counter) -> Iterable[Mark]:
    lines: dict[int, list[tuple[float, float]]] = {}
    for cell, place in there.items():
        means = [found for series in sampled[cell] if (found := mean(series.get(counter.name, ()))) is not None]
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
    return f"{counter.name} (dashed: threads of the load)" if counter.name == AGAINST_THE_LOAD else counter.name


def _in_time(layout: Layout, sampled: OfCell, threads: Mapping[str, int], where: str, index: int) -> Figure:
    there = {cell: place for cell, place in layout.places.items() if place.where == where}
    panels = []
    for counter in moving(series for cell in there for series in sampled[cell]):
        lines = [
            (place.variant, [series[counter.name] for series in sampled[cell] if counter.name in series])
            for cell, place in there.items()
        ]
        load = sorted({threads[cell] for cell in there if cell in threads})
        panels.append(_time_panel(counter, [each for each in lines if each[1]], load))
    caption = f"{_TIME_CAPTION} Median over blocks, summed over all servers of a variant."
    title = "inside the servers, second by second" + (f", {where}" if where else "")
    return Figure(f"servers-in-time-{index + 1}", title, caption, panels, layout.variants, folded=True)


def _time_panel(counter: Counter, lines: Sequence[tuple[int, Sequence[Points]]], load: Sequence[int]) -> Panel:
    """The median of the lines of each colour."""
    levels = [Level(threads) for threads in load if counter.name == AGAINST_THE_LOAD]
    marks: list[Mark] = [*levels, *(median_line(series, colour) for colour, series in lines)]
    longest = max(2, *(len(line) for _, series in lines for line in series))
    return Panel(_title(counter), marks, "second", counter.unit, span=(1, longest), group=counter.group)
