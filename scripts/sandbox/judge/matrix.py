"""The verdicts on a matrix: on its comparisons, and on the statements that were published."""

from collections.abc import Iterable
from dataclasses import replace

from sandbox.judge.compare import Judged, Known, Series, judge_result, observations
from sandbox.judge.published import outcomes_of
from sandbox.record.manifest import MatrixPart
from sandbox.record.record import Record


def judge_matrix(
    part: MatrixPart, records: Iterable[Record], series: Series, known: Known
) -> Judged:
    """The verdicts on a matrix's records, adjusted as its plan says over all of its primary
    comparisons.

    ``known``: what the host is calibrated for, as `noise_of` returns it.
    """
    skipped = {cell.name for cell in part.cells if cell.skipped}
    pairs = [
        (each.cell, each.baseline)
        for each in part.comparisons
        if not skipped & {each.cell, each.baseline}
    ]
    runs = observations(list(records), series, part.depth)
    judged = judge_result(runs, pairs, part.canary_pair, part.metrics, known, part.adjustment)
    return replace(judged, published=outcomes_of(part, runs, known))
