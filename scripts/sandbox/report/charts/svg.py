"""PURE: charts as SVG text: axes, marks in a frame, panels, and figures of several panels."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Protocol

from sandbox.report.text import cut

WIDTH, HEIGHT = 340, 220
_TOP, _RIGHT, _BOTTOM, _LEFT = 8, 10, 34, 22
_ROW = 26
"""Height of a row where the categories are stacked vertically."""
_COLOURS = 10
"""As many as ``templates/looks.j2`` has."""
LOG_FROM = 20.0
"""Ratio of largest to smallest value that makes an axis logarithmic: else all small values merge
into one line.
"""


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
        """Three to six round numbers inside the range (on a logarithmic axis 1, 2, 5 of each power
        of ten, thinned).
        """
        return (
            _log_ticks(self.low, self.high)
            if self.logarithmic
            else _linear_ticks(self.low, self.high)
        )

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value


def axis_of(values: Iterable[float], zero: bool = True, log_from: float = LOG_FROM) -> Axis:
    """The axis that holds all values, with some room above; starts at 0 with ``zero``, unless it is
    logarithmic.
    """
    seen = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(seen), max(seen)
    above = [value for value in seen if value > 0]
    if above and len(above) == len(seen) and high > log_from * low:
        return Axis(low / 1.2, high * 1.2, logarithmic=True)
    if zero:
        low = min(0.0, low)
    # equal, but for differences that no axis can show.
    if high - low <= 1e-6 * max(abs(low), abs(high)):
        low, high = (0.0, 1.0) if high == 0 else (low - abs(low) / 10, high + abs(high) / 10)
    air = 0.06 * (high - low)
    return Axis(low if zero and low == 0 else low - air, high + air)


def _linear_ticks(low: float, high: float) -> list[float]:
    raw = (high - low) / 5
    power = 10 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    ticks = [
        float(f"{index * step:.12g}") for index in range(first, math.floor(high / step + 1e-9) + 1)
    ]
    return [tick for tick in ticks if low <= tick <= high]


def _log_ticks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [
        tick
        for power in powers
        for factor in (1, 2, 5)
        if low <= (tick := factor * 10.0**power) <= high
    ]
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
    """Maps a chart's own coordinates to the picture. ``turned``: x runs downwards and y to the
    right.
    """

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
        return "M" + "L".join(
            f"{x:.1f},{y:.1f}" for x, y in (self.point(*point) for point in points)
        )


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
        return (
            f'<circle class="{tone(self.colour)}" cx="{x:.1f}" cy="{y:.1f}"'
            f' r="3.2">{title}</circle>'
        )


@dataclass(frozen=True, slots=True)
class Bar:
    """From low to high at x: thick for an interval, thin for a spread."""

    x: float
    low: float
    high: float
    colour: int
    thick: bool

    def heights(self) -> Iterable[float]:
        """Both ends; a spread that reaches below zero ends at the edge, since nothing measured is
        negative.
        """
        return (self.low, self.high) if self.thick or self.low > 0 else (self.high,)

    def draw(self, frame: Frame) -> str:
        look = "thick" if self.thick else "thin"
        return path_element(
            self.colour, look, frame.path([(self.x, self.low), (self.x, self.high)])
        )


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
        return path_element(self.colour, look, data)


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
        data = frame.path(
            [(first, self.low), (last, self.low), (last, self.high), (first, self.high)]
        )
        return path_element(None, "area", f"{data}Z")


@dataclass(frozen=True, slots=True)
class Level:
    """A dashed line across all of x."""

    y: float

    def heights(self) -> Iterable[float]:
        return (self.y,)

    def draw(self, frame: Frame) -> str:
        return path_element(
            None, "level", frame.path([(frame.x.low, self.y), (frame.x.high, self.y)])
        )


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
    def broad(self) -> bool:
        """Whether it needs a row of its own."""
        return self.size[0] > WIDTH

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, in pixels when unscaled."""
        return WIDTH, _TOP + _BOTTOM + _ROW * len(self.names) if self.turned else HEIGHT

    def svg(self, place: str = "") -> str:
        """The whole element; ``place``: further attributes."""
        frame = self._frame()
        width, height = self.size
        body = [
            *_grid(frame),
            *(mark.draw(frame) for mark in self.marks),
            *self._names(frame),
            *self._titles(frame),
        ]
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {place}'
            ' role="img"'
        )
        return (
            f"{head}"
            f' aria-label="{escape(f"{self.title} {self.y_title}".strip())}">{"".join(body)}</svg>'
        )

    def _frame(self) -> Frame:
        width, height = self.size
        x = Axis(-0.5, len(self.names) - 0.5) if self.names else Axis(*self.span)
        y = axis_of(
            (value for mark in self.marks for value in mark.heights()), self.zero, self.log_from
        )
        beside = self.names if self.turned else [written(tick) for tick in y.ticks()]
        left = min(160, _LEFT + 6.3 * max(map(len, beside), default=0))
        return Frame(x, y, left, _TOP, width - left - _RIGHT, height - _TOP - _BOTTOM, self.turned)

    def _names(self, frame: Frame) -> Iterable[str]:
        if not self.names:
            ticks = [tick for tick in frame.x.ticks() if tick == int(tick)]
            return [text_element(*_below(frame, tick), written(tick), "middle") for tick in ticks]
        if frame.turned:
            longest = int((frame.left - 10) / 6.3)
            rows = (
                (frame.point(index, frame.y.low)[1], name) for index, name in enumerate(self.names)
            )
            return [
                text_element(frame.left - 6, y + 4, cut(name, longest), "end") for y, name in rows
            ]
        longest = max(2, int(frame.width / len(self.names) / 6))
        return [
            text_element(*_below(frame, index), cut(name, longest), "middle")
            for index, name in enumerate(self.names)
        ]

    def _titles(self, frame: Frame) -> Iterable[str]:
        below, beside = (self.y_title, "") if self.turned else (self.x_title, self.y_title)
        if frame.y.logarithmic:
            below, beside = (
                (f"{below}; log scale", beside) if self.turned else (below, f"{beside}; log scale")
            )
        yield text_element(
            frame.left + frame.width / 2, frame.top + frame.height + 28, below, "middle"
        )
        if beside:
            middle = frame.top + frame.height / 2
            turn = f' transform="rotate(-90 10 {middle:.0f})"'
            yield text_element(10, middle, beside, "middle", turn)


@dataclass(frozen=True, slots=True)
class BroadPanel(Panel):
    """A chart that always has a row of its own."""

    @property
    def broad(self) -> bool:
        return True


def tone(colour: int | None) -> str:
    """The class of a colour; None: grey. An eleventh variant reuses the first one's."""
    return "grey" if colour is None else f"c{colour % _COLOURS}"


def path_element(colour: int | None, look: str, data: str) -> str:
    """A path in a colour; ``look``: its class in ``templates/looks.j2``."""
    return f'<path class="{tone(colour)} {look}" d="{data}"/>'


def _grid(frame: Frame) -> Iterable[str]:
    for tick in frame.y.ticks():
        data = frame.path([(frame.x.low, tick), (frame.x.high, tick)])
        yield f'<path class="grid" d="{data}"/>'
        x, y = frame.point(frame.x.low, tick)
        x, y, anchor = (
            (x, frame.top + frame.height + 14, "middle") if frame.turned else (x - 5, y + 4, "end")
        )
        yield text_element(x, y, written(tick), anchor)


def _below(frame: Frame, x: float) -> tuple[float, float]:
    return frame.point(x, frame.y.low)[0], frame.top + frame.height + 14


def text_element(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    """Words in a chart; ``anchor``: middle, end, or empty for the start; ``more``: further
    attributes.
    """
    return f'<text class="faint {anchor}" x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>'


@dataclass(frozen=True, slots=True)
class Figure:
    """``name``: also a file name; ``caption``: how to read it; ``legend``: variants in the order of
    their colours.
    """

    name: str
    title: str
    caption: str
    panels: Sequence[Panel]
    legend: Sequence[str] = ()
    folded: bool = False
    """Collapsed until opened: one of many."""
