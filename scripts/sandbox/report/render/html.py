"""PURE: a document as one self-contained HTML page, light and dark; a figure as one SVG picture.

Both are rendered from ``templates/``, which escape what they show.
"""

import re
import textwrap
from collections.abc import Sequence
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup, escape

from sandbox.report.charts.svg import WIDTH, Figure, tone
from sandbox.report.document import Document, Medium, Part, Table, shown_in

FOLD_FROM = 40
"""A table with more rows folds those without a finding."""
_GAP, _HEAD, _COLUMNS = 18, 22, 3
_HYPHENATED = re.compile(r"\S+-\S+")


def page(document: Document) -> str:
    """The whole file."""
    return rendered("page.html", document=shown_in(document, Medium.PAGE), kind=_kind, split=_split)


def _kind(part: Part) -> str:
    """The name of the macro that shows it."""
    return type(part).__name__.lower()


def _split(table: Table) -> tuple[list[object], list[object]]:
    """The rows that are shown, and those of a long table that are folded: the ones without a
    finding.
    """
    if len(table.rows) <= FOLD_FROM:
        return list(table.rows), []
    return [row for row in table.rows if not row.quiet], [row for row in table.rows if row.quiet]


def rendered(name: str, **values: Any) -> str:
    """One template, named by its file without ``.j2``, with these values."""
    return _environment().get_template(f"{name}.j2").render(values)


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("sandbox.report"),
        autoescape=jinja2.select_autoescape(("html.j2", "svg.j2")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["names"] = _names
    return made


def _names(value: str) -> Markup:
    """The text, with names such as ``proxysql-rw-split`` unbroken: a browser would break them at
    their hyphens.
    """
    return Markup(_HYPHENATED.sub(r'<span class="name">\g<0></span>', str(escape(value))))  # noqa: S704  (is escaped)


def picture(figure: Figure) -> str:
    """The figure as one self-contained SVG file: on white, with title, legend and caption."""
    column_width = max(WIDTH, *(panel.size[0] for panel in figure.panels))
    columns = 1 if column_width > WIDTH else min(_COLUMNS, max(2, len(figure.panels)))
    width = columns * (column_width + _GAP) + _GAP
    legend, captioned = _legend(figure.legend, width)
    caption = textwrap.wrap(
        figure.caption, (width - 2 * _GAP) // 6, break_long_words=False, break_on_hyphens=False
    )
    placed, y = [], captioned + 16 * len(caption)
    for first in range(0, len(figure.panels), columns):
        row = figure.panels[first : first + columns]
        placed += [(panel, _GAP + column * (WIDTH + _GAP), y) for column, panel in enumerate(row)]
        y += _HEAD + _GAP + max(panel.size[1] for panel in row)
    return rendered(
        "picture.svg",
        title=figure.title,
        legend=legend,
        caption=list(enumerate(caption)),
        captioned=captioned,
        placed=placed,
        width=width,
        height=y,
        left=_GAP,
        head=_HEAD,
    )


def _legend(names: Sequence[str], width: int) -> tuple[list[tuple[str, str, float, int]], int]:
    """Class of the colour, name and place of each entry, in lines that fit; then where what follows
    begins.
    """
    entries, x, y = [], float(_GAP), 52
    for index, name in enumerate(names):
        length = 26 + 6.6 * len(name)
        if x > _GAP and x + length > width - _GAP:
            x, y = float(_GAP), y + 20
        entries.append((tone(index), name, x, y))
        x += length
    return entries, y + 20 if names else y
