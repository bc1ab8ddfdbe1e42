"""Records → what a comparison sees of them: figures by metric, and whether each cell ran steadily."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sandbox.results.calibration import Calibration, Known, kind_of_run
from sandbox.results.compare import Judged, Observation, differences_of, judge_result
from sandbox.results.matrix_part import MatrixPart
from sandbox.results.record import Record
from sandbox.results.statistics.metrics import METRICS
from sandbox.results.statistics.steadiness import Shift, changes

Series = Callable[[Record], Sequence[float]]
"""Transactions a second of a record's measured window, second by second."""


def judge_matrix(part: MatrixPart, records: Iterable[Record], series: Series, known: Known) -> Judged:
    """The verdicts on a matrix's records, adjusted as its plan says over all of its primary comparisons.

    ``known``: what the host is calibrated for, as `noise_of` has it.
    """
    skipped = {cell.name for cell in part.cells if cell.skipped}
    pairs = [
        (each.cell, each.baseline) for each in part.comparisons if not skipped.intersection((each.cell, each.baseline))
    ]
    runs = observations(list(records), series, part.depth)
    return judge_result(runs, pairs, _canary(part), part.metrics, known, part.adjustment)


def canary_differences(part: MatrixPart, records: Iterable[Record]) -> dict[str, list[float]]:
    """What the canary says of the host's own noise, by every metric there is."""
    runs = observations(list(records), lambda _: (), part.depth)
    return {name: differences_of(runs, _canary(part), name) for name in METRICS}


def noise_of(part: MatrixPart, records: Iterable[Record], calibration: Calibration) -> Known:
    """What was noted of the host's noise when the result was judged; for one that was not, what is known now."""
    records = list(records)
    if part.calibrated is None:
        loads = dict.fromkeys(record.workload.name for record in records)
        return calibration.known_of(part.host_class, loads, part.seconds)
    own = _load_of_canary(part, records)
    return {**part.calibrated_others, own: part.calibrated} if own and part.calibrated else part.calibrated_others


def noted(part: MatrixPart, records: Iterable[Record], known: Known) -> MatrixPart:
    """The part with what was known of the host's noise: a report that is made later says the same."""
    own = _load_of_canary(part, records)
    others = {load: dict(sds) for load, sds in known.items() if load != own}
    return part.model_copy(update={"calibrated": dict(known.get(own or "", {})), "calibrated_others": others})


def kind_of_canary(part: MatrixPart, records: Iterable[Record]) -> str | None:
    """The kind of run that the canary was; None where it never ran."""
    workload = _load_of_canary(part, records)
    return workload and kind_of_run(part.host_class, workload, part.seconds)


def _load_of_canary(part: MatrixPart, records: Iterable[Record]) -> str | None:
    return next((record.workload.name for record in records if record.cell == part.canary.cell), None)


def _canary(part: MatrixPart) -> tuple[str, str]:
    return part.canary.cell, part.canary.baseline


def observations(records: Sequence[Record], series: Series, depth: str) -> list[Observation]:
    """One for each record of a block. No series of a slice is judged: what changes all variants alike cancels within
    the block, what changes one widens the spread of its differences (docs/statistics.md, rule 4).

    Block 0, where there is one, was a warm-up to be thrown away.
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
    """Of a good run, each with its block; None for one that is too short."""
    found = changes(series(record)) if record.status == "ok" else None
    return found and [replace(change, block=record.block) for change in found]
