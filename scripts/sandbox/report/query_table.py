"""PURE: a query result as a table of 100 columns, or one line per value where it is wider; as JSON,
as CSV.
"""

import csv
import io
import itertools
import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from sandbox.report.text import WIDTH, cut

_NARROWEST = 16
"""A column of text is cut to no less than this; below that there is no table."""
_GAP = 2

Row = Sequence[Any]


def query_lines(columns: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """A table; where even cut texts do not fit, each row as a list of its values."""
    cells = [[shown(value) for value in row] for row in rows]
    texts = [
        any(isinstance(row[n], str | Mapping | list) for row in rows) for n in range(len(columns))
    ]
    natural = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    widths = _fitting(natural, [max(len(name), _NARROWEST) for name in columns], texts)
    if widths is None:
        return _one_below_the_other(columns, cells)
    numbers = [not text for text in texts]
    return [_line(columns, widths, numbers), *(_line(row, widths, numbers) for row in cells)]


def query_json(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """An array of objects; times as ISO 8601 in UTC."""
    names = _distinct(columns)
    return json.dumps([dict(zip(names, map(_plain, row), strict=True)) for row in rows], indent=2)


def query_csv(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """RFC 4180, but with LF line ends; empty for null, JSON for lists and maps."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        plain = map(_plain, row)
        writer.writerow(
            [json.dumps(value) if isinstance(value, dict | list) else value for value in plain]
        )
    return text.getvalue()


def shown(value: Any) -> str:
    """One value in readable form; a line break becomes a space."""
    plain = _plain(value)
    if plain is None:
        return "null"
    if isinstance(plain, bool):
        return str(plain).lower()
    if isinstance(plain, float):
        return f"{plain:.6g}" if abs(plain) < 1e6 else f"{plain:.0f}"
    text = json.dumps(plain, ensure_ascii=False) if isinstance(plain, dict | list) else str(plain)
    return " ".join(text.split())


def _plain(value: Any) -> Any:
    """As JSON represents it; NaN and infinity become null."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    # Times of records are UTC, and DuckDB returns them without a zone.
    if hasattr(value, "isoformat"):
        return (
            f"{value.isoformat()}Z"
            if hasattr(value, "tzinfo") and value.tzinfo is None
            else value.isoformat()
        )
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def _fitting(
    natural: Sequence[int], least: Sequence[int], texts: Sequence[bool]
) -> list[int] | None:
    """Widths that fit, the widest texts cut first; None if they would have to be cut too far."""
    widths, room = list(natural), WIDTH - _GAP * (len(natural) - 1)
    while sum(widths) > room:
        wide = [n for n in range(len(widths)) if texts[n] and widths[n] > least[n]]
        if not wide:
            return None
        widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def _line(cells: Sequence[str], widths: Sequence[int], numbers: Sequence[bool]) -> str:
    shortened = (cut(cell, width) for cell, width in zip(cells, widths, strict=True))
    aligned = [
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(shortened, widths, numbers, strict=True)
    ]
    return (" " * _GAP).join(aligned).rstrip()


def _one_below_the_other(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines: list[str] = []
    names = max(map(len, columns)) + _GAP
    for number, row in enumerate(rows, start=1):
        lines.append(f"row {number}")
        for name, value in zip(columns, row, strict=True):
            folded = textwrap.wrap(
                value, max(WIDTH - names, _NARROWEST), break_on_hyphens=False
            ) or [""]
            pairs = itertools.zip_longest([name], folded, fillvalue="")
            lines += [f"{lead:<{names}}{text}".rstrip() for lead, text in pairs]
    return lines


def _distinct(columns: Sequence[str]) -> list[str]:
    """Unique names for the keys of an object: the second ``tps`` is ``tps_2``."""
    names: list[str] = []
    for column in columns:
        number, name = 1, column
        while name in names:
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return names
