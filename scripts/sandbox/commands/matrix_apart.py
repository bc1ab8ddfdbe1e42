"""Cells that want different data in one place get stacks of their own: no data is made anew between two runs."""

from collections.abc import Sequence
from dataclasses import replace

from sandbox.plan.experiment import Experiment
from sandbox.plan.matrix import Cell
from sandbox.run.state import BenchRequest

_USED_UP = "used up"


def apart_by_data(experiment: Experiment, benches: Sequence[BenchRequest]) -> Experiment:
    """The experiment; of cells that could share a stack, only those share it that share their data or use it up.

    ``benches``: the load of each cell. Data of another prefix stands beside what is there, and keeps nothing apart.
    """
    first: dict[tuple[object, ...], str] = {}
    cells = []
    for cell, bench in zip(experiment.cells, benches, strict=True):
        workload = bench.workload.workload
        need = workload.data_needed(bench.parameters)
        if need is not None:
            data = _USED_UP if workload.consumes_data else need.key
            if data != first.setdefault((cell.stack_key, need.prefix), data):
                cell = _apart(cell, data)
        cells.append(cell)
    canary_of = cells[experiment.cells.index(experiment.canary_of)]
    return replace(experiment, cells=tuple(cells), canary_of=canary_of)


def _apart(cell: Cell, data: str) -> Cell:
    word = f"{cell.change.apart} {data}" if cell.change.apart else data
    return Cell(cell.levels, cell.change.model_copy(update={"apart": word}))
