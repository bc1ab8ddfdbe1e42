"""The loads of an experiment: that of each cell, and which cells can share a stack's data."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from sandbox.errors import ExitCode, SandboxError, did_you_mean
from sandbox.experiment.definition import DEFAULT_WORKLOAD, Cell, Change, Matrix
from sandbox.experiment.file import Place, changes_of, refuse_idle_factors, refused_at
from sandbox.experiment.selection import Experiment
from sandbox.plan.grammar import check_limits
from sandbox.plan.model import entry_words
from sandbox.run.state import BenchRequest
from sandbox.stack.planning import offline_plan
from sandbox.workloads.common.model import make_parameters
from sandbox.workloads.common.resolve import resolve_workload

_USED_UP = "used up"


def load_of(cell: Cell, matrix: Matrix) -> BenchRequest:
    """The load of a cell. Raises SandboxError (exit 2) for an unknown workload or parameter."""
    change = cell.change
    check_limits(change.cpus, change.memory, change.cpuset)
    given = {
        "threads": change.threads,
        "tables": change.tables,
        "rows_per_table": change.rows,
        "distribution": change.dist,
        "rate_per_s": change.rate,
    }
    parameters = make_parameters(
        seconds=matrix.seconds, warmup_s=matrix.warmup, **{k: v for k, v in given.items() if v is not None}
    )
    workload = resolve_workload(change.workload or DEFAULT_WORKLOAD, change.options)
    conditions = matrix.conditions_of(cell)
    return BenchRequest(workload, parameters, change.via, None, tuple(sys.argv), conditions)


def loads_of_file(experiment: Experiment, path: Path) -> list[BenchRequest]:
    """The load of every cell of a matrix file. Raises SandboxError (exit 2) naming file and line of an error."""
    matrix = experiment.matrix
    loads = []
    for cell in experiment.cells:
        try:
            loads.append(load_of(cell, matrix))
        except SandboxError as error:
            if error.exit_code is not ExitCode.BAD_INPUT:
                raise
            raise refused_at(path, _place_at_fault(cell, matrix, error), error) from error
    for place, change in changes_of(matrix):
        if change.via:
            _refuse_unknown_entry(change.via, matrix, (*place, "via"), path)
    for factor, levels in matrix.factors.items():
        try:
            refuse_idle_factors({factor: levels}, [load.workload.workload for load in loads])
        except SandboxError as error:
            raise refused_at(path, ("factors", factor), error) from error
    return loads


def _refuse_unknown_entry(via: str, matrix: Matrix, place: Place, path: Path) -> None:
    """An entry that no stack of the matrix has is a mistake in the file; if some have it, the others are skipped."""
    requests = {cell.stack_key: cell.plan_request for cell in matrix.all_cells() if cell.change.via == via}
    known: set[str] = set()
    for request in requests.values():
        with suppress(SandboxError):  # an impossible stack is a reason to skip its cells
            known |= entry_words(offline_plan(request))
    if known and via not in known:
        text = f"via: '{via}' is not a node or term of any stack"
        raise refused_at(path, place, SandboxError(text, did_you_mean(via, known), "try: make plan PROFILE=…"))


def _place_at_fault(cell: Cell, matrix: Matrix, error: SandboxError) -> Place:
    """The first key with which a load is refused for the same reason, when the file's keys are applied one by one."""
    change = Change()
    for place, key in _keys_of(cell, matrix):
        change = key.over(change)
        try:
            load_of(Cell(cell.levels, change), matrix)
        except SandboxError as found:
            if found.what == error.what:
                return place
    return ()


def _keys_of(cell: Cell, matrix: Matrix) -> Iterator[tuple[Place, Change]]:
    """Every key of a cell, each with its place; the workload before its options."""
    chosen = {("common",), *(("factors", factor, level) for factor, level in cell.levels.items())}
    for place, change in changes_of(matrix):
        for name in Change.model_fields if place in chosen else ():
            if name in change.model_fields_set:
                yield (*place, name), Change.model_validate({name: getattr(change, name)})


def apart_by_data(experiment: Experiment, loads: Sequence[BenchRequest]) -> Experiment:
    """The experiment; of cells that could share a stack, only those do that share their data or consume it.

    ``loads``: the load of each cell. Data with another prefix coexists, so it needs no other stack.
    """
    first: dict[tuple[object, ...], str] = {}
    cells = []
    for cell, load in zip(experiment.cells, loads, strict=True):
        workload = load.workload.workload
        need = workload.data_needed(load.parameters)
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
