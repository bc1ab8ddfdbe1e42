"""PURE: what only charts of trials draw: heat maps, strips over one axis of time, their marks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from sandbox.report.charts.svg import (
    LOG_FROM,
    Axis,
    BroadPanel,
    Frame,
    Mark,
    axis_of,
    path_element,
    text_element,
    tone,
    written,
)
from sandbox.report.text import cut

COLOUR = 2
"""Of ``templates/looks.j2``: a red, over the page's own background."""
FAINTEST, STRONGEST = 0.04, 0.5
"""How much of the colour covers the background; with more, the numbers would be hard to read."""
_HEAT_ROW, _HEAT_HEAD, _HEAT_GAP, _LETTER = 62, 40, 3, 6.3
_NARROWEST, _WIDEST, _LONGEST_NAME = 104, 170, 40
BREADTH = 1120
_LEFT, _RIGHT, _HEAD, _FOOT = 86, 150, 18, 34
_STRIP, _LANE = 78, 22
_MOST_TICKS = 4
_WIDEST_KEY = 22
_DOT, _TRIANGLE = 2.4, 3.2
_FILLED = ' style="fill:currentColor;stroke:none;fill-opacity:{}"'


@dataclass(frozen=True, slots=True)
class HeatSquare:
    """``heat``: 0 to 1; ``lines``: what is written, the first one large; ``alarm``: the last line
    stands out.

    ``dashed``: the number is only a lower bound.
    """

    heat: float
    lines: Sequence[str]
    tooltip: str
    alarm: bool = False
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap(BroadPanel):
    """``names``: the columns; ``x_title`` and ``y_title``: what columns and rows are. A missing
    square stays empty.
    """

    rows: Sequence[str]
    squares: Mapping[tuple[str, str], HeatSquare]
    """By row and column."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return (
            int(self._left + self._column * len(self.names)) + _HEAT_GAP,
            _HEAT_HEAD + _HEAT_ROW * len(self.rows) + _HEAT_GAP,
        )

    @property
    def _left(self) -> float:
        longest = max(map(len, [self.y_title, *self.rows]), default=0)
        return 14 + _LETTER * min(_LONGEST_NAME, longest)

    @property
    def _column(self) -> float:
        longest = max(map(len, self.names), default=0)
        return min(_WIDEST, max(_NARROWEST, 16 + _LETTER * longest))

    def svg(self, place: str = "") -> str:
        """The whole element."""
        width, height = self.size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {place}'
            ' role="img"'
        )
        body = [*self._headings(), *self._cells()]
        return f'{head} aria-label="{escape(self.title)}">{"".join(body)}</svg>'

    def _headings(self) -> Iterable[str]:
        yield text_element(self._left - 8, 30, cut(self.y_title, _LONGEST_NAME), "end")
        yield text_element(
            self._left + self._column * len(self.names) / 2, 12, self.x_title, "middle"
        )
        longest = int((self._column - 8) / _LETTER)
        for index, name in enumerate(self.names):
            yield text_element(
                self._left + (index + 0.5) * self._column, 30, cut(name, longest), "middle"
            )
        for index, name in enumerate(self.rows):
            yield text_element(
                self._left - 8,
                _HEAT_HEAD + (index + 0.5) * _HEAT_ROW + 4,
                cut(name, _LONGEST_NAME),
                "end",
            )

    def _cells(self) -> Iterable[str]:
        for down, row in enumerate(self.rows):
            for along, column in enumerate(self.names):
                if square := self.squares.get((row, column)):
                    yield self._square(
                        square, self._left + along * self._column, _HEAT_HEAD + down * _HEAT_ROW
                    )

    def _square(self, square: HeatSquare, x: float, y: float) -> str:
        share = FAINTEST + (STRONGEST - FAINTEST) * square.heat
        dashes = ";stroke-dasharray:4 3" if square.dashed else ";stroke-opacity:.35"
        width, height = self._column - _HEAT_GAP, _HEAT_ROW - _HEAT_GAP
        look = (
            f'class="c{COLOUR}"'
            f' style="fill:currentColor;stroke:currentColor;fill-opacity:{share:.3f}{dashes}"'
        )
        box = (
            f'<rect {look} x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
            ' rx="3"/>'
        )
        return f"<g><title>{escape(square.tooltip)}</title>{box}{''.join(_in_square(square, x + width / 2, y))}</g>"  # noqa: E501


def _in_square(square: HeatSquare, x: float, y: float) -> Iterable[str]:
    """In the colour of the page's text, which is legible on every square."""
    for index, line in enumerate(square.lines):
        first, last = index == 0, index == len(square.lines) - 1
        bold = ";font-weight:700" if first or (last and square.alarm) else ""
        style = f"font-size:{13 if first else 10}px{bold}"
        top = y + (16 if first else 16 + 12 * index + 1)
        yield (
            f'<text class="middle" x="{x:.1f}" y="{top:.1f}" style="{style}">{escape(line)}</text>'
        )


@dataclass(frozen=True, slots=True)
class Strip:
    """One chart of them. ``key``: names and colours, written beside it; ``lanes``: names of y = 0,
    1, 2 …
    """

    title: str
    marks: Sequence[Mark]
    key: Sequence[tuple[str, int]] = ()
    lanes: Sequence[str] = ()
    log_from: float = LOG_FROM

    @property
    def height(self) -> int:
        """Of the chart itself, in pixels."""
        return _LANE * len(self.lanes) if self.lanes else _STRIP

    def axis(self) -> Axis:
        """The range of y."""
        if self.lanes:
            return Axis(-0.5, len(self.lanes) - 0.5)
        return axis_of(
            (value for mark in self.marks for value in mark.heights()), log_from=self.log_from
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Strips(BroadPanel):
    """The strips as one picture; its own marks are drawn behind each of them."""

    strips: Sequence[Strip]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return BREADTH, sum(_HEAD + strip.height for strip in self.strips) + _FOOT

    def svg(self, place: str = "") -> str:
        """The whole element."""
        body, top, wide = [], 0, BREADTH - _LEFT - _RIGHT
        for strip in self.strips:
            frame = Frame(
                Axis(*self.span), strip.axis(), _LEFT, top + _HEAD, wide, strip.height, False
            )
            title = f"{strip.title}; log scale" if frame.y.logarithmic else strip.title
            body += [
                *_scale_of(strip, frame),
                *(mark.draw(frame) for mark in [*self.marks, *strip.marks]),
            ]
            body += [text_element(frame.left, frame.top - 5, title, ""), *_key_beside(strip, frame)]
            top += _HEAD + strip.height
            last = frame
        body += _seconds_below(last, self.x_title)
        width, height = self.size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {place}'
            ' role="img"'
        )
        return f'{head} aria-label="{escape(self.title)}">{"".join(body)}</svg>'


def _scale_of(strip: Strip, frame: Frame) -> Iterable[str]:
    """Names of the lanes, or lines with their numbers."""
    for lane, name in enumerate(strip.lanes):
        yield text_element(
            frame.left - 6, frame.point(frame.x.low, lane)[1] + 4, cut(name, 13), "end"
        )
    ticks = [] if strip.lanes else frame.y.ticks()
    for tick in ticks[:: -(-len(ticks) // _MOST_TICKS) or 1]:
        data = frame.path([(frame.x.low, tick), (frame.x.high, tick)])
        x, y = frame.point(frame.x.low, tick)
        yield f'<path class="grid" d="{data}"/>'
        yield text_element(x - 6, y + 4, written(tick), "end")


def _key_beside(strip: Strip, frame: Frame) -> Iterable[str]:
    x = frame.left + frame.width + 10
    for index, (name, colour) in enumerate(strip.key):
        y = frame.top + 9 + 13 * index
        yield f'<circle class="{tone(colour)}" cx="{x + 3:.1f}" cy="{y - 4:.1f}" r="3.2"></circle>'
        yield text_element(x + 11, y, cut(name, _WIDEST_KEY), "")


def _seconds_below(frame: Frame, title: str) -> Iterable[str]:
    """Numbers below the last strip."""
    y = frame.top + frame.height + 14
    for tick in frame.x.ticks():
        yield text_element(frame.point(tick, frame.y.low)[0], y, written(tick), "middle")
    yield text_element(frame.left + frame.width / 2, y + 14, title, "middle")


@dataclass(frozen=True, slots=True)
class TrialDot:
    """One trial at x; ``lowest``: where a smaller one is drawn. ``still_open``: a triangle that
    points to more.
    """

    x: float
    y: float
    colour: int
    tooltip: str
    still_open: bool
    lowest: float

    def heights(self) -> Iterable[float]:
        return (max(self.lowest, self.y),)

    def draw(self, frame: Frame) -> str:
        x, y = frame.point(self.x, max(self.lowest, self.y))
        if not self.still_open:
            circle = (
                f'<circle class="{tone(self.colour)}" cx="{x:.1f}" cy="{y:.1f}" r="{_DOT}"'
                ' fill-opacity="0.75">'
            )
            return f"{circle}{_title(self.tooltip)}</circle>"
        size = _TRIANGLE
        if frame.turned:  # more is to the right
            data = f"M{x - size:.1f},{y - size:.1f}L{x + size:.1f},{y:.1f}L{x - size:.1f},{y + size:.1f}Z"  # noqa: E501
        else:
            data = f"M{x - size:.1f},{y + size:.1f}L{x:.1f},{y - size:.1f}L{x + size:.1f},{y + size:.1f}Z"  # noqa: E501
        return _titled(path_element(self.colour, "thin", data), self.tooltip)


@dataclass(frozen=True, slots=True)
class MedianMark:
    """A short line across x at the median, in the colour of the text."""

    x: float
    y: float
    half: float
    tooltip: str
    lowest: float

    def heights(self) -> Iterable[float]:
        return (max(self.lowest, self.y),)

    def draw(self, frame: Frame) -> str:
        y = max(self.lowest, self.y)
        data = frame.path([(self.x - self.half, y), (self.x + self.half, y)])
        return _titled(f'<path class="line" d="{data}"/>', self.tooltip)


@dataclass(frozen=True, slots=True)
class AxisHolds:
    """Nothing to see: the axis holds both values, so that panels beside each other have the same
    one.
    """

    low: float
    high: float

    def heights(self) -> Iterable[float]:
        return (self.low, self.high)

    def draw(self, _: Frame) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class LaneBand:
    """Something that holds from ``begin`` to ``end``, drawn in the lane at height ``lane``."""

    begin: float
    end: float
    lane: int
    colour: int
    tooltip: str

    def heights(self) -> Iterable[float]:
        return (self.lane,)

    def draw(self, frame: Frame) -> str:
        low, high = self.lane - 0.32, self.lane + 0.32
        corners = [(self.begin, low), (self.end, low), (self.end, high), (self.begin, high)]
        element = path_element(self.colour, "lane", f"{frame.path(corners)}Z")
        return _titled(element.replace("/>", f"{_FILLED.format(0.8)}/>"), self.tooltip)


@dataclass(frozen=True, slots=True)
class Shade:
    """A time that is shaded over the whole height."""

    begin: float
    end: float
    tooltip: str

    def heights(self) -> Iterable[float]:
        return ()

    def draw(self, frame: Frame) -> str:
        low, high = frame.y.low, frame.y.high
        corners = [(self.begin, low), (self.end, low), (self.end, high), (self.begin, high)]
        return _titled(path_element(None, "area", f"{frame.path(corners)}Z"), self.tooltip)


@dataclass(frozen=True, slots=True)
class Moment:
    """A dashed line down at x."""

    x: float
    tooltip: str

    def heights(self) -> Iterable[float]:
        return ()

    def draw(self, frame: Frame) -> str:
        data = frame.path([(self.x, frame.y.low), (self.x, frame.y.high)])
        return _titled(path_element(None, "level", data), self.tooltip)


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>"


def _titled(element: str, tooltip: str) -> str:
    """A path with what the pointer shows on it."""
    return element.removesuffix("/>") + f">{_title(tooltip)}</path>"
