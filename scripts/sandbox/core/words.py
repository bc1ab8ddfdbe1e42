"""Words that plans, running stacks and records share, and the help in a docstring."""

from typing import Literal

ImageOrigin = Literal["published", "built", "given"]
"""``given``: the user's own image, instead of the one that the catalog names."""


def help_in(docstring: str | None) -> str:
    """The first paragraph of a docstring as one line: what `help` and `list` print of it."""
    return " ".join((docstring or "").strip().partition("\n\n")[0].split())
