"""PURE: a table of squares, each with its numbers, coloured by how large the first of them is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from sandbox.report.charts.svg import BroadPanel, text_element
from sandbox.report.text import cut

COLOUR = 2
"""Of ``templates/looks.j2``: a red, over the page's own background."""
FAINTEST, STRONGEST = 0.04, 0.5
"""How much of the colour covers the background; with more, the numbers would be hard to read."""
_ROW, _HEAD, _GAP, _LETTER = 62, 40, 3, 6.3
_NARROWEST, _WIDEST, _LONGEST_NAME = 104, 170, 40


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
            int(self._left + self._column * len(self.names)) + _GAP,
            _HEAD + _ROW * len(self.rows) + _GAP,
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
                self._left - 8, _HEAD + (index + 0.5) * _ROW + 4, cut(name, _LONGEST_NAME), "end"
            )

    def _cells(self) -> Iterable[str]:
        for down, row in enumerate(self.rows):
            for along, column in enumerate(self.names):
                if square := self.squares.get((row, column)):
                    yield self._square(
                        square, self._left + along * self._column, _HEAD + down * _ROW
                    )

    def _square(self, square: HeatSquare, x: float, y: float) -> str:
        share = FAINTEST + (STRONGEST - FAINTEST) * square.heat
        dashes = ";stroke-dasharray:4 3" if square.dashed else ";stroke-opacity:.35"
        width, height = self._column - _GAP, _ROW - _GAP
        look = (
            f'class="c{COLOUR}"'
            f' style="fill:currentColor;stroke:currentColor;fill-opacity:{share:.3f}{dashes}"'
        )
        box = (
            f'<rect {look} x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
            ' rx="3"/>'
        )
        return f"<g><title>{escape(square.tooltip)}</title>{box}{''.join(_written(square, x + width / 2, y))}</g>"  # noqa: E501


def _written(square: HeatSquare, x: float, y: float) -> Iterable[str]:
    """In the colour of the page's text, which is legible on every square."""
    for index, line in enumerate(square.lines):
        first, last = index == 0, index == len(square.lines) - 1
        bold = ";font-weight:700" if first or (last and square.alarm) else ""
        style = f"font-size:{13 if first else 10}px{bold}"
        top = y + (16 if first else 16 + 12 * index + 1)
        yield (
            f'<text class="middle" x="{x:.1f}" y="{top:.1f}" style="{style}">{escape(line)}</text>'
        )
