"""A panel is well-formed SVG in which everything that was measured is drawn, inside axes with round
ticks.
"""

import itertools
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.report.charts.svg import (
    Area,
    Axis,
    Bar,
    Dot,
    Figure,
    Level,
    Line,
    Mark,
    Panel,
    axis_of,
    written,
)
from sandbox.report.render.html import picture
from sandbox.report.text import figure

SPACE = "{http://www.w3.org/2000/svg}"
MARKS: list[Mark] = [
    Area((-0.3, 0.3), 0.95, 1.05),
    Level(1.0),
    Bar(0, 0.8, 0.9, 1, thick=True),
    Bar(0, -2.0, 0.95, 1, thick=False),
    Dot(0, 0.85, 1, "variant <b>, 0.85"),
    Line([(0, 0.8), (1, 0.9), None, (1, 1.0), (1, 1.1)], 2),
]
PANEL = Panel("workload <x>", MARKS, "threads", "1/s", ("1", "16"), zero=False)


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)  # noqa: S314  (our own text)


def classes(panel: Panel) -> list[str]:
    return [element.get("class", "") for element in parsed(panel.svg()).iter()]


@pytest.mark.parametrize("turned", [False, True])
def test_every_mark_is_drawn_inside_the_picture(turned: bool) -> None:
    panel = replace(PANEL, turned=turned)
    width, height = panel.size
    found = classes(panel)
    for wanted in ("grey area", "grey level", "c1 thick", "c1 thin", "c1", "c2 line"):
        assert wanted in found, wanted
    for data in re.findall(r' d="([^"]+)"', panel.svg()):
        for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", data):
            assert 0 <= float(x) <= width and 0 <= float(y) <= height
    assert parsed(panel.svg()).get("viewBox") == f"0 0 {width} {height}"


def test_text_is_escaped_and_shown_where_the_pointer_rests() -> None:
    root = parsed(PANEL.svg())
    assert root.get("aria-label") == "workload <x> 1/s"
    assert [title.text for title in root.iter(f"{SPACE}title")] == ["variant <b>, 0.85"]


def test_a_gap_interrupts_a_line() -> None:
    (data,) = re.findall(r'class="c2 line" d="([^"]+)"', PANEL.svg())
    assert data.count("M") == 2
    assert Line([(0, 1), None], 0).draw(PANEL._frame()) == "", "a single point is no line"


def test_a_spread_below_zero_does_not_stretch_the_axis() -> None:
    assert min(float(text) for text in texts(PANEL) if re.fullmatch(r"-?[\d.]+", text)) > 0


def texts(panel: Panel) -> list[str]:
    return [element.text or "" for element in parsed(panel.svg()).iter(f"{SPACE}text")]


def test_names_stand_along_the_axis_and_long_ones_are_cut() -> None:
    assert {"1", "16", "threads", "1/s"} <= set(texts(PANEL))
    many = replace(PANEL, names=tuple(f"oltp_read_write_{index}" for index in range(8)))
    assert any(text.endswith("…") for text in texts(many))
    turned = replace(PANEL, names=("server mysql", "server mariadb"), turned=True)
    assert {"server mysql", "server mariadb"} <= set(texts(turned)), (
        "one below the other there is room"
    )


def test_seconds_are_whole_numbers() -> None:
    panel = Panel("", [Line([(1, 5.0), (3, 6.0)], 0)], "second", "1/s", span=(1, 3))
    assert {"1", "2", "3"} <= set(texts(panel)) and "1.5" not in texts(panel)


def test_a_logarithmic_axis_says_so() -> None:
    panel = Panel("", [Dot(0, 1, 0, ""), Dot(0, 1000, 0, "")], "threads", "ms", ("1",))
    assert "ms; log scale" in texts(panel)


def test_a_picture_of_its_own_holds_title_legend_caption_and_every_panel() -> None:
    made = Figure(
        "levels",
        "throughput",
        "How it is read, at some length. " * 9,
        [PANEL] * 4,
        ("relaxed", "durable"),
    )
    root = parsed(picture(made))
    shown = " ".join(element.text or "" for element in root.iter(f"{SPACE}text"))
    for wanted in ("throughput", "relaxed", "durable", "How it is read", "workload <x>"):
        assert wanted in shown
    panels = root.findall(f"{SPACE}svg")
    assert len(panels) == 4
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    corners = [
        {name: float(panel.get(name, 0)) for name in ("x", "y", "width", "height")}
        for panel in panels
    ]
    assert all(
        box["x"] + box["width"] <= width and box["y"] + box["height"] <= height for box in corners
    )
    assert len({(box["x"], box["y"]) for box in corners}) == 4, "none lies on another"
    assert "var(" not in picture(made), "colours are its own"


SIZES = st.floats(1e-9, 1e12)
VALUES = st.lists(
    st.one_of(st.just(0.0), SIZES, SIZES.map(lambda size: -size)), min_size=1, max_size=20
)


@given(VALUES, st.booleans())
def test_every_value_is_inside_and_the_ticks_are_few_and_ascending(
    values: list[float], zero: bool
) -> None:
    axis = axis_of(values, zero)
    assert axis.low <= min(values) and max(values) <= axis.high
    assert all(0 <= axis.place(value) <= 1 for value in values)
    ticks = axis.ticks()
    assert len(ticks) <= 7 and all(axis.low <= tick <= axis.high for tick in ticks)
    assert all(low < high for low, high in itertools.pairwise(ticks))


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0, 834], [0, 200, 400, 600, 800]),
        ([0, 1], [0, 0.25, 0.5, 0.75, 1]),
        ([0], [0, 0.25, 0.5, 0.75, 1]),
        ([1, 1000], [1, 10, 100, 1000]),
        ([2, 45], [2, 5, 10, 20, 50]),
    ],
)
def test_ticks_are_round(values: list[float], ticks: list[float]) -> None:
    assert axis_of(values).ticks() == ticks


def test_small_values_are_seen_beside_large_ones() -> None:
    axis = axis_of([1, 500])
    assert (
        axis.logarithmic and axis.place(1) < 0.1 and axis.place(22) == pytest.approx(0.5, abs=0.02)
    )
    assert not axis_of([0, 500]).logarithmic and not axis_of([-1, 500]).logarithmic, (
        "zero has no logarithm"
    )


def test_what_lies_outside_is_drawn_at_the_edge() -> None:
    assert Axis(1, 10, logarithmic=True).place(-3) == 0 and Axis(0, 1).place(7) == 1


@pytest.mark.parametrize(
    ("value", "tick", "in_table"),
    [
        (0, "0", "0"),
        (0.05, "0.05", "0.05"),
        (12_000, "12k", "12,000"),
        (1_500_000, "1.5M", "1,500,000"),
        (13214.6, "13.21k", "13,215"),
        (999.96, "1000", "1,000"),
    ],
)
def test_numbers_are_written_to_be_read(value: float, tick: str, in_table: str) -> None:
    assert (written(value), figure(value)) == (tick, in_table)
