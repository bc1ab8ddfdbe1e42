"""PURE: lost runs of a matrix with the reason, for a terminal and for Markdown."""

from collections.abc import Sequence

from sandbox.results.manifest import MatrixPart
from sandbox.results.record import Record

_MOST_CELLS = 4


def lost_runs(part: MatrixPart, records: Sequence[Record]) -> list[str]:
    """One line for each status and variant: number of runs, their cells, and the reason of the first.

    ``2 runs infra_error (variant-router.threads-256, …): the proxy does not share server connections: …``
    """
    variant_of = {cell.name: cell.variant for cell in part.cells}
    lost: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record.status in ("failed", "infra_error"):
            lost.setdefault((record.status, variant_of.get(record.cell, record.cell)), []).append(record)
    return [_line(status, runs) for (status, _), runs in lost.items()]


def _line(status: str, runs: Sequence[Record]) -> str:
    cells = list(dict.fromkeys(run.cell for run in runs))
    shown = ", ".join([*cells[:_MOST_CELLS], *(["…"] if len(cells) > _MOST_CELLS else [])])
    return (
        f"{len(runs)} {'run' if len(runs) == 1 else 'runs'} {status} ({shown}): {runs[0].reason or 'no reason given'}"
    )
