"""PURE: a document as one self-contained HTML page: no script, no network, no other file; light and
dark.
"""

from sandbox.report.document import Document, Medium, Part, Table, shown_in
from sandbox.report.rendering import rendered

FOLD_FROM = 40
"""A table with more rows folds those without a finding."""


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
