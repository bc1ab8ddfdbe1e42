"""PURE: strips of charts one above the other over one axis of time, each with its own height and
legend.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from sandbox.report.charts.svg import (
    LOG_FROM,
    Axis,
    BroadPanel,
    Frame,
    Mark,
    axis_of,
    text_element,
    tone,
    written,
)
from sandbox.report.text import cut

BREADTH = 1120
_LEFT, _RIGHT, _HEAD, _FOOT = 86, 150, 18, 34
_STRIP, _LANE = 78, 22
_MOST_TICKS = 4
_WIDEST_KEY = 22


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
                *_scale(strip, frame),
                *(mark.draw(frame) for mark in [*self.marks, *strip.marks]),
            ]
            body += [text_element(frame.left, frame.top - 5, title, ""), *_key(strip, frame)]
            top += _HEAD + strip.height
            last = frame
        body += _seconds(last, self.x_title)
        width, height = self.size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {place}'
            ' role="img"'
        )
        return f'{head} aria-label="{escape(self.title)}">{"".join(body)}</svg>'


def _scale(strip: Strip, frame: Frame) -> Iterable[str]:
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


def _key(strip: Strip, frame: Frame) -> Iterable[str]:
    x = frame.left + frame.width + 10
    for index, (name, colour) in enumerate(strip.key):
        y = frame.top + 9 + 13 * index
        yield f'<circle class="{tone(colour)}" cx="{x + 3:.1f}" cy="{y - 4:.1f}" r="3.2"></circle>'
        yield text_element(x + 11, y, cut(name, _WIDEST_KEY), "")


def _seconds(frame: Frame, title: str) -> Iterable[str]:
    """Numbers below the last strip."""
    y = frame.top + frame.height + 14
    for tick in frame.x.ticks():
        yield text_element(frame.point(tick, frame.y.low)[0], y, written(tick), "middle")
    yield text_element(frame.left + frame.width / 2, y + 14, title, "middle")
