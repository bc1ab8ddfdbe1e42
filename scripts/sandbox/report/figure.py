"""PURE: a figure is a group of panels with one legend and a caption; in a page, or as a separate picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from sandbox.report.svg import LOOKS, WIDTH, Panel, tone

LIGHT = ("#5b6470", "#0067b1", "#d1495b", "#1b8a4b", "#a85f00", "#7b3fa0", "#0a8a9a", "#c2348b", "#6b7a00", "#8a4b2a")
DARK = ("#aab4c0", "#5ab0f2", "#ff7f8f", "#5bd08b", "#f0a94a", "#c08df0", "#4fd0df", "#ff86cb", "#c3d24a", "#d79a72")
"""The first is the baseline's, more muted than the others."""
_GAP, _HEAD, _COLUMNS = 18, 22, 3


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
    return f"{open_}<style>{_style()}</style>{paper}{''.join([*head, *body])}</svg>\n"


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
    for text in _wrapped(figure.caption, int((width - 2 * _GAP) / 6)):
        lines.append(_line(_GAP, y, text, "12px", "faint"))
        y += 16
    return lines, y


def _wrapped(text: str, longest: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= longest:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _line(x: float, y: float, text: str, font: str, look: str = "ink") -> str:
    weight, size = font.split() if " " in font else ("400", font)
    style = f'style="font-weight:{weight};font-size:{size}"'
    return f'<text class="{look}" x="{x:.0f}" y="{y}" {style}>{escape(text)}</text>'


def _style() -> str:
    tones = "".join(f".c{index}{{color:{colour}}}" for index, colour in enumerate(LIGHT))
    rest = ".grey{color:#6b6b6b}.grid{color:#d9d9d9}.faint{color:#5a5f66}.ink{color:#1b1b1b}"
    return f"text{{font-family:'DejaVu Sans',Arial,sans-serif;font-size:11px}}{tones}{rest}{LOOKS}"
