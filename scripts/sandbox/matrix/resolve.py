"""Resolves a matrix for this machine, once: cell → load → stack → plan → dataset."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sandbox.core.errors import MachineError, SandboxError
from sandbox.matrix.dataset import dataset_of
from sandbox.matrix.definition import CANARY, Cell, Matrix
from sandbox.matrix.file import changes_of, refused_at
from sandbox.matrix.fit import Plans, why_skipped
from sandbox.matrix.loads import cells_of_file, chosen_places, with_load
from sandbox.matrix.resolved import (
    CellWithLoad,
    Gate,
    Load,
    ResolvedCell,
    ResolvedMatrix,
    StackSpec,
    choose_canary,
)
from sandbox.matrix.selection import Selection, select
from sandbox.profile.grammar import split_assignments
from sandbox.profile.plan import PlanRequest
from sandbox.profile.variables import UnknownVariableError
from sandbox.stack.engine import Docker
from sandbox.stack.engine_facts import engine_facts, host_class


def resolve_file(
    matrix: Matrix, path: Path, only: str | None, seed: int | None = None, afresh: bool = False
) -> ResolvedMatrix:
    """A matrix file, resolved. Raises SandboxError (exit 2) naming file and line of an error."""
    plans = Plans()
    selection = select(_with_one_baseline(matrix, plans), only)
    cells = cells_of_file(selection, path)
    _refuse_mistyped_variables(selection.matrix, cells, plans, path)
    return _resolved(selection, cells, plans, seed, afresh)


def resolve(
    selection: Selection, seed: int | None = None, afresh: bool = False, gate: Gate | None = None
) -> ResolvedMatrix:
    """A matrix without a file, resolved.

    Raises SandboxError (exit 2) for an invalid load or profile.
    """
    plans = Plans()
    cells = [with_load(cell, selection.matrix) for cell in selection.cells]
    for cell in cells:
        plans(cell.plan_request)
    return _resolved(selection, cells, plans, seed, afresh, gate)


def _with_one_baseline(matrix: Matrix, plans: Plans) -> Matrix:
    """The matrix with one baseline: the first in the file's list that can run here."""
    if not matrix.baseline_else:
        return matrix
    return matrix.with_baseline_among(lambda cell: not plans.reason(cell))


def _refuse_mistyped_variables(
    matrix: Matrix, cells: Sequence[CellWithLoad], plans: Plans, path: Path
) -> None:
    """Raises SandboxError (exit 2), naming file and line, for a variable that no server of its
    cells knows.

    If some know it, the cells of the others are skipped: a variable may come with a version, or
    leave with one.
    """
    for place, change in changes_of(matrix):
        concerned = [cell for cell in cells if place in chosen_places(cell)]
        refusals = [plans.refusal(cell) for cell in concerned]
        if not all(refusals):
            continue
        names = {name for _, name, _ in split_assignments(tuple(change.set))}
        for refusal in refusals:
            if isinstance(refusal, UnknownVariableError) and refusal.name in names:
                raise refused_at(path, (*place, "set"), refusal)


def _resolved(
    selection: Selection,
    cells: Sequence[CellWithLoad],
    plans: Plans,
    seed: int | None,
    afresh: bool,
    gate: Gate | None = None,
) -> ResolvedMatrix:
    on_stacks = _on_stacks(apart_by_data(cells), plans)
    canary_of = choose_canary(selection.matrix, on_stacks)
    return ResolvedMatrix(
        matrix=selection.matrix,
        cells={cell.name: cell for cell in on_stacks},
        canary_of=canary_of,
        stacks=_stacks(on_stacks, canary_of, plans),
        host_class=host_class(engine_facts(Docker())),
        left_out=selection.left_out,
        seed=seed,
        afresh=afresh,
        gate=gate,
    )


def apart_by_data(cells: Iterable[CellWithLoad]) -> list[CellWithLoad]:
    """The cells; of those that could share a stack, only those do that share or consume their data.

    Data with another prefix coexists, so it needs no other stack.
    """
    first: dict[tuple[object, ...], str] = {}
    apart = []
    for cell in cells:
        need = cell.load.data_need
        if need is None:
            apart.append(cell)
            continue
        data = "used up" if cell.load.consumes_data else need.key
        if data == first.setdefault((cell.stack_key, need.prefix), data):
            apart.append(cell)
        else:
            apart.append(_apart(cell, data))
    return apart


def _apart(cell: CellWithLoad, word: str) -> CellWithLoad:
    """The cell with one more word that sets it apart."""
    if cell.change.apart:
        word = f"{cell.change.apart} {word}"
    return replace(cell, change=cell.change.model_copy(update={"apart": word}))


def _on_stacks(cells: Sequence[CellWithLoad], plans: Plans) -> list[ResolvedCell]:
    """Each cell on its stack, with the reason if it cannot run here.

    Cells share a stack where they can; stacks are named in the order of the file.
    """
    stack_of = stack_names(cells)
    return [
        ResolvedCell(
            levels=cell.levels,
            change=cell.change,
            load=cell.load,
            stack=stack_of[cell.name],
            skipped=why_skipped(cell, plans),
        )
        for cell in cells
    ]


def stack_names(cells: Iterable[Cell]) -> dict[str, str]:
    """Cell → the name of its stack."""
    named: dict[tuple[object, ...], str] = {}
    names = {}
    for cell in cells:
        names[cell.name] = named.setdefault(cell.stack_key, f"variant{len(named) + 1}")
    return names


@dataclass
class _Needs:
    """What a stack is made from, and the loads of its cells that can run here."""

    request: PlanRequest
    loads: list[Load] = field(default_factory=list)


def _stacks(
    cells: Iterable[ResolvedCell], canary_of: ResolvedCell, plans: Plans
) -> Mapping[str, StackSpec]:
    """Every stack by its name. The canary's has all the data that its baseline's has."""
    needs: dict[str, _Needs] = {}
    for cell in cells:
        of_stack = needs.setdefault(cell.stack, _Needs(cell.plan_request))
        of_stack.request = cell.plan_request  # its SQL file is named after the last of its cells
        if not cell.skipped:
            of_stack.loads.append(cell.load)
    needs[CANARY] = _Needs(canary_of.plan_request, needs[canary_of.stack].loads)
    return {name: _stack(name, each, plans) for name, each in needs.items()}


def _stack(name: str, needs: _Needs, plans: Plans) -> StackSpec:
    try:
        plan = plans(needs.request)
    except SandboxError:  # its cells have the reason
        return StackSpec(name, needs.request, None)
    return StackSpec(name, needs.request, plan, dataset_of(plan, needs.loads, plans))


def need_baseline(resolved: ResolvedMatrix) -> None:
    """Raises MachineError if no baseline can run here; if only some can, the rest is not
    compared.
    """
    lost = resolved.canary_of
    if lost.skipped:
        what = f"the baseline of the matrix {resolved.matrix.name} cannot run here"
        raise _not_here(resolved, what, f"{lost.name}: {lost.skipped}")


def need_comparison(resolved: ResolvedMatrix) -> None:
    """Raises MachineError if the cells that can run here have nothing to be compared with."""
    if resolved.tests:
        return
    skipped = resolved.skipped
    first = next(iter(skipped))
    what = f"no comparison of the matrix {resolved.matrix.name} can run here"
    known = f"{len(skipped)} of {len(resolved.cells)} cells cannot run; {first}: {skipped[first]}"
    raise _not_here(resolved, what, known)


def _not_here(resolved: ResolvedMatrix, what: str, known: str) -> MachineError:
    command = resolved.matrix.command
    if command:
        step = f"{command} PLAN=1   (shows what can)"
    else:
        profile = resolved.canary_of.change.expression
        step = f"make plan PROFILE={profile}   (shows its images)"
    return MachineError(what, known, f"try: {step}")
