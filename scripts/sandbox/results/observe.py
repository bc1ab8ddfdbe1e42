"""Records → observations for a comparison: values by metric, and whether each cell ran steadily."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sandbox.results.calibration import Calibration, Known, kind_of_run
from sandbox.results.compare import Judged, Observation, differences_of, judge_result
from sandbox.results.matrix_part import MatrixPart
from sandbox.results.record import Record
from sandbox.results.statistics.changes import Shift, changes
from sandbox.results.statistics.metrics import METRICS

Series = Callable[[Record], Sequence[float]]
"""Transactions per second of a record's measured window, second by second."""


def judge_matrix(part: MatrixPart, records: Iterable[Record], series: Series, known: Known) -> Judged:
    """The verdicts on a matrix's records, adjusted as its plan says over all of its primary comparisons.

    ``known``: what the host is calibrated for, as `noise_of` returns it.
    """
    skipped = {cell.name for cell in part.cells if cell.skipped}
    pairs = [
        (each.cell, each.baseline) for each in part.comparisons if not skipped.intersection((each.cell, each.baseline))
    ]
    runs = observations(list(records), series, part.depth)
    return judge_result(runs, pairs, _canary(part), part.metrics, known, part.adjustment)


def canary_differences(part: MatrixPart, records: Iterable[Record]) -> dict[str, list[float]]:
    """The host's own noise according to the canary, by metric."""
    runs = observations(list(records), lambda _: (), part.depth)
    return {name: differences_of(runs, _canary(part), name) for name in METRICS}


def noise_of(part: MatrixPart, records: Iterable[Record], calibration: Calibration) -> Known:
    """The host noise noted when the result was judged; if it was not judged, what is known now."""
    records = list(records)
    if part.calibrated is None:
        loads = dict.fromkeys(record.workload.name for record in records)
        return calibration.known_of(part.host_class, loads, part.seconds)
    own = _load_of_canary(part, records)
    return {**part.calibrated_others, own: part.calibrated} if own and part.calibrated else part.calibrated_others


def noted(part: MatrixPart, records: Iterable[Record], known: Known) -> MatrixPart:
    """The part with the known host noise: a later report says the same."""
    own = _load_of_canary(part, records)
    others = {load: dict(sds) for load, sds in known.items() if load != own}
    return part.model_copy(update={"calibrated": dict(known.get(own or "", {})), "calibrated_others": others})


def kind_of_canary(part: MatrixPart, records: Iterable[Record]) -> str | None:
    """The canary's kind of run; None if it never ran."""
    workload = _load_of_canary(part, records)
    return workload and kind_of_run(part.host_class, workload, part.seconds)


def _load_of_canary(part: MatrixPart, records: Iterable[Record]) -> str | None:
    return next((record.workload.name for record in records if record.cell == part.canary.cell), None)


def _canary(part: MatrixPart) -> tuple[str, str]:
    return part.canary.cell, part.canary.baseline


def observations(records: Sequence[Record], series: Series, depth: str) -> list[Observation]:
    """One for each record of a block.

    The series of a slice is not judged: what affects all variants alike cancels within the block, what affects one
    widens the spread of its differences (docs/statistics.md, rule 4). Block 0, if any, is a discarded warm-up.
    """
    return [
        Observation(
            record.cell,
            record.block,
            record.status,
            {name: getattr(record.metrics, name) for name in METRICS},
            None if depth == "slices" else _changes(record, series),
            record.workload.name,
        )
        for record in records
        if record.block > 0
    ]


def _changes(record: Record, series: Series) -> list[Shift] | None:
    """Changes in a good run, each with its block; None for a run that is too short."""
    found = changes(series(record)) if record.status == "ok" else None
    return found and [replace(change, block=record.block) for change in found]
