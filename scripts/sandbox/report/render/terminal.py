"""PURE: a document as lines for a terminal, at most 100 columns wide, with or without colour."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sandbox.report.document import (
    Chart,
    Document,
    FactList,
    Lines,
    Medium,
    Notes,
    Part,
    Said,
    Section,
    Table,
    shown_in,
)
from sandbox.report.text import WIDTH, text_table, wrapped

_GAP = 2
"""Columns between two columns of a table."""
_INDENT = "  "
_COLOURS = {
    "ok": "32",
    "failed": "31",
    "infra_error": "31",
    "interrupted": "33",
    "skipped": "33",
    "faint": "2",
    "name": "1",
}
"""Look → its code in a terminal."""


def lines(document: Document, width: int = WIDTH, colour: bool = False) -> list[str]:
    """Everything that a terminal shows of a document; a blank line between its parts."""
    writer = _Writer(width, colour)
    shown = shown_in(document, Medium.TERMINAL)
    blocks = [writer.head(shown)]
    for section in shown.sections:
        blocks += writer.section(section)
    found: list[str] = []
    for block in filter(None, blocks):
        if found:
            found.append("")
        found += block
    return found


def text(document: Document) -> str:
    """The same as one text without colour."""
    return "\n".join([*lines(document), ""])


def _folded(text: str, width: int) -> list[str]:
    """Text as lines that fit whatever is in it: a word that is too long for a line is broken."""
    return textwrap.wrap(text, width, break_on_hyphens=False)


@dataclass(frozen=True, slots=True)
class _Writer:
    width: int
    colour: bool

    def head(self, document: Document) -> list[str]:
        """Title and status, question, answer, and what is said about them, where they are shown."""
        found = self._title(document.title.text, document.status)
        for each in (document.question, document.answer, *document.about):
            found += self._paragraph(each)
        return found

    def _title(self, title: str, status: Said) -> list[str]:
        if not status.text:
            return _folded(title, self.width)
        *above, last = _folded(f"{title}  {status.text}", self.width)
        return [*above, last.removesuffix(status.text) + self._painted(status.text, status.look)]

    def section(self, section: Section) -> list[list[str]]:
        """A block of lines for each part; under a heading they are indented."""
        if not section.heading:
            return self._parts(section)
        narrower = replace(self, width=self.width - len(_INDENT))
        blocks = [[f"{_INDENT}{line}" for line in block] for block in narrower._parts(section)]
        return [[section.heading, *blocks[0]], *blocks[1:]]

    def _parts(self, section: Section) -> list[list[str]]:
        """Of all its facts the names have one width."""
        facts = [fact for part in section.parts if isinstance(part, FactList) for fact in part.rows]
        names = max((len(fact.name) for fact in facts), default=0)
        return [block for part in section.parts for block in self._part(part, names)]

    def _paragraph(self, said: Said, indent: str = "") -> list[str]:
        """Wrapped text in its colour."""
        shown = wrapped(said.text, indent=indent, width=self.width)
        return [self._painted(line, said.look) for line in shown]

    def _part(self, part: Part, names: int) -> Iterator[list[str]]:
        match part:
            case Said():
                yield self._paragraph(part)
            case Table():
                for piece in _fitting(part, self.width - _GAP):
                    yield self._table(piece)
            case FactList():
                yield [
                    line for fact in part.rows for line in self._fact(fact.name, fact.text, names)
                ]
            case Notes():
                yield list(self._notes(part))
            case Lines():
                yield list(part.lines)
            case Chart():
                return

    def _fact(self, name: str, said: str, names: int) -> Iterator[str]:
        """The name once, its text beside it; a word that does not fit into a line is broken."""
        beside = _folded(said, self.width - names - _GAP) or [""]
        head = name.ljust(names)
        for number, line in enumerate(beside):
            shown = self._painted(head, "name") if number == 0 else " " * names
            yield f"{shown}{' ' * _GAP}{line}".rstrip()

    def _notes(self, notes: Notes) -> Iterator[str]:
        if notes.title:
            yield notes.title
        for each in notes.items:
            if notes.title:
                yield from wrapped(each.text, _INDENT, 2 * _INDENT, self.width)
            else:
                yield from self._paragraph(each, _INDENT)

    def _table(self, table: Table) -> list[str]:
        """Title and note above; a titled table is indented, and what marks a row stands above
        it.
        """
        header, *rows = text_table(table.headings, table.texts)
        body = [header]
        for row, line in zip(table.rows, rows, strict=True):
            if row.mark:
                body.append(row.mark)
            body.append(line)
        if not table.title:
            return body
        title = f"{table.title}   {table.note}" if table.note else table.title
        return [*wrapped(title, width=self.width), *(f"{_INDENT}{line}" for line in body)]

    def _painted(self, text: str, look: str) -> str:
        if not self.colour or look not in _COLOURS:
            return text
        return f"\x1b[{_COLOURS[look]}m{text}\x1b[0m"


def _fitting(table: Table, width: int) -> list[Table]:
    """The table in as many pieces as fit into so many columns, each with the names in front.

    The first piece has what is kept; columns that are empty in every row are left out.
    """
    used = _used(table)
    names = [each for each in used if each < table.names]
    figures = used[len(names) :]
    pieces = [[each for each in figures if table.columns[each].kept]]
    for each in figures:
        if table.columns[each].kept:
            continue
        if pieces[-1] and _length(table, [*names, *pieces[-1], each]) > width:
            pieces.append([])
        pieces[-1].append(each)
    return [
        _piece(table, [*names, *sorted(piece)], first=not index)
        for index, piece in enumerate(pieces)
    ]


def _used(table: Table) -> list[int]:
    """The columns that are not empty."""
    every = range(len(table.columns))
    return [index for index in every if any(row.cells[index].text for row in table.rows)]


def _length(table: Table, columns: Sequence[int]) -> int:
    """Of the longest line."""
    lines = [table.headings, *table.texts]
    widths = [max(len(line[each]) for line in lines) for each in columns]
    return sum(widths) + _GAP * (len(widths) - 1)


def _piece(table: Table, columns: Sequence[int], first: bool) -> Table:
    rows = [replace(row, cells=[row.cells[each] for each in columns]) for row in table.rows]
    if not first:
        rows = [replace(row, mark="") for row in rows]
    return replace(
        table,
        columns=[table.columns[each] for each in columns],
        rows=rows,
        title=table.title if first else f"{table.title} (more)",
        note=table.note if first else "",
    )
