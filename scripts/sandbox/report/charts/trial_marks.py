"""PURE: what only charts of trials draw: a trial, their median, a band of a lane, a shaded time, a
moment.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from sandbox.report.charts.svg import Frame, path_element, tone

_DOT, _TRIANGLE = 2.4, 3.2
_FILLED = ' style="fill:currentColor;stroke:none;fill-opacity:{}"'


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
