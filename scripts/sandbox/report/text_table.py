"""PURE: columns of text, left-aligned, as wide as their widest cell."""

from collections.abc import Sequence


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table; columns that are empty in every row are left out."""
    used = [column for column in range(len(header)) if any(row[column] for row in rows)]
    shown = [[row[column] for column in used] for row in [header, *rows]]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown]
