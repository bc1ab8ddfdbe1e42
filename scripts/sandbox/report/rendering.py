"""PURE: the templates of pages and pictures (``templates/``), which escape what they show."""

import re
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup, escape

_HYPHENATED = re.compile(r"\S+-\S+")


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
