"""PURE: a small chart as SVG text: marks inside a frame with two axes; colours by class, so that a page can be dark."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Protocol

from sandbox.report.axis import LOG_FROM, Axis, axis_of, written

WIDTH, HEIGHT = 340, 220
_TOP, _RIGHT, _BOTTOM, _LEFT = 8, 10, 34, 22
_ROW = 26
"""Height of a row where the categories are stacked vertically."""
COLOURS = 10
LOOKS = (
    "svg path{stroke:currentColor;fill:none}svg circle,svg text{fill:currentColor}svg .middle{text-anchor:middle}"
    "svg .end{text-anchor:end}svg .line{stroke-width:1.7}svg .one{stroke-opacity:.35}svg .thin{stroke-width:1.1}"
    "svg .thick{stroke-width:5.5;stroke-opacity:.45}svg .area{fill:currentColor;fill-opacity:.14;stroke:none}"
    "svg .level{stroke-dasharray:4 3}"
)
"""CSS rules for marks: once per page, since a page may hold hundreds of charts."""


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
        """Its value."""
        return (self.y,)

    def draw(self, frame: Frame) -> str:
        """A filled circle."""
        x, y = frame.point(self.x, self.y)
        where = f'cx="{x:.1f}" cy="{y:.1f}" r="3.2"'
        title = f"<title>{escape(self.tooltip)}</title>"
        return f'<circle class="{tone(self.colour)}" {where}>{title}</circle>'


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
        """A straight line."""
        look = "thick" if self.thick else "thin"
        data = frame.path([(self.x, self.low), (self.x, self.high)])
        return f'<path class="{tone(self.colour)} {look}" d="{data}"/>'


@dataclass(frozen=True, slots=True)
class Line:
    """Through all points; None interrupts it. ``faint``: one of many; no colour: dashed."""

    points: Sequence[tuple[float, float] | None]
    colour: int | None
    faint: bool = False

    def heights(self) -> Iterable[float]:
        """The value of every point."""
        return [point[1] for point in self.points if point]

    def draw(self, frame: Frame) -> str:
        """One path."""
        pieces: list[list[tuple[float, float]]] = [[]]
        for point in self.points:
            pieces[-1].append(point) if point else pieces.append([])
        data = "".join(frame.path(piece) for piece in pieces if len(piece) > 1)
        if not data:
            return ""
        look = "level" if self.colour is None else "one" if self.faint else "line"
        return f'<path class="{tone(self.colour)} {look}" d="{data}"/>'


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle in the chart's own coordinates: grey for a margin, else in a variant's colour."""

    x: tuple[float, float]
    low: float
    high: float
    colour: int | None = None

    def heights(self) -> Iterable[float]:
        """Both edges."""
        return (self.low, self.high)

    def draw(self, frame: Frame) -> str:
        """A closed path."""
        first, last = self.x
        data = frame.path([(first, self.low), (last, self.low), (last, self.high), (first, self.high)])
        return f'<path class="{tone(self.colour)} area" d="{data}Z"/>'


@dataclass(frozen=True, slots=True)
class Level:
    """A dashed line across all of x."""

    y: float

    def heights(self) -> Iterable[float]:
        """Its height."""
        return (self.y,)

    def draw(self, frame: Frame) -> str:
        """A dashed line."""
        data = frame.path([(frame.x.low, self.y), (frame.x.high, self.y)])
        return f'<path class="{tone(None)} level" d="{data}"/>'


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
            return [_text(frame.left - 6, y + 4, _cut(name, longest), "end") for y, name in rows]
        longest = max(2, int(frame.width / len(self.names) / 6))
        return [_text(*_below(frame, index), _cut(name, longest), "middle") for index, name in enumerate(self.names)]

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
    return "grey" if colour is None else f"c{colour % COLOURS}"


def _grid(frame: Frame) -> Iterable[str]:
    for tick in frame.y.ticks():
        data = frame.path([(frame.x.low, tick), (frame.x.high, tick)])
        yield f'<path class="grid" d="{data}"/>'
        x, y = frame.point(frame.x.low, tick)
        where = (x, frame.top + frame.height + 14, "middle") if frame.turned else (x - 5, y + 4, "end")
        yield _text(where[0], where[1], written(tick), where[2])


def _below(frame: Frame, x: float) -> tuple[float, float]:
    return frame.point(x, frame.y.low)[0], frame.top + frame.height + 14


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text class="faint {anchor}" x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>'
