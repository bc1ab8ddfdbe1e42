"""The figures of trials: a dot for each, squares that can be read, and a trial in time with all
that it shows.
"""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from sandbox.measure.trial.prober_log import read_prober_log
from sandbox.measure.trial.series import TrialSeries, series_of
from sandbox.record.record import Record
from sandbox.report.charts.layout import RunData, layout_of
from sandbox.report.charts.matrix import matrix_figures
from sandbox.report.charts.svg import Bar, Figure, Line, Panel
from sandbox.report.charts.trial import single_trial_figures, timelines, trial_figures
from sandbox.report.charts.trial_panels import (
    FAINTEST,
    STRONGEST,
    HeatMap,
    LaneBand,
    MedianMark,
    Moment,
    Shade,
    Strip,
    Strips,
    TrialDot,
)
from sandbox.report.render.html import picture
from unit.report.made_up_logs import END_MS, T0_MS, probe_lines
from unit.report.made_up_trials import (
    SEEN_MS,
    cell_name,
    judged,
    part,
    records,
    runs,
    trial_record,
    with_percentile,
)

SVG = "{http://www.w3.org/2000/svg}"
TEMPLATES = Path(__file__).parents[4] / "scripts" / "sandbox" / "report" / "templates"


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314  (written here)


def figures(
    found: list[Record] | None = None, series: dict[str, TrialSeries] | None = None
) -> dict[str, Figure]:
    return {figure.name: figure for figure in trial_figures(part(), runs(found), series or {})}


def series(rto_ms: float = 2_500.0) -> TrialSeries:
    return series_of(read_prober_log(probe_lines(rto_ms)), 1000 * T0_MS, 1000.0 * END_MS)


def panel(figure: Figure, title: str) -> Panel:
    return next(each for each in figure.panels if each.title == title)


def of_kind(found: Panel, kind: type) -> list[object]:
    return [mark for mark in found.marks if isinstance(mark, kind)]


def test_rto_comes_first_whatever_is_judged() -> None:
    assert list(figures()) == [
        "trials-rto_ms",
        "trials-rto_new_connection_ms",
        "trials-write_errors",
        "heat-map",
    ]
    turned = part(metrics=["write_errors", "rto_ms"])
    assert [each.name for each in trial_figures(turned, runs(), {})][:2] == [
        "trials-rto_ms",
        "trials-write_errors",
    ]


def test_every_trial_is_a_dot_beside_its_variant() -> None:
    figure = figures()["trials-rto_ms"]
    assert figure.legend == ("proxy direct", "proxy haproxy") and len(figure.panels) == 4
    dots = of_kind(panel(figure, "topology galera, fault server-crash"), TrialDot)
    assert len(dots) == 20
    for colour, own in (
        (0, [9_000 + 300 * each for each in range(1, 11)]),
        (1, [2_500 + 200 * each for each in range(1, 11)]),
    ):
        mine = [dot for dot in dots if isinstance(dot, TrialDot) and dot.colour == colour]
        assert sorted(dot.y for dot in mine) == own
        assert len({dot.x for dot in mine}) == 10 and all(
            abs(dot.x - colour) < 0.45 for dot in mine
        )
        assert not any(dot.still_open for dot in mine)
    assert any(
        isinstance(dot, TrialDot) and dot.tooltip.endswith("block 3: 9,900 ms") for dot in dots
    )


def test_open_trials_are_triangles_that_say_at_least() -> None:
    found = panel(figures()["trials-rto_ms"], "topology gr, fault host-loss")
    still_open = [
        dot for dot in of_kind(found, TrialDot) if isinstance(dot, TrialDot) and dot.still_open
    ]
    assert len(still_open) == 10 and {dot.y for dot in still_open} == {SEEN_MS}
    assert all(dot.tooltip.endswith(": at least 60,000 ms") for dot in still_open)
    svg = parsed(found.svg())
    drawn = [
        each
        for each in svg.iter(f"{SVG}path")
        if "at least" in (each.findtext(f"{SVG}title") or "")
        and "block" in (each.findtext(f"{SVG}title") or "")
    ]
    assert len(drawn) == 10 and all(each.attrib["d"].count("L") == 2 for each in drawn), (
        "three corners, not filled"
    )
    assert len(list(svg.iter(f"{SVG}circle"))) == 10


def test_an_open_percentile_is_a_triangle_and_no_level() -> None:
    found = [
        with_percentile(cell_name("gr", "direct", "host-loss"), block, 2_000.0 + block, True)
        for block in range(9)
    ]
    drawn = {each.name: each for each in trial_figures(part(), runs(found), {})}
    dots = of_kind(drawn["trials-latency_p95_ms"].panels[0], TrialDot)
    assert len(dots) == 8 and all(isinstance(dot, TrialDot) and dot.still_open for dot in dots), (
        "block 0 is no trial"
    )
    titles = [
        each.title
        for figure in matrix_figures(part(), judged(found), runs(found))
        for each in figure.panels
    ]
    assert not any("latency" in title for title in titles)


def test_median_and_interval_are_those_of_the_tables() -> None:
    found = panel(figures()["trials-rto_ms"], "topology galera, fault server-crash")
    middles = {
        mark.y: mark.tooltip for mark in of_kind(found, MedianMark) if isinstance(mark, MedianMark)
    }
    assert set(middles) == {10_650.0, 3_600.0}
    assert middles[3_600.0].endswith("median 3,600 ms of 10 trials, 95 % 2,900 … 4,300")
    assert [(bar.low, bar.high) for bar in of_kind(found, Bar) if isinstance(bar, Bar)] == [
        (9_600.0, 11_700.0), (2_900.0, 4_300.0),
    ]  # fmt: skip


def test_an_open_interval_reaches_to_what_was_seen() -> None:
    found = panel(figures()["trials-rto_ms"], "topology gr, fault host-loss")
    bars = [(bar.low, bar.high) for bar in of_kind(found, Bar) if isinstance(bar, Bar)]
    assert bars == [(9_600.0, SEEN_MS), (4_100.0, SEEN_MS)]


def test_five_trials_have_a_median_and_no_bar() -> None:
    few = [each for each in records() if each.block <= 5]
    found = panel(figures(few)["trials-rto_ms"], "topology galera, fault server-crash")
    assert len(of_kind(found, MedianMark)) == 2 and not of_kind(found, Bar)


def test_a_wide_range_is_logarithmic_from_one_millisecond_in_every_panel() -> None:
    drawn = [each.svg() for each in figures()["trials-rto_ms"].panels]
    assert all(
        "ms; log scale" in each and ">1</text>" in each and ">10k</text>" in each for each in drawn
    )


def test_a_narrow_range_is_linear_from_zero() -> None:
    narrow = [each for each in records() if each.metrics.rto_ms != SEEN_MS]
    drawn = [each.svg() for each in figures(narrow)["trials-rto_ms"].panels]
    assert all("log scale" not in each and ">0</text>" in each for each in drawn)


def test_no_outage_is_drawn_at_the_bottom_of_a_logarithmic_axis() -> None:
    found = [trial_record(cell=cell_name("gr", "direct", "server-crash"), block=block, rto_ms=rto)
             for block, rto in enumerate([0.0, 900.0], 1)]  # fmt: skip
    (only,) = figures(found)["trials-rto_ms"].panels
    dot = next(
        mark for mark in of_kind(only, TrialDot) if isinstance(mark, TrialDot) and mark.y == 0
    )
    assert dot.tooltip.endswith("block 1: no outage") and list(dot.heights()) == [1.0]
    assert "log scale" in only.svg()


def test_counts_are_drawn_in_their_own_unit() -> None:
    found = panel(figures()["trials-write_errors"], "topology galera, fault server-crash")
    dots = [
        mark for mark in of_kind(found, TrialDot) if isinstance(mark, TrialDot) and mark.colour == 1
    ]
    assert sorted(dot.y for dot in dots) == [270, 290, 310, 330, 350, 370, 390, 410, 430, 450]
    assert dots[0].tooltip.endswith(" 1/run") and found.y_title == "1/run"


def heat() -> HeatMap:
    (found,) = figures()["heat-map"].panels
    assert isinstance(found, HeatMap)
    return found


def test_the_heat_map_has_faults_as_columns_and_all_else_as_rows() -> None:
    found = heat()
    assert found.names == ["server-crash", "host-loss"] and found.x_title == "fault"
    assert found.y_title == "topology · proxy"
    assert found.rows == ["galera · direct", "galera · haproxy", "gr · direct", "gr · haproxy"]


def test_a_square_has_median_trials_and_lost_writes() -> None:
    squares = heat().squares
    assert squares["galera · haproxy", "host-loss"].lines == [
        "3,600 ms",
        "10 trials",
        "360 write errors",
        "3 lost",
    ]
    assert (
        squares["galera · haproxy", "host-loss"].alarm
        and not squares["galera · haproxy", "server-crash"].alarm
    )
    worst = squares["gr · haproxy", "host-loss"]
    assert (
        worst.lines == ["≥ 60,000 ms", "10 trials", "6,000 write errors", "0 lost"]
        and worst.dashed
        and worst.heat == 1
    )
    assert squares["gr · haproxy", "server-crash"].heat == 0
    assert "95 % 4,100 … open" in worst.tooltip
    written = parsed(heat().svg())
    assert [each.text for each in written.iter(f"{SVG}text")].count("10 trials") == 8


def test_no_outage_and_an_unknown_ledger_have_words() -> None:
    one = [trial_record(cell=cell_name("gr", "direct", "server-crash"), rto_ms=0.0, lost=None)]
    (found,) = figures(one)["heat-map"].panels
    assert isinstance(found, HeatMap)
    (square,) = found.squares.values()
    assert square.lines == ["no outage", "1 trial", "0 write errors", "lost unknown"]


@pytest.mark.parametrize(
    ("theme", "ink", "paper"), [("light", "#1b1d20", "#ffffff"), ("dark", "#e6e8ea", "#15171a")]
)
def test_the_numbers_can_be_read_on_every_square(theme: str, ink: str, paper: str) -> None:
    """WCAG 2.1, 1.4.3: a contrast of at least 4.5. Ink and paper: of the page; the red: of
    looks.j2.
    """
    looks, template = ((TEMPLATES / name).read_text() for name in ("looks.j2", "page.html.j2"))
    assert f"--ink: {ink}; --paper: {paper}" in template
    colours = re.findall(r"#[0-9a-f]{6}", re.search(rf"set {theme} = \[(.*?)\]", looks)[1])  # type: ignore[index]
    for share in (FAINTEST, STRONGEST):
        mixed = [
            share * one + (1 - share) * other
            for one, other in zip(_rgb(colours[2]), _rgb(paper), strict=True)
        ]
        assert _contrast(_rgb(ink), mixed) >= 4.5, (theme, share)


def _rgb(text: str) -> list[float]:
    return [int(text[at : at + 2], 16) for at in (1, 3, 5)]


def _contrast(one: list[float], other: list[float]) -> float:
    lights = []
    for colour in (one, other):
        linear = [
            (c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4) for c in colour
        ]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def strips(record: Record, found: TrialSeries) -> tuple[Strips, dict[str, Strip]]:
    (drawn,) = timelines([record], {f"{record.cell}.{record.block}": found}).panels
    assert isinstance(drawn, Strips)
    return drawn, {strip.title: strip for strip in drawn.strips}


def test_a_trial_in_time_has_all_its_strips() -> None:
    drawn, found = strips(trial_record(), series())
    assert drawn.title == "trial.1: RTO 2,500 ms" and drawn.span == (-9.0, 60.0)
    assert list(found) == [
        "acknowledged writes per 100 ms",
        "latency of pooled writes per s, ms",
        "writer, as the observers saw it",
        "errors per s, by code",
        "largest lag per s, ms",
    ]
    (acked,) = found["acknowledged writes per 100 ms"].marks
    assert isinstance(acked, Line) and acked.points[0] == pytest.approx((-8.95, 2.0))
    p50, p99 = found["latency of pooled writes per s, ms"].marks
    assert isinstance(p50, Line) and isinstance(p99, Line)
    assert p50.points[0] == (-8.5, 4.0) and p50.points[9] is None
    assert found["latency of pooled writes per s, ms"].key == [("p50", 1), ("p99", 2)]


def test_a_cluster_has_strips_of_its_queues_and_pauses() -> None:
    sampled = replace(
        series(),
        queue={"galera2": [(-20.0, 1.0), (0.5, 40.0)]},
        paused_percent={"galera2": [(0.5, 80.0)]},
    )
    _, found = strips(trial_record(), sampled)
    (line,) = found["received, not yet applied"].marks
    assert isinstance(line, Line) and line.points == [(0.5, 40.0)], "within the picture"
    (paused,) = found["paused by flow control, % of the time"].marks
    assert isinstance(paused, Line) and paused.colour == line.colour == 2


def test_no_line_crosses_the_time_in_which_a_node_was_down() -> None:
    sampled = replace(series(), queue={"galera2": [(0.5, 1.0), (1.5, 0.0), (4.5, 30.0)]})
    _, found = strips(trial_record(), sampled)
    (line,) = found["received, not yet applied"].marks
    assert isinstance(line, Line) and line.points == [(0.5, 1.0), (1.5, 0.0), None, (4.5, 30.0)]


def test_the_writer_is_a_band_in_the_lane_and_colour_of_its_node() -> None:
    _, found = strips(trial_record(), series())
    strip = found["writer, as the observers saw it"]
    bands = [mark for mark in strip.marks if isinstance(mark, LaneBand)]
    assert [(each.begin, each.end, strip.lanes[each.lane], each.colour) for each in bands] == [
        (-9.0, 0.1, "galera1", 1), (2.0, 60.0, "galera2", 2),
    ]  # fmt: skip
    assert strip.key == [("galera1", 1), ("galera2", 2)] == found["largest lag per s, ms"].key
    assert strip.lanes == ["galera2", "galera1"], "from below: the first one is on top"


def test_two_writers_at_once_are_two_bands() -> None:
    record = trial_record()
    assert record.trial
    both = record.trial.writers[0].model_copy(update={"nodes": ["galera1", "galera2"]})
    trial = record.trial.model_copy(update={"writers": [both]})
    _, found = strips(record.model_copy(update={"trial": trial}), series())
    assert len(found["writer, as the observers saw it"].marks) == 2


def test_errors_are_stacked_by_code() -> None:
    _, found = strips(trial_record(), series())
    strip = found["errors per s, by code"]
    bars = [mark for mark in strip.marks if isinstance(mark, Bar)]
    assert strip.key == [("2013", 1), ("1047", 2)]
    first = sorted((bar.low, bar.high) for bar in bars if bar.x == 0.5)
    assert first[0][0] == 0 and first[1] == (
        first[0][1],
        22.0,
    ), "20 writes and two reads in that second"


def test_rare_codes_are_one() -> None:
    many = {str(code): [1] * 69 for code in range(2_000, 2_009)}
    base = series()
    crowded = TrialSeries(
        base.began_s, base.ended_s, base.step_s, base.acked, base.latency_ms, many, base.lag_ms
    )
    _, found = strips(trial_record(), crowded)
    strip = found["errors per s, by code"]
    assert [name for name, _ in strip.key] == [*map(str, range(2_000, 2_006)), "others"]
    assert max(bar.high for bar in strip.marks if isinstance(bar, Bar)) == 9


def test_fault_and_heal_are_shaded_and_marked() -> None:
    drawn, _ = strips(trial_record(), series())
    shades = [(mark.begin, mark.end) for mark in drawn.marks if isinstance(mark, Shade)]
    assert shades == [(0.0, 15.0), (0.0, pytest.approx(0.061))]
    moments = {mark.x: mark.tooltip for mark in drawn.marks if isinstance(mark, Moment)}
    assert moments == {
        15.0: "server-crash healed at +15.0 s",
        25.001: "every node ready again and caught up at +25.0 s",
    }


def test_a_fault_that_was_never_healed_is_shaded_to_the_end() -> None:
    record = trial_record(still_out=True, rto_ms=SEEN_MS)
    assert record.trial
    step = record.trial.steps[0].model_copy(update={"healed_ms": None})
    trial = record.trial.model_copy(update={"steps": [step]})
    drawn, _ = strips(record.model_copy(update={"trial": trial}), series(SEEN_MS))
    assert drawn.title.endswith("RTO at least 60,000 ms")
    assert not any(isinstance(mark, Moment) for mark in drawn.marks)
    assert next(mark.end for mark in drawn.marks if isinstance(mark, Shade)) == 60.0


def test_a_picture_of_it_is_well_formed_and_nothing_leaves_the_frame() -> None:
    figure = timelines([trial_record()], {"trial.1": series()})
    whole = parsed(picture(figure))
    (drawn,) = figure.panels
    width, height = drawn.size
    assert (float(whole.attrib["width"]), drawn.broad) == (width + 36, True)
    for each in parsed(drawn.svg()).iter(f"{SVG}path"):
        numbers = [float(value) for value in re.findall(r"-?\d+\.\d", each.attrib["d"])]
        assert all(0 <= x <= width for x in numbers[::2]) and all(
            0 <= y <= height for y in numbers[1::2]
        )


def test_without_a_log_there_is_no_trial_in_time() -> None:
    (run,) = runs([trial_record()])
    assert single_trial_figures(run, {}) == []
    assert [each.name for each in single_trial_figures(run, {"trial.1": series()})] == ["timelines"]


def test_a_matrix_of_trials_has_no_pseudo_median_of_open_trials() -> None:
    found = {figure.name: figure for figure in matrix_figures(part(), judged(), runs())}
    assert list(found) == [
        "relative-rto_ms",
        "relative-rto_new_connection_ms",
        "relative-write_errors",
    ]
    assert (
        len(found["relative-rto_ms"].panels) == 3
        and "is not drawn" in found["relative-rto_ms"].caption
    )
    assert (
        len(found["relative-write_errors"].panels) == 4
        and "not drawn" not in found["relative-write_errors"].caption
    )


def test_numeric_levels_lie_along_the_axis_with_their_trials_beside_each_other() -> None:
    levels = {"server-crash": "500", "host-loss": "3000"}
    cells = [
        each.model_copy(update={"levels": {**each.levels, "fault": levels[each.levels["fault"]]}})
        for each in part().cells
    ]
    numeric = part(factors={**part().factors, "fault": ["500", "3000"]}, cells=cells)
    layout = layout_of(numeric)
    found: list[RunData] = runs()
    figure = trial_figures(numeric, found, {})[0]
    dots = [mark for mark in figure.panels[0].marks if isinstance(mark, TrialDot)]
    assert layout.x == "fault" and len(figure.panels) == 2 and len(dots) == 40
    assert all(min(abs(dot.x - at) for at in (0, 1)) < 0.5 for dot in dots)
    assert max(dot.x for dot in dots if dot.colour == 0 and dot.x < 0.5) < min(
        dot.x for dot in dots if dot.colour == 1
    )
