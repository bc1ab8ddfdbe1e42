"""The load of each cell of a matrix; in a file, errors name the file and the line."""

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

from sandbox.core.errors import ExitCode, SandboxError, did_you_mean
from sandbox.core.yaml_lines import Place
from sandbox.failure.targets import WORDS
from sandbox.load.common.registry import NamedWorkload, resolve_workload
from sandbox.load.common.workload import Parameters, make_parameters
from sandbox.matrix.cell import DEFAULT_WORKLOAD, Cell, Change
from sandbox.matrix.definition import Matrix
from sandbox.matrix.file import PARAMETERS, changes_of, refuse_idle_factors, refused_at
from sandbox.matrix.resolved import CellWithLoad, Load
from sandbox.matrix.selection import Selection
from sandbox.measure.bench import BenchRequest
from sandbox.measure.run import NO_LOAD
from sandbox.measure.trial.drivers import driver_asked
from sandbox.measure.trial.run import TrialRequest
from sandbox.measure.trial.scenario import scenario_of
from sandbox.profile.grammar import external_address
from sandbox.profile.limits import check_limits
from sandbox.profile.plan import Plan, entry_words
from sandbox.stack.planning import offline_plan


def cells_of_file(selection: Selection, path: Path) -> list[CellWithLoad]:
    """Every cell of a matrix file with its load.

    Raises SandboxError (exit 2) naming file and line of an error.
    """
    matrix = selection.matrix
    cells = [_cell_of_file(cell, matrix, path) for cell in selection.cells]
    for place, change in changes_of(matrix):
        _refuse_unknown_entry(change, matrix, place, path)
        _refuse_unknown_targets(change, matrix, place, path)
    uses = [cell.load.uses for cell in cells]
    for factor, levels in matrix.factors.items():
        try:
            refuse_idle_factors({factor: levels}, uses)
        except SandboxError as error:
            raise refused_at(path, ("factors", factor), error) from error
    return cells


def with_load(cell: Cell, matrix: Matrix) -> CellWithLoad:
    """A cell with its load. Raises SandboxError (exit 2) for an unknown workload or parameter."""
    change = cell.change
    check_limits(change.cpus, change.memory, change.cpuset, change.disk)
    if change.external:
        external_address(change.external)
    return CellWithLoad(cell.levels, change, _load_of(cell, matrix))


def _load_of(cell: Cell, matrix: Matrix) -> Load:
    change = cell.change
    parameters = _parameters_of(change, matrix)
    workload = _workload_of(change, matrix)
    if not change.faults:
        return BenchRequest(
            workload=workload,
            parameters=parameters,
            via=change.via,
            command=tuple(sys.argv),
            conditions=matrix.conditions_of(cell),
        )
    return TrialRequest(
        workload=workload,
        parameters=parameters,
        via=change.via,
        command=tuple(sys.argv),
        scenario=scenario_of(change.faults, change.target),
        loaded=change.load == "loaded",
        transaction=bool(change.transaction),
        driver=driver_asked(change.driver, change.driver_mode) if change.driver else None,
    )


def _parameters_of(change: Change, matrix: Matrix) -> Parameters:
    """The parameters that the cell gives, with defaults for the rest."""
    given: dict[str, object] = {}
    for key, parameter in {"threads": "threads", **PARAMETERS}.items():
        value = getattr(change, key)
        if value is not None:
            given[parameter] = value
    return make_parameters(seconds=matrix.seconds, warmup_s=matrix.warmup, **given)


def _workload_of(change: Change, matrix: Matrix) -> NamedWorkload:
    if change.faults and not _has_data(change, matrix):
        return resolve_workload(NO_LOAD, {})
    return resolve_workload(change.workload or DEFAULT_WORKLOAD, change.options)


def _has_data(change: Change, matrix: Matrix) -> bool:
    """Whether a trial starts with the data of its workload.

    Of all alike, idle or loaded, or where its cell says so.
    """
    if change.workload or change.options or change.rows or change.tables:
        return True
    return any(each.load == "loaded" for _, each in changes_of(matrix))


def _cell_of_file(cell: Cell, matrix: Matrix, path: Path) -> CellWithLoad:
    try:
        return with_load(cell, matrix)
    except SandboxError as error:
        if error.exit_code is not ExitCode.BAD_INPUT:
            raise
        raise refused_at(path, _place_at_fault(cell, matrix, error), error) from error


def _place_at_fault(cell: Cell, matrix: Matrix, error: SandboxError) -> Place:
    """Where in the file the error of a load is.

    The first key with which it is refused for the same reason, when the file's keys are applied one
    by one.
    """
    change = Change()
    for place, key in _keys_of(cell, matrix):
        change = key.over(change)
        try:
            with_load(Cell(cell.levels, change), matrix)
        except SandboxError as found:
            if found.what == error.what:
                return place
    return ()


def _keys_of(cell: Cell, matrix: Matrix) -> Iterator[tuple[Place, Change]]:
    """Every key of a cell, each with its place; the workload before its options."""
    chosen = chosen_places(cell)
    for place, change in changes_of(matrix):
        if place not in chosen:
            continue
        for name in Change.model_fields:
            if name in change.model_fields_set:
                yield (*place, name), Change.model_validate({name: getattr(change, name)})


def chosen_places(cell: Cell) -> set[Place]:
    """The places in the file whose changes make up a cell."""
    levels = {("factors", factor, level) for factor, level in cell.levels.items()}
    return {("common",), *levels}


def _refuse_unknown_entry(change: Change, matrix: Matrix, place: Place, path: Path) -> None:
    if change.via:
        _refuse_unknown("via", change.via, entry_words, matrix, (*place, "via"), path)


def _refuse_unknown_targets(change: Change, matrix: Matrix, place: Place, path: Path) -> None:
    targets: list[tuple[str, str]] = []
    if change.target is not None:
        targets.append(("target", change.target))
    if change.faults:
        targets += [("faults", word) for _, word in scenario_of(change.faults).aims]
    for key, word in targets:
        if word not in WORDS:
            _refuse_unknown("target", word, _target_words, matrix, (*place, key), path)


def _target_words(plan: Plan) -> list[str]:
    return [*WORDS, *(node.name for node in plan.nodes if node.kind != "client")]


def _refuse_unknown(
    key: str,
    word: str,
    words_of: Callable[[Plan], Collection[str]],
    matrix: Matrix,
    place: Place,
    path: Path,
) -> None:
    """A word that no stack of the matrix has is a mistake in the file.

    If some have it, the cells of the others are skipped.
    """
    requests = {cell.stack_key: cell.plan_request for cell in matrix.all_cells()}
    known: set[str] = set()
    for request in requests.values():
        with suppress(SandboxError):  # an impossible stack is a reason to skip its cells
            known.update(words_of(offline_plan(request)))
    if known and word not in known:
        what = f"{key}: '{word}' is not a node or term of any stack"
        error = SandboxError(what, did_you_mean(word, known), "try: make plan PROFILE=…")
        raise refused_at(path, place, error)
