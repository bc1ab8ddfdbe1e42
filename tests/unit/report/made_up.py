"""A made-up result, read as the command reads it, and what is said about results, for tests of
both.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from perf.made_up import write_made_up
from sandbox.cli.common.reports import document_of, judge, read_runs, write_document
from sandbox.judge.compare import Judged
from sandbox.record.manifest import MatrixPart
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder
from sandbox.report.charts.layout import RunData
from sandbox.report.document import Document, Notes, Table
from sandbox.report.matrix import matrix_document
from sandbox.report.render import markdown, terminal


@cache
def made_up(records: int = 168) -> tuple[MatrixPart, Judged, list[RunData]]:
    """20 cells and a canary, 8 blocks: durable commits cost something where something is
    written.
    """
    with TemporaryDirectory() as folder:
        result = write_made_up(Path(folder), records)
        part, runs = result.manifest.matrix, read_runs(result)
    assert part is not None
    return part, judge(result, part, runs), runs


def write_report(result: ResultFolder, charts: bool = False) -> list[Path]:
    """What `make report` leaves in the folder of a result."""
    return write_document(result, document_of(result), charts)


def said_of(
    part: MatrixPart, judged: Judged, records: Sequence[Record] = (), command: Sequence[str] = ()
) -> Document:
    """What is said about a matrix of these runs, without charts."""
    return matrix_document(part, judged, [RunData(record) for record in records], command=command)


def verdict_lines(part: MatrixPart, judged: Judged, records: Sequence[Record] = ()) -> list[str]:
    """What a terminal shows of it."""
    return terminal.lines(said_of(part, judged, records))


def summary(
    part: MatrixPart, judged: Judged, records: Sequence[Record], command: Sequence[str]
) -> str:
    """``summary.md`` of it."""
    return markdown.text(said_of(part, judged, records, command))


def tables_of(document: Document) -> dict[str, Table]:
    """Every table by its title."""
    parts = [part for section in document.sections for part in section.parts]
    return {part.title: part for part in parts if isinstance(part, Table)}


def notes_of(document: Document) -> list[str]:
    """Every note."""
    parts = [part for section in document.sections for part in section.parts]
    return [
        each.text for part in parts if isinstance(part, Notes) for each in part.items if each.text
    ]
