"""PURE: processor time per transaction, cell by cell: of servers, proxies and load generator."""

from collections.abc import Iterable, Sequence

from sandbox.report.axis import figure
from sandbox.report.layout import varied
from sandbox.results.manifest import MatrixPart
from sandbox.results.record import Record
from sandbox.results.statistics.metrics import PROCESSOR_TIME
from sandbox.results.statistics.rank_tests import hodges_lehmann

TITLE = "Processor time per transaction, ms"
CAPTION = "Pseudo-median over blocks (Hodges-Lehmann); empty where there is no such node."


def asked_first(part: MatrixPart) -> bool:
    """Whether the first metric of the matrix is processor time."""
    return part.metrics[0] in PROCESSOR_TIME


def processor_header(part: MatrixPart) -> list[str]:
    """Headings of `processor_rows`."""
    return [*varied(part), *(name.partition("_")[0] for name in PROCESSOR_TIME)]


def processor_rows(part: MatrixPart, records: Sequence[Record]) -> list[list[str]]:
    """A row for each cell that has any such figure: its levels, then one figure for each kind of node."""
    rows = []
    for cell in part.cells:
        values = [_middle(records, cell.name, metric) for metric in PROCESSOR_TIME]
        if any(value is not None for value in values):
            levels = [cell.levels[factor] for factor in varied(part)]
            rows.append([*levels, *("" if value is None else figure(value) for value in values)])
    return rows


def processor_data(part: MatrixPart, records: Sequence[Record]) -> dict[str, dict[str, float | None]]:
    """The same as JSON data: by cell and metric, null where there is no such figure."""
    return {
        cell.name: {metric: _middle(records, cell.name, metric) for metric in PROCESSOR_TIME} for cell in part.cells
    }


def _middle(records: Iterable[Record], cell: str, metric: str) -> float | None:
    values = [getattr(record.metrics, metric) for record in records if record.cell == cell and record.counts]
    known = [value for value in values if value is not None]
    return hodges_lehmann(known) if known else None
