"""An experiment resolved for this machine, once: cell → stack → plan → load → dataset; later steps only read it."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from sandbox.errors import ExitCode, SandboxError
from sandbox.experiment.dataset import Dataset, dataset_of
from sandbox.experiment.definition import CANARY, Cell, Matrix
from sandbox.experiment.loads import apart_by_data, load_of, loads_of_file
from sandbox.experiment.selection import Experiment, make_experiment
from sandbox.plan.model import Plan, PlanRequest, entry_words
from sandbox.plan.templates import PLACEHOLDER, node_context
from sandbox.plan.variables import effective_variables
from sandbox.results.statistics.verdict import blocks_for_one
from sandbox.results.store import ResultFolder
from sandbox.run.state import BenchRequest
from sandbox.stack.engine import Docker
from sandbox.stack.facts import engine_facts, host_class
from sandbox.stack.planning import planned

Gate = Callable[[ResultFolder], int]
"""Asked after the last block: how many more to run on the same stacks; 0 ends it."""


@dataclass(frozen=True)
class StackSpec:
    """One stack. ``plan`` None: cannot be planned. ``dataset`` None: cannot be restored, so it makes its own data."""

    name: str
    request: PlanRequest
    plan: Plan | None
    dataset: Dataset | None = None

    @cached_property
    def variables(self) -> Mapping[str, str]:
        """The variables that component, settings and SET= give its servers; all values where servers differ."""
        return _planned_variables(self.plan) if self.plan else {}

    @property
    def has_proxy(self) -> bool:
        """Whether it has a proxy."""
        return self.plan is not None and any(node.kind == "proxy" for node in self.plan.nodes)


def _planned_variables(plan: Plan) -> dict[str, str]:
    given: dict[str, dict[str, None]] = {}
    for server in plan.databases:
        for name, value in effective_variables(server, node_context(plan, server, PLACEHOLDER)).items():
            given.setdefault(name.removeprefix("loose_"), {})["ON" if value is None else value] = None  # a bare flag
    return {name: " | ".join(values) for name, values in given.items()}


@dataclass(frozen=True)
class ResolvedCell:
    """One cell. ``skipped``: why it cannot run here; None for one that can."""

    cell: Cell
    stack: str
    load: BenchRequest
    skipped: str | None = None


@dataclass(frozen=True)
class Resolved:
    """An experiment as the runner, the estimate and the result read it. ``stacks``: the canary's comes last."""

    experiment: Experiment
    cells: Mapping[str, ResolvedCell]
    stacks: Mapping[str, StackSpec]
    blocks: int
    host_class: str
    seed: int | None = None
    afresh: bool = False
    """Whether to leave an unfinished result alone."""
    gate: Gate | None = None
    """Block 0 comes first and is discarded (docs/statistics.md, rule 4); a run lost to the environment ends it."""
    command: tuple[str, ...] = field(default_factory=lambda: tuple(sys.argv))

    @cached_property
    def skipped(self) -> Mapping[str, str]:
        """Cells that cannot run here, with the reason."""
        return {name: each.skipped for name, each in self.cells.items() if each.skipped}

    @property
    def runnable_stacks(self) -> list[StackSpec]:
        """Stacks on which some cell runs."""
        used = {each.stack for each in self.cells.values() if not each.skipped}
        with_canary = {*used, CANARY} if self.experiment.stack_of[self.experiment.canary_of.name] in used else used
        return [stack for name, stack in self.stacks.items() if name in with_canary]


class Plans:
    """Plans of this machine, each made once."""

    def __init__(self) -> None:
        self._made: dict[PlanRequest, Plan | SandboxError] = {}

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

    def reasons(self, cells: Iterable[Cell]) -> dict[str, str | None]:
        """Cell → why it cannot run here, None for one that can."""
        return {cell.name: self._reason(cell) for cell in cells}

    def _reason(self, cell: Cell) -> str | None:
        try:
            plan = self(cell.plan_request)
        except SandboxError as error:
            if error.exit_code is not ExitCode.BAD_INPUT:  # a broken checkout is not the cell's fault
                raise
            return f"{error.what}: {error.known}"
        via = cell.change.via
        if via and via not in entry_words(plan):
            return f"via: {via} is not part of {plan.profile}"
        references = sorted({node.choice.reference for node in plan.unavailable()})
        return f"not available here: {', '.join(references)}" if references else None


def resolve_file(matrix: Matrix, path: Path, only: str | None) -> Resolved:
    """A matrix file, resolved. Raises SandboxError (exit 2) naming file and line of an error."""
    plans = Plans()
    if matrix.baseline_else:  # one baseline: the first in the file's list that can run here
        reasons = plans.reasons(matrix.all_cells())
        matrix = matrix.with_baseline_among(lambda cell: not reasons[cell.name])
    experiment = make_experiment(matrix, only)
    loads = loads_of_file(experiment, path)
    files = {cell.change.workload or "": load.workload.file for cell, load in zip(experiment.cells, loads, strict=True)}
    experiment = apart_by_data(experiment, loads)
    experiment = replace(experiment, own_files={word: file.sha256 for word, file in files.items() if file})
    return _resolved(experiment, loads, plans)


def resolve(experiment: Experiment) -> Resolved:
    """An experiment without a file, resolved. Raises SandboxError (exit 2) for an invalid load or profile."""
    plans = Plans()
    loads = [load_of(cell, experiment.matrix) for cell in experiment.cells]
    for cell in experiment.cells:
        plans(cell.plan_request)
    return _resolved(experiment, loads, plans)


def _resolved(experiment: Experiment, loads: Sequence[BenchRequest], plans: Plans) -> Resolved:
    reasons = plans.reasons(experiment.cells)
    experiment = _with_canary_here(experiment, reasons)
    of_cell = zip(experiment.cells, loads, strict=True)
    cells = {
        cell.name: ResolvedCell(cell, experiment.stack_of[cell.name], load, reasons[cell.name])
        for cell, load in of_cell
    }
    tests = experiment.tests_without({name for name, reason in reasons.items() if reason})
    blocks = experiment.matrix.blocks or blocks_for_one(tests)
    here = host_class(engine_facts(Docker()))
    return Resolved(experiment, cells, _stacks(experiment, cells, plans), blocks, here)


def _stacks(experiment: Experiment, cells: Mapping[str, ResolvedCell], plans: Plans) -> dict[str, StackSpec]:
    """Every stack by its name. The canary's has all the data that its baseline's has."""
    requests: dict[str, PlanRequest] = {}
    loads: dict[str, list[BenchRequest]] = {}
    for each in cells.values():
        requests[each.stack] = each.cell.plan_request
        loads.setdefault(each.stack, []).extend([] if each.skipped else [each.load])
    baseline = experiment.stack_of[experiment.canary_of.name]
    requests[CANARY], loads[CANARY] = experiment.canary_of.plan_request, loads[baseline]
    return {name: _stack(name, request, loads[name], plans) for name, request in requests.items()}


def _stack(name: str, request: PlanRequest, loads: Sequence[BenchRequest], plans: Plans) -> StackSpec:
    try:
        plan = plans(request)
    except SandboxError:  # its cells have the reason
        return StackSpec(name, request, None)
    return StackSpec(name, request, plan, dataset_of(plan, loads, plans))


def _with_canary_here(experiment: Experiment, reasons: Mapping[str, str | None]) -> Experiment:
    """The experiment with a canary that can run here, if any baseline can: the middle one of those that can."""
    able = [cell for cell in experiment.cells if not reasons[cell.name]]
    baselines = {each.baseline for each in experiment.comparisons}
    fit = [cell for cell in able if cell.name in baselines]
    return replace(experiment, canary_of=fit[len(fit) // 2]) if fit and experiment.canary_of not in able else experiment


def need_baseline(resolved: Resolved) -> None:
    """Raises SandboxError (exit 4) if no baseline can run here; if only some can, the rest is not compared."""
    lost, name = resolved.experiment.canary_of.name, resolved.experiment.matrix.name
    if lost in resolved.skipped:
        raise SandboxError(
            f"the baseline of the matrix {name} cannot run here",
            f"{lost}: {resolved.skipped[lost]}",
            f"try: make matrix MATRIX={name} PLAN=1   (shows what can)",
            ExitCode.ENVIRONMENT,
        )


def need_comparison(resolved: Resolved) -> None:
    """Raises SandboxError (exit 4) if the cells that can run here have nothing to be compared with."""
    skipped, name = resolved.skipped, resolved.experiment.matrix.name
    if resolved.experiment.tests_without(skipped):
        return
    first = next(iter(skipped))
    raise SandboxError(
        f"no comparison of the matrix {name} can run here",
        f"{len(skipped)} of {len(resolved.cells)} cells cannot run; {first}: {skipped[first]}",
        f"try: make matrix MATRIX={name} PLAN=1   (shows what can)",
        ExitCode.ENVIRONMENT,
    )
