"""PURE: a document as Markdown, for a file or a comment."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sandbox.report.document import (
    Chart,
    Document,
    FactList,
    Lines,
    Medium,
    Notes,
    Part,
    Said,
    Table,
    shown_in,
)


def text(document: Document, level: int = 1) -> str:
    """The document with its title as a heading of this level."""
    shown = shown_in(document, Medium.MARKDOWN)
    blocks = list(_head(shown, level))
    for section in shown.sections:
        if section.heading:
            blocks.append(f"### {section.heading}")
        for part in section.parts:
            blocks += _part(part)
    return "\n\n".join(blocks) + "\n"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; pipes in cells are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(_escaped(cell) for cell in line)} |" for line in lines)


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def _head(document: Document, level: int) -> Iterator[str]:
    if document.title.text:
        yield f"{'#' * level} {document.title.text}"
    if document.question.text:
        yield f"**{document.question.text}**"
    for each in (document.answer, *document.about):
        if each.text:
            yield each.text


def _part(part: Part) -> Iterator[str]:
    match part:
        case Said():
            yield part.text
        case Table():
            yield from _table(part)
        case FactList():
            yield markdown_table(
                (part.heading, ""),
                [(fact.name, _linked(fact.text, fact.links)) for fact in part.rows],
            )
        case Notes():
            yield from _notes(part)
        case Lines():
            yield "\n".join([f"```{part.language}", *part.lines, "```"])
        case Chart():
            return


def _table(table: Table) -> Iterator[str]:
    """Title, table and note; what marks a row stands in a row of its own above it."""
    rows: list[list[str]] = []
    for row in table.rows:
        if row.mark:
            rows.append([row.mark, *[""] * (len(table.columns) - 1)])
        rows.append([_linked(cell.text, cell.links) for cell in row.cells])
    if table.title:
        yield f"### {table.title}"
    yield markdown_table(table.headings, rows)
    if table.note:
        yield table.note


def _notes(notes: Notes) -> Iterator[str]:
    if notes.title:
        yield f"### {notes.title}"
    yield "\n".join(f"- {each.text}" for each in notes.items)


def _linked(said: str, links: Mapping[str, str]) -> str:
    return ", ".join(f"[{word}]({address})" for word, address in links.items()) or said
