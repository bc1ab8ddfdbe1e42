"""What the figures of a matrix draw: every cell, every bar that is known, and no more than somebody
would look at.
"""

import math
import statistics
from dataclasses import replace

import pytest

from sandbox.report.charts.layout import RunData, layout_of, telling
from sandbox.report.charts.matrix import MOST_WHERES, matrix_figures
from sandbox.report.charts.svg import Area, Bar, Dot, Figure, Level, Line
from unit.report.made_up import made_up


def figures(runs: list[RunData] | None = None) -> dict[str, Figure]:
    part, judged, found = made_up()
    return {
        figure.name: figure
        for figure in matrix_figures(part, judged, runs if runs is not None else found)
    }


def of_kind(figure: Figure, kind: type) -> list[object]:
    return [mark for panel in figure.panels for mark in panel.marks if isinstance(mark, kind)]


def test_every_cell_is_drawn_with_interval_and_spread() -> None:
    part, _, runs = made_up()
    panel, _ = figures()["levels-tps"].panels
    assert panel.title == "workload oltp_read_write"
    bars = [mark for mark in panel.marks if isinstance(mark, Bar)]
    assert sorted(bar.thick for bar in bars) == [False] * 10 + [True] * 10
    layout = layout_of(part)
    cell = next(
        name
        for name, place in layout.places.items()
        if place.variant == 1 and place.where in panel.title + ", threads 4"
    )
    values = sorted(run.record.metrics.tps or 0 for run in runs if run.record.cell == cell)
    dot = next(
        mark
        for mark in panel.marks
        if isinstance(mark, Dot)
        and mark.tooltip.startswith("commits durable, workload oltp_read_write, threads 4")
    )
    assert values[2] < dot.y < values[5] and "8 blocks" in dot.tooltip
    thin = next(bar for bar in bars if bar.x == dot.x and not bar.thick)
    within = [statistics.variance(run.seconds["tps"]) for run in runs if run.record.cell == cell]
    assert (thin.high - thin.low) / 2 == pytest.approx(math.sqrt(statistics.fmean(within))), (
        "pooled within runs"
    )


def test_the_block_that_was_thrown_away_is_drawn_nowhere() -> None:
    part, judged, runs = made_up()
    cold = [
        replace(run, record=run.record.model_copy(update={"block": 0}))
        for run in runs
        if run.record.block == 1
    ]
    drawn = {figure.name: figure for figure in matrix_figures(part, judged, [*cold, *runs])}
    assert drawn["levels-tps"] == figures()["levels-tps"]


def test_p99_is_known_for_whole_runs_only_and_has_no_thin_bar() -> None:
    bars = of_kind(figures()["levels-latency_p99_ms"], Bar)
    assert len(bars) == 20 and all(isinstance(bar, Bar) and bar.thick for bar in bars)


def test_ratios_are_of_the_verdicts_with_the_margin_behind() -> None:
    _, judged, _ = made_up()
    figure = figures()["relative-tps"]
    assert (
        len(of_kind(figure, Area)) == len(of_kind(figure, Dot)) == len(of_kind(figure, Bar)) == 10
    )
    assert [mark.y for mark in of_kind(figure, Level) if isinstance(mark, Level)] == [1.0, 1.0]
    drawn = sorted(mark.y for mark in of_kind(figure, Dot) if isinstance(mark, Dot))
    verdicts = [each for each in judged.verdicts if each.metric == "tps" and each.judgement]
    assert drawn == sorted(
        math.exp(each.judgement.effect.estimate) for each in verdicts if each.judgement
    )
    assert isinstance(figure.panels[0].marks[1], Area), "areas lie behind"


def test_runs_are_drawn_second_by_second_with_their_median() -> None:
    figure = figures()["seconds"]
    assert len(figure.panels) == 10
    lines = [mark for mark in figure.panels[0].marks if isinstance(mark, Line)]
    assert [line.faint for line in lines] == [True] * 16 + [False] * 2, (
        "eight blocks of two variants, then the medians"
    )
    assert [len(line.points) for line in lines] == [5] * 18


def test_a_run_that_is_not_ok_is_not_drawn() -> None:
    _, _, runs = made_up()
    broken = [
        replace(run, record=run.record.model_copy(update={"status": "infra_error"})) for run in runs
    ]
    assert [name for name in figures(broken) if not name.startswith("relative")] == []


def test_of_very_many_combinations_those_that_differ_are_drawn() -> None:
    part, judged, _ = made_up()
    layout = layout_of(part)
    assert telling(layout, judged, MOST_WHERES) == layout.wheres
    few = telling(layout, judged, 4)
    assert len(few) == 4 and few == [where for where in layout.wheres if where in few]
    assert all("oltp_read_write" in where for where in few), "there durable commits cost something"
    _, _, runs = made_up()
    folded = [figure for figure in matrix_figures(part, judged, runs) if figure.folded]
    assert [figure.name for figure in folded][:1] == ["servers-2"]
    assert len([figure for figure in folded if figure.name.startswith("servers-in-time")]) == 6


def test_figures_of_one_panel_stand_side_by_side() -> None:
    part, judged, runs = made_up()
    levels = [{**cell.levels, "workload": "x"} for cell in part.cells[::2]]
    cells = [
        cell.model_copy(update={"levels": each})
        for cell, each in zip(part.cells[::2], levels, strict=True)
    ]
    one = part.model_copy(update={"cells": cells, "factors": {**part.factors, "workload": ["x"]}})
    kept = [each for each in judged.verdicts if each.cell in {cell.name for cell in one.cells}]
    found = {
        figure.name: figure for figure in matrix_figures(one, replace(judged, verdicts=kept), runs)
    }
    assert [panel.title for panel in found["levels"].panels] == [
        "throughput (tps)",
        "latency p95",
        "latency p99",
    ]
    assert [panel.title for panel in found["relative"].panels] == [
        "throughput (tps), relative",
        "latency p95, relative",
    ]


def test_servers_are_overlaid_variant_by_variant_and_zeros_left_out() -> None:
    found = figures()
    names = [panel.title for panel in found["servers-1"].panels]
    assert {"Com_select", "Threads_running", "Innodb_row_lock_time", "Innodb_os_log_fsyncs"} <= set(
        names
    )
    assert "Innodb_log_waits" not in names and "Threadpool_threads" not in names
    fsyncs = next(
        panel for panel in found["servers-1"].panels if panel.title == "Innodb_os_log_fsyncs"
    )
    variants = {
        colour: max(
            mark.y for mark in fsyncs.marks if isinstance(mark, Dot) and mark.colour == colour
        )
        for colour in (0, 1)
    }
    assert variants[1] > 10 * variants[0], "durable commits flush at each of them"
    running = next(
        panel for panel in found["servers-in-time-1"].panels if panel.title == "Threads_running"
    )
    assert [mark.colour for mark in running.marks if isinstance(mark, Line)] == [0, 1]


def test_connections_at_the_servers_are_seen_against_the_threads_of_the_load() -> None:
    found = figures()
    title = "Threads_connected (dashed: threads of the load)"
    by_level = next(panel for panel in found["servers-1"].panels if panel.title == title)
    dashed = [
        mark.points for mark in by_level.marks if isinstance(mark, Line) and mark.colour is None
    ]
    assert sorted(points[0][1] for points in dashed if points[0]) == [
        1,
        1,
        2,
        2,
        4,
        4,
        8,
        8,
        16,
        16,
    ]
    in_time = next(panel for panel in found["servers-in-time-1"].panels if panel.title == title)
    assert [mark.y for mark in in_time.marks if isinstance(mark, Level)] == [1]


def test_the_legend_names_the_variants_in_the_order_of_their_colours() -> None:
    assert {figure.legend for figure in figures().values()} == {
        ("commits relaxed", "commits durable")
    }
