"""A panel is well-formed SVG in which everything that was measured is drawn, and nothing runs out of the picture."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from sandbox.report.figure import Figure, picture
from sandbox.report.svg import Area, Bar, Dot, Level, Line, Mark, Panel

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


def test_text_is_escaped_and_told_where_the_pointer_rests() -> None:
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
    assert {"server mysql", "server mariadb"} <= set(texts(turned)), "one below the other there is room"


def test_seconds_are_whole_numbers() -> None:
    panel = Panel("", [Line([(1, 5.0), (3, 6.0)], 0)], "second", "1/s", span=(1, 3))
    assert {"1", "2", "3"} <= set(texts(panel)) and "1.5" not in texts(panel)


def test_a_logarithmic_axis_says_so() -> None:
    panel = Panel("", [Dot(0, 1, 0, ""), Dot(0, 1000, 0, "")], "threads", "ms", ("1",))
    assert "ms; log scale" in texts(panel)


def test_a_picture_of_its_own_holds_title_legend_caption_and_every_panel() -> None:
    made = Figure("levels", "throughput", "How it is read, at some length. " * 9, [PANEL] * 4, ("relaxed", "durable"))
    root = parsed(picture(made))
    told = " ".join(element.text or "" for element in root.iter(f"{SPACE}text"))
    for wanted in ("throughput", "relaxed", "durable", "How it is read", "workload <x>"):
        assert wanted in told
    panels = root.findall(f"{SPACE}svg")
    assert len(panels) == 4
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    corners = [{name: float(panel.get(name, 0)) for name in ("x", "y", "width", "height")} for panel in panels]
    assert all(box["x"] + box["width"] <= width and box["y"] + box["height"] <= height for box in corners)
    assert len({(box["x"], box["y"]) for box in corners}) == 4, "none lies on another"
    assert "var(" not in picture(made), "colours are its own"
