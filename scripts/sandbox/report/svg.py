"""PURE: charts as SVG text: axes, marks in a frame, panels, and figures of several panels as one picture."""

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Protocol

from sandbox.report.text import cut

WIDTH, HEIGHT = 340, 220
_TOP, _RIGHT, _BOTTOM, _LEFT = 8, 10, 34, 22
_ROW = 26
"""Height of a row where the categories are stacked vertically."""
LOOKS = (
    "svg path{stroke:currentColor;fill:none}svg circle,svg text{fill:currentColor}svg .middle{text-anchor:middle}"
    "svg .end{text-anchor:end}svg .line{stroke-width:1.7}svg .one{stroke-opacity:.35}svg .thin{stroke-width:1.1}"
    "svg .thick{stroke-width:5.5;stroke-opacity:.45}svg .area{fill:currentColor;fill-opacity:.14;stroke:none}"
    "svg .level{stroke-dasharray:4 3}"
)
"""CSS rules for marks: once per page, since a page may hold hundreds of charts."""
LIGHT = ("#5b6470", "#0067b1", "#d1495b", "#1b8a4b", "#a85f00", "#7b3fa0", "#0a8a9a", "#c2348b", "#6b7a00", "#8a4b2a")
DARK = ("#aab4c0", "#5ab0f2", "#ff7f8f", "#5bd08b", "#f0a94a", "#c08df0", "#4fd0df", "#ff86cb", "#c3d24a", "#d79a72")
"""The first is the baseline's, more muted than the others."""
_STYLE = (
    "text{font-family:'DejaVu Sans',Arial,sans-serif;font-size:11px}"
    + "".join(f".c{index}{{color:{colour}}}" for index, colour in enumerate(LIGHT))
    + f".grey{{color:#6b6b6b}}.grid{{color:#d9d9d9}}.faint{{color:#5a5f66}}.ink{{color:#1b1b1b}}{LOOKS}"
)
"""Of a picture that stands alone."""
_GAP, _HEAD, _COLUMNS = 18, 22, 3
LOG_FROM = 20.0
"""Ratio of largest to smallest value that makes an axis logarithmic: else all small values merge into one line."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of numbers; ``place`` maps it to 0…1, clamped, so that nothing is drawn outside."""

    low: float
    high: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """0 at the low end, 1 at the high end."""
        low, high = self._scaled(self.low), self._scaled(self.high)
        return min(1.0, max(0.0, (self._scaled(max(value, self.low)) - low) / (high - low)))

    def ticks(self) -> list[float]:
        """Three to six round numbers inside the range (on a logarithmic axis 1, 2, 5 of each power of ten, thinned)."""
        return _log_ticks(self.low, self.high) if self.logarithmic else _linear_ticks(self.low, self.high)

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value


def axis_of(values: Iterable[float], zero: bool = True, log_from: float = LOG_FROM) -> Axis:
    """The axis that holds all values, with some room above; starts at 0 with ``zero``, unless it is logarithmic."""
    seen = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(seen), max(seen)
    above = [value for value in seen if value > 0]
    if above and len(above) == len(seen) and high > log_from * low:
        return Axis(low / 1.2, high * 1.2, logarithmic=True)
    if zero:
        low = min(0.0, low)
    if high - low <= 1e-6 * max(abs(low), abs(high)):  # equal, but for differences that no axis can show
        low, high = (0.0, 1.0) if high == 0 else (low - abs(low) / 10, high + abs(high) / 10)
    air = 0.06 * (high - low)
    return Axis(low if zero and low == 0 else low - air, high + air)


def _linear_ticks(low: float, high: float) -> list[float]:
    raw = (high - low) / 5
    power = 10 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    ticks = [float(f"{index * step:.12g}") for index in range(first, math.floor(high / step + 1e-9) + 1)]
    return [tick for tick in ticks if low <= tick <= high]


def _log_ticks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [tick for power in powers for factor in (1, 2, 5) if low <= (tick := factor * 10.0**power) <= high]
    if len(ticks) <= 6:
        return ticks
    decades = [tick for tick in ticks if round(math.log10(tick), 9).is_integer()]
    kept = decades if len(decades) > 1 else ticks
    return kept[:: math.ceil(len(kept) / 6)]


def written(value: float) -> str:
    """A number for a tick: ``12k``, ``1.5M``, ``0.05``."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"


@dataclass(frozen=True, slots=True)
class Frame:
    """Maps a chart's own coordinates to the picture. ``turned``: x runs downwards and y to the right."""

    x: Axis
    y: Axis
    left: float
    top: float
    width: float
    height: float
    turned: bool

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Pixels from the left and from the top."""
        along, up = self.x.place(x), self.y.place(y)
        if self.turned:
            return self.left + up * self.width, self.top + along * self.height
        return self.left + along * self.width, self.top + (1 - up) * self.height

    def path(self, points: Iterable[tuple[float, float]]) -> str:
        """SVG path data through the points."""
        return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in (self.point(*point) for point in points))


class Mark(Protocol):
    """Anything drawn in a chart."""

    def heights(self) -> Iterable[float]:
        """The y values that must be inside the axis."""

    def draw(self, frame: Frame) -> str:
        """SVG elements."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A value. ``tooltip`` is shown when the pointer rests on it."""

    x: float
    y: float
    colour: int
    tooltip: str

    def heights(self) -> Iterable[float]:
        return (self.y,)

    def draw(self, frame: Frame) -> str:
        x, y = frame.point(self.x, self.y)
        title = f"<title>{escape(self.tooltip)}</title>"
        return f'<circle class="{tone(self.colour)}" cx="{x:.1f}" cy="{y:.1f}" r="3.2">{title}</circle>'


@dataclass(frozen=True, slots=True)
class Bar:
    """From low to high at x: thick for an interval, thin for a spread."""

    x: float
    low: float
    high: float
    colour: int
    thick: bool

    def heights(self) -> Iterable[float]:
        """Both ends; a spread that reaches below zero ends at the edge, since nothing measured is negative."""
        return (self.low, self.high) if self.thick or self.low > 0 else (self.high,)

    def draw(self, frame: Frame) -> str:
        look = "thick" if self.thick else "thin"
        return _path(self.colour, look, frame.path([(self.x, self.low), (self.x, self.high)]))


@dataclass(frozen=True, slots=True)
class Line:
    """Through all points; None interrupts it. ``faint``: one of many; no colour: dashed."""

    points: Sequence[tuple[float, float] | None]
    colour: int | None
    faint: bool = False

    def heights(self) -> Iterable[float]:
        return [point[1] for point in self.points if point]

    def draw(self, frame: Frame) -> str:
        pieces: list[list[tuple[float, float]]] = [[]]
        for point in self.points:
            pieces[-1].append(point) if point else pieces.append([])
        data = "".join(frame.path(piece) for piece in pieces if len(piece) > 1)
        if not data:
            return ""
        look = "level" if self.colour is None else "one" if self.faint else "line"
        return _path(self.colour, look, data)


@dataclass(frozen=True, slots=True)
class Area:
    """A grey rectangle in the chart's own coordinates."""

    x: tuple[float, float]
    low: float
    high: float

    def heights(self) -> Iterable[float]:
        return (self.low, self.high)

    def draw(self, frame: Frame) -> str:
        first, last = self.x
        data = frame.path([(first, self.low), (last, self.low), (last, self.high), (first, self.high)])
        return _path(None, "area", f"{data}Z")


@dataclass(frozen=True, slots=True)
class Level:
    """A dashed line across all of x."""

    y: float

    def heights(self) -> Iterable[float]:
        return (self.y,)

    def draw(self, frame: Frame) -> str:
        return _path(None, "level", frame.path([(frame.x.low, self.y), (frame.x.high, self.y)]))


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart. ``names``: categories at x = 0, 1, 2 …; empty for an x of numbers.

    ``turned``: the categories are stacked vertically, which keeps long names legible.
    """

    title: str
    marks: Sequence[Mark]
    x_title: str
    y_title: str
    names: Sequence[str] = ()
    span: tuple[float, float] = (0.0, 1.0)
    """Range of an x of numbers."""
    turned: bool = False
    zero: bool = True
    log_from: float = LOG_FROM
    group: str = ""
    """A heading over this panel and those after it that have the same one."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, in pixels when unscaled."""
        return WIDTH, _TOP + _BOTTOM + _ROW * len(self.names) if self.turned else HEIGHT

    def svg(self, place: str = "") -> str:
        """The whole element; ``place``: further attributes."""
        frame = self._frame()
        width, height = self.size
        body = [*_grid(frame), *(mark.draw(frame) for mark in self.marks), *self._names(frame), *self._titles(frame)]
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {place} role="img"'
        return f'{head} aria-label="{escape(f"{self.title} {self.y_title}".strip())}">{"".join(body)}</svg>'

    def _frame(self) -> Frame:
        width, height = self.size
        x = Axis(-0.5, len(self.names) - 0.5) if self.names else Axis(*self.span)
        y = axis_of((value for mark in self.marks for value in mark.heights()), self.zero, self.log_from)
        beside = self.names if self.turned else [written(tick) for tick in y.ticks()]
        left = min(160, _LEFT + 6.3 * max(map(len, beside), default=0))
        return Frame(x, y, left, _TOP, width - left - _RIGHT, height - _TOP - _BOTTOM, self.turned)

    def _names(self, frame: Frame) -> Iterable[str]:
        if not self.names:
            ticks = [tick for tick in frame.x.ticks() if tick == int(tick)]
            return [_text(*_below(frame, tick), written(tick), "middle") for tick in ticks]
        if frame.turned:
            longest = int((frame.left - 10) / 6.3)
            rows = ((frame.point(index, frame.y.low)[1], name) for index, name in enumerate(self.names))
            return [_text(frame.left - 6, y + 4, cut(name, longest), "end") for y, name in rows]
        longest = max(2, int(frame.width / len(self.names) / 6))
        return [_text(*_below(frame, index), cut(name, longest), "middle") for index, name in enumerate(self.names)]

    def _titles(self, frame: Frame) -> Iterable[str]:
        below, beside = (self.y_title, "") if self.turned else (self.x_title, self.y_title)
        if frame.y.logarithmic:
            below, beside = (f"{below}; log scale", beside) if self.turned else (below, f"{beside}; log scale")
        yield _text(frame.left + frame.width / 2, frame.top + frame.height + 28, below, "middle")
        if beside:
            middle = frame.top + frame.height / 2
            turn = f' transform="rotate(-90 10 {middle:.0f})"'
            yield _text(10, middle, beside, "middle", turn)


def tone(colour: int | None) -> str:
    """The class of a colour; None: grey. An eleventh variant reuses the first one's."""
    return "grey" if colour is None else f"c{colour % len(LIGHT)}"


def _path(colour: int | None, look: str, data: str) -> str:
    return f'<path class="{tone(colour)} {look}" d="{data}"/>'


def _grid(frame: Frame) -> Iterable[str]:
    for tick in frame.y.ticks():
        data = frame.path([(frame.x.low, tick), (frame.x.high, tick)])
        yield f'<path class="grid" d="{data}"/>'
        x, y = frame.point(frame.x.low, tick)
        x, y, anchor = (x, frame.top + frame.height + 14, "middle") if frame.turned else (x - 5, y + 4, "end")
        yield _text(x, y, written(tick), anchor)


def _below(frame: Frame, x: float) -> tuple[float, float]:
    return frame.point(x, frame.y.low)[0], frame.top + frame.height + 14


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text class="faint {anchor}" x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>'


@dataclass(frozen=True, slots=True)
class Figure:
    """``name``: also a file name; ``caption``: how to read it; ``legend``: variants in the order of their colours."""

    name: str
    title: str
    caption: str
    panels: Sequence[Panel]
    legend: Sequence[str] = ()
    folded: bool = False
    """Collapsed until opened: one of many."""


def picture(figure: Figure) -> str:
    """The figure as one self-contained SVG file: on white, with title, legend and caption."""
    columns = min(_COLUMNS, max(2, len(figure.panels)))
    width = columns * (WIDTH + _GAP) + _GAP
    head, y = _headings(figure, width)
    body = []
    for first in range(0, len(figure.panels), columns):
        row = figure.panels[first : first + columns]
        for column, panel in enumerate(row):
            x = _GAP + column * (WIDTH + _GAP)
            body.append(_line(x, y + 12, panel.title, "600 12px"))
            body.append(panel.svg(f'x="{x}" y="{y + _HEAD}" width="{panel.size[0]}" height="{panel.size[1]}"'))
        y += _HEAD + _GAP + max(panel.size[1] for panel in row)
    open_ = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" viewBox="0 0 {width} {y}">'
    paper = f'<rect width="{width}" height="{y}" fill="#ffffff"/>'
    return f"{open_}<style>{_STYLE}</style>{paper}{''.join([*head, *body])}</svg>\n"


def _headings(figure: Figure, width: int) -> tuple[list[str], int]:
    """Title, legend and caption, and how far down they reach."""
    lines, x, y = [_line(_GAP, 28, figure.title, "600 17px")], float(_GAP), 52
    for index, name in enumerate(figure.legend):
        length = 26 + 6.6 * len(name)
        if x > _GAP and x + length > width - _GAP:
            x, y = float(_GAP), y + 20
        lines.append(f'<circle class="{tone(index)}" cx="{x + 5}" cy="{y - 4}" r="5"/>')
        lines.append(_line(x + 15, y, name, "12px"))
        x += length
    y += 20 if figure.legend else 0
    for text in textwrap.wrap(figure.caption, (width - 2 * _GAP) // 6, break_long_words=False, break_on_hyphens=False):
        lines.append(_line(_GAP, y, text, "12px", "faint"))
        y += 16
    return lines, y


def _line(x: float, y: float, text: str, font: str, look: str = "ink") -> str:
    weight, size = font.split() if " " in font else ("400", font)
    style = f'style="font-weight:{weight};font-size:{size}"'
    return f'<text class="{look}" x="{x:.0f}" y="{y}" {style}>{escape(text)}</text>'
