"""Resolves a matrix for this machine, once: cell → load → stack → plan → dataset; what cannot run
here has the reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.failure.fault import FAULT_KINDS, SETTING_OF, refuse_unable
from sandbox.failure.targets import impossible
from sandbox.load.common.workload import refuse_unfit
from sandbox.matrix.cell import CANARY, Cell
from sandbox.matrix.dataset import dataset_of
from sandbox.matrix.definition import Matrix
from sandbox.matrix.file import changes_of, refused_at
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
from sandbox.measure.trial.run import TrialRequest
from sandbox.profile.grammar import split_assignments
from sandbox.profile.plan import Plan, PlanRequest, entry_words
from sandbox.profile.variables import UnknownVariableError
from sandbox.stack.engine import Docker
from sandbox.stack.engine_facts import engine_facts, host_class, lacking
from sandbox.stack.naming import identity
from sandbox.stack.planning import planned
from sandbox.stack.protocol import StackNode


class Plans:
    """Plans of this machine, each made once."""

    def __init__(self) -> None:
        self._made: dict[PlanRequest, Plan | SandboxError] = {}
        self.docker = Docker()

    def __call__(self, request: PlanRequest) -> Plan:
        """The plan of a request. Raises SandboxError if it cannot be planned."""
        if request not in self._made:
            try:
                self._made[request] = planned(request)
            except SandboxError as error:
                self._made[request] = error
        made = self._made[request]
        if isinstance(made, SandboxError):
            raise made
        return made

    def refusal(self, cell: Cell) -> SandboxError | None:
        """Why the stack of a cell cannot be planned; None for one that can."""
        try:
            self(cell.plan_request)
        except SandboxError as error:
            # A broken checkout is not the cell's fault.
            if error.exit_code is not ExitCode.BAD_INPUT:
                raise
            return error
        return None

    def reason(self, cell: Cell) -> str | None:
        """Why the stack of a cell cannot run here; None for one that can."""
        refusal = self.refusal(cell)
        if refusal:
            return f"{refusal.what}: {refusal.known}"
        plan = self(cell.plan_request)
        via = cell.change.via
        if via and via not in entry_words(plan):
            return f"via: {via} is not part of {plan.profile}"
        references = sorted({node.choice.reference for node in plan.unavailable()})
        if references:
            return f"not available here: {', '.join(references)}"
        return None


def why_skipped(cell: CellWithLoad, plans: Plans) -> str | None:
    """Why a cell cannot run here: its stack, its load or its fault; None for one that can."""
    reason = plans.reason(cell)
    if reason:
        return reason
    try:
        _refuse_unfit(plans(cell.plan_request), cell.load, plans.docker)
    except SandboxError as error:
        return f"{error.what}: {error.known}"
    return None


def _refuse_unfit(plan: Plan, load: Load, docker: Docker) -> None:
    """Raises SandboxError for a load that cannot run on the stack, or a fault that it cannot
    have.
    """
    kinds = {node.kind for node in plan.nodes}
    refuse_unfit(load.workload.workload, load.workload.name, kinds, plan.profile)
    if isinstance(load, TrialRequest):
        _refuse_driver(load, plan)
        _refuse_targets(load.scenario.aims, plan, load.via)
        _refuse_without_setting(load.scenario.certain, plan)
        _refuse_unable_kernel(load.scenario.certain, plan, docker)


def _refuse_driver(load: TrialRequest, plan: Plan) -> None:
    """Raises SandboxError for a driver that cannot work with the stack, as far as the plan says
    which group and entry point it has.
    """
    if load.driver is None or len(plan.groups) != 1:
        return
    (group,) = plan.groups
    load.driver.refuse_servers({group.family})
    names = {name for proxy in group.proxies for name in (proxy.name, proxy.term)}
    through_proxy = (load.via or "").partition(":")[0] in names if load.via else bool(names)
    servers = len(group.databases) + len(group.replicas)
    load.driver.refuse_entry(through_proxy, servers, load.via)


def _refuse_targets(aims: Sequence[tuple[str, str]], plan: Plan, via: str | None) -> None:
    """Raises SandboxError for a target that the group of the entry point never has.

    With ``via``: one that no group has.
    """
    nodes = _nodes_of(plan)
    groups = list(
        dict.fromkeys(node.group_index for node in nodes if node.is_server and node.group_index)
    )
    if not groups:
        return
    for name, word in aims:
        problems = [impossible(name, word, nodes, group) for group in groups]
        refused = [problem for problem in problems if problem]
        everywhere = len(refused) == len(groups)
        if everywhere or (refused and not via):
            raise refused[0]


def _nodes_of(plan: Plan) -> list[StackNode]:
    """The nodes that a stack of the plan would have."""
    return [
        StackNode(
            name=node.name,
            term=node.term,
            component=node.component.name,
            kind=node.kind,
            group_index=node.group_index,
            family=None,
            host=node.name,
            port=next(iter(node.ports.values()), None),
        )
        for node in plan.nodes
    ]


def _refuse_without_setting(faults: Sequence[str], plan: Plan) -> None:
    """Raises SandboxError for a fault that needs a setting which no server of the stack has."""
    settings = {name for node in plan.databases for name in node.settings}
    for fault in faults:
        needed = {SETTING_OF[need] for need in FAULT_KINDS.named(fault).needs if need in SETTING_OF}
        for setting in needed - settings:
            what = f"the fault {fault} is skipped"
            known = f"no server has the setting {setting}"
            step = f"try: make plan PROFILE={plan.profile}+{setting}"
            raise SandboxError(what, known, step, ExitCode.UNKNOWN)


def _refuse_unable_kernel(faults: Sequence[str], plan: Plan, docker: Docker) -> None:
    """Raises SandboxError for a fault that the engine's kernel cannot have.

    It is asked in the client's image. Where that is not here, or does not answer, nothing is known:
    then the trial itself is skipped.
    """
    images = [
        node.choice.reference
        for node in plan.nodes
        if node.kind == "client" and node.choice.source == "local"
    ]
    for image in images:
        kernel_lacks = partial(lacking, docker, image, identity("abilities"))
        for fault in faults:
            with suppress(MachineError):
                refuse_unable(kernel_lacks, fault)


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
    """The plan request of a stack, and the loads of its cells that can run here."""

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
