"""How commands print an answer: as JSON data, or as lines for this terminal."""

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from sandbox.cli.console import as_typed
from sandbox.report.document import Document
from sandbox.report.render import terminal
from sandbox.report.text import WIDTH


def show(as_json: bool, data: Any, lines: Iterable[str]) -> None:
    """Prints an answer as JSON, or as text whose commands are those that the user can type."""
    print(json.dumps(data, indent=2) if as_json else as_typed("\n".join(lines)))


def show_document(as_json: bool, data: Any, document: Document, below: Sequence[str] = ()) -> None:
    """Prints what is said: its data, or its text with some lines below, in colour where a terminal
    has any.
    """
    lines: list[str] = []
    if not as_json:
        lines = [*document_lines(document), *below]
    show(as_json, data, lines)


def document_lines(document: Document) -> list[str]:
    """A document as wide as this terminal, but at most as wide as in a file."""
    if not sys.stdout.isatty():
        return terminal.lines(document)
    width = min(WIDTH, shutil.get_terminal_size().columns)
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return terminal.lines(document, width, colour=not plain)
