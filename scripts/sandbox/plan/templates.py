"""Renders the templates of a fragment: strings, lists and mappings; an undefined name is an error."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import jinja2

from sandbox.errors import ExitCode, SandboxError

_ENVIRONMENT = jinja2.Environment(
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701  (configuration files, not HTML)
)


@cache
def _compiled(text: str) -> jinja2.Template:
    return _ENVIRONMENT.from_string(text)


def render_text(text: str, context: Mapping[str, Any], where: str) -> str:
    """Renders one template. Raises SandboxError (exit 5) naming the fragment, since the repository is at fault."""
    if "{" not in text:
        return text
    try:
        return _compiled(text).render(context)
    except jinja2.TemplateError as problem:
        raise SandboxError(
            f"the template of {where} cannot be rendered",
            str(problem),
            "try: make test-unit   (after fixing the template)",
            ExitCode.INTERNAL,
        ) from problem


def render(value: Any, context: Mapping[str, Any], where: str) -> Any:
    """Renders every string inside a value; anything else stays as it is."""
    if isinstance(value, str):
        return render_text(value, context, where)
    if isinstance(value, Mapping):
        return {render_text(str(key), context, where): render(item, context, where) for key, item in value.items()}
    if isinstance(value, list):
        return [render(item, context, where) for item in value]
    return value
