"""PURE: the templates of pages and texts (``templates/``): HTML and SVG escape what they show, other texts do not."""

import re
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup, escape

from sandbox.report import text
from sandbox.report.trial_cells import rto_text

_HYPHENATED = re.compile(r"\S+-\S+")


def rendered(name: str, **values: Any) -> str:
    """One template, named by its file without ``.j2``, with these values."""
    return _environment().get_template(f"{name}.j2").render(values)


def rendered_lines(name: str, **values: Any) -> list[str]:
    """The same as lines for a terminal."""
    return rendered(name, **values).removesuffix("\n").split("\n")


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
    made.filters |= {
        "names": _names, "levels": text.levels_text, "tables": text.tables_text, "options": text.options_text,
        "figure": text.figure, "rto": rto_text, "shown": text.shown, "p_text": text.p_text,
        "markdown_table": text.markdown_table,
        "text_table": lambda header, rows: "\n".join(text.text_table(header, rows)),
        "wrapped": lambda *given, **how: "\n".join(text.wrapped(*given, **how)),
    }  # fmt: skip
    return made


def _names(value: str) -> Markup:
    """The text, with names such as ``proxysql-rw-split`` unbroken: a browser would break them at their hyphens."""
    return Markup(_HYPHENATED.sub(r'<span class="name">\g<0></span>', str(escape(value))))  # noqa: S704  (is escaped)
