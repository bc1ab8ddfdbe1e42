"""PURE: a document as JSON data: all that any rendering shows, and the numbers behind the texts."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from sandbox.report.charts.svg import Figure
from sandbox.report.document import Document, Medium


def data(document: Document) -> dict[str, Any]:
    """The document by the names of its fields; a chart without what it is drawn from."""
    return {name: _plain(value) for name, value in _fields(document).items()}


def _fields(value: Any) -> dict[str, Any]:
    known = {each.name: getattr(value, each.name) for each in fields(value)}
    return {name: each for name, each in known.items() if not isinstance(each, Medium)}


def _plain(value: object) -> object:
    if isinstance(value, Figure):
        return {"name": value.name, "title": value.title, "caption": value.caption}
    if is_dataclass(value):
        return {name: _plain(each) for name, each in _fields(value).items()}
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
