"""PURE: what is said about a plan, a run, a matrix or a comparison, as data; ``render/`` shows
it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Flag, auto

from sandbox.report.charts.svg import Figure


class Medium(Flag):
    """Where something is shown. JSON data has everything."""

    TERMINAL = auto()
    MARKDOWN = auto()
    PAGE = auto()
    PAPER = MARKDOWN | PAGE
    """What is written to a file, and has room."""
    EVERYWHERE = TERMINAL | PAPER


@dataclass(frozen=True, slots=True)
class Said:
    """A paragraph or a line. ``look``: a word for what it is, such as ``faint`` or ``worse``."""

    text: str
    medium: Medium = Medium.EVERYWHERE
    look: str = ""


NOTHING = Said("")


@dataclass(frozen=True, slots=True)
class TableCell:
    """A figure or a word as shown. ``value``: the number behind it.

    ``links``: word → address, shown in place of the text.
    """

    text: str
    value: float | None = None
    look: str = ""
    links: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Column:
    """A column. ``number``: aligned to the right where there is room; ``look``: what its cells are.

    ``kept``: never cut off from the names of the rows, however narrow the place.
    """

    title: str
    number: bool = False
    medium: Medium = Medium.EVERYWHERE
    look: str = ""
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row. ``mark``: said right above it; ``quiet``: without a finding, so a long table may fold
    it.
    """

    cells: Sequence[TableCell]
    mark: str = ""
    quiet: bool = False
    look: str = ""

    @classmethod
    def of(
        cls, texts: Iterable[str | TableCell], mark: str = "", quiet: bool = False, look: str = ""
    ) -> "Row":
        """A row of texts, and of cells where there is more to say."""
        return cls(
            [each if isinstance(each, TableCell) else TableCell(each) for each in texts],
            mark,
            quiet,
            look,
        )


@dataclass(frozen=True, slots=True)
class Table:
    """A table; its first columns, up to the first number, name the rows.

    ``quiet_rows``: what its folded rows are, ``{}`` of them; ``look``: of the frame of a folded
    table.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    title: str = ""
    note: str = ""
    medium: Medium = Medium.EVERYWHERE
    quiet_rows: str = ""
    folded: bool | None = None
    """On a page, whether it is shut until opened; None: it cannot be shut."""
    look: str = ""
    spoken: str = ""
    """The title on a page, where it differs."""

    @classmethod
    def of(
        cls,
        headings: Sequence[str],
        rows: Iterable[Iterable[str | TableCell]],
        title: str = "",
        note: str = "",
        numbers: int = 0,
    ) -> "Table":
        """A table of texts. ``numbers``: how many of its columns, the last ones, are figures."""
        first = len(headings) - numbers
        columns = [Column(heading, number=index >= first) for index, heading in enumerate(headings)]
        return cls(columns, [Row.of(row) for row in rows], title, note)

    @property
    def headings(self) -> list[str]:
        """The titles of the columns."""
        return [column.title for column in self.columns]

    @property
    def texts(self) -> list[list[str]]:
        """The rows as they are shown."""
        return [[cell.text for cell in row.cells] for row in self.rows]

    @property
    def names(self) -> int:
        """How many of the columns, the first ones, name the rows."""
        numbers = [index for index, column in enumerate(self.columns) if column.number]
        return numbers[0] if numbers else len(self.columns)


@dataclass(frozen=True, slots=True)
class Fact:
    """A named figure, or a named statement; ``value``: the number that it is about."""

    name: str
    text: str
    value: float | None = None
    links: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FactList:
    """Facts below each other. ``heading``: what they are, in one word."""

    rows: Sequence[Fact]
    heading: str = ""
    medium: Medium = Medium.EVERYWHERE


@dataclass(frozen=True, slots=True)
class Notes:
    """Statements below each other, each on its own."""

    items: Sequence[Said]
    title: str = ""
    medium: Medium = Medium.EVERYWHERE

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Notes":
        """Plain texts."""
        return cls([Said(text) for text in texts])


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure of panels, drawn where that is possible."""

    figure: Figure
    medium: Medium = Medium.PAGE


@dataclass(frozen=True, slots=True)
class Lines:
    """Text to be kept as it is: commands, the end of a log. ``language``: of a code block."""

    lines: Sequence[str]
    language: str = "sh"
    medium: Medium = Medium.PAPER


Part = Said | Table | FactList | Notes | Chart | Lines


@dataclass(frozen=True, slots=True)
class Section:
    """Parts under a heading. ``name``: for links to it; ``link``: their text.

    ``headed``: where its heading is shown.
    """

    parts: Sequence[Part]
    heading: str = ""
    name: str = ""
    link: str = ""
    medium: Medium = Medium.EVERYWHERE
    headed: Medium = Medium.PAPER


@dataclass(frozen=True, slots=True)
class Document:
    """Everything that is said about one thing."""

    title: Said
    sections: Sequence[Section]
    question: Said = NOTHING
    answer: Said = NOTHING
    status: Said = NOTHING
    """A word behind the title."""
    about: Sequence[Said] = ()
    """When and where it was measured, or why it was not."""


def shown_in(document: Document, medium: Medium) -> Document:
    """What of a document is shown in a medium."""
    sections = [
        _section_in(section, medium) for section in document.sections if medium in section.medium
    ]
    return replace(
        document,
        title=_said_in(document.title, medium),
        status=_said_in(document.status, medium),
        question=_said_in(document.question, medium),
        answer=_said_in(document.answer, medium),
        about=[each for each in document.about if medium in each.medium and each.text],
        sections=[section for section in sections if section.parts],
    )


def _said_in(said: Said, medium: Medium) -> Said:
    return said if medium in said.medium else NOTHING


def _section_in(section: Section, medium: Medium) -> Section:
    parts = [_part_in(part, medium) for part in section.parts if medium in part.medium]
    heading = section.heading if medium in section.headed else ""
    return replace(
        section, heading=heading, parts=[part for part in parts if _says_something(part)]
    )


def _part_in(part: Part, medium: Medium) -> Part:
    if isinstance(part, Notes):
        return replace(
            part, items=[each for each in part.items if medium in each.medium and each.text]
        )
    if not isinstance(part, Table):
        return part
    shown = [index for index, column in enumerate(part.columns) if medium in column.medium]
    rows = [replace(row, cells=[row.cells[index] for index in shown]) for row in part.rows]
    title = part.spoken if medium is Medium.PAGE and part.spoken else part.title
    return replace(part, title=title, columns=[part.columns[index] for index in shown], rows=rows)


def _says_something(part: Part) -> bool:
    match part:
        case Said():
            return bool(part.text)
        case Notes():
            return bool(part.items)
        case FactList() | Table():
            return bool(part.rows)
        case Lines():
            return bool(part.lines)
        case Chart():
            return True


def charts_of(document: Document) -> list[Figure]:
    """Every figure that a document draws."""
    parts = [part for section in document.sections for part in section.parts]
    return [part.figure for part in parts if isinstance(part, Chart)]


def with_lines(document: Document, change: Callable[[str], str]) -> Document:
    """The document with every line that is kept as it is, such as a command, changed."""
    sections = [replace(each, parts=_changed(each.parts, change)) for each in document.sections]
    return replace(document, sections=sections)


def _changed(parts: Sequence[Part], change: Callable[[str], str]) -> list[Part]:
    return [
        (
            replace(part, lines=[change(line) for line in part.lines])
            if isinstance(part, Lines)
            else part
        )
        for part in parts
    ]
