"""An experiment resolved for this machine, once: cell → stack → plan → load → dataset; later steps only read it."""

import itertools
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from sandbox.core.errors import ExitCode, MachineError, SandboxError, did_you_mean
from sandbox.core.yaml_lines import Place
from sandbox.failure.breaker import refuse_unable
from sandbox.failure.fault import SETTING_OF
from sandbox.failure.registry import FAULT_KINDS
from sandbox.failure.targets import WORDS, impossible
from sandbox.judge.verdict import FEWEST_TRIALS, blocks_for_one
from sandbox.load.common.registry import resolve_workload
from sandbox.load.common.workload import make_parameters, refuse_unfit
from sandbox.matrix.dataset import Dataset, dataset_of
from sandbox.matrix.definition import CANARY, DEFAULT_WORKLOAD, Cell, Change, Matrix
from sandbox.matrix.file import PARAMETERS, changes_of, refuse_idle_factors, refused_at
from sandbox.matrix.selection import Experiment, make_experiment
from sandbox.measure.run import NO_LOAD, BenchRequest, TrialRequest
from sandbox.measure.trial.schedule import scenario_of
from sandbox.profile.grammar import check_limits, external_address, split_assignments
from sandbox.profile.plan import Plan, PlanRequest, entry_words
from sandbox.profile.templates import PLACEHOLDER, node_context
from sandbox.profile.variables import UnknownVariableError, effective_variables
from sandbox.record.store import ResultFolder
from sandbox.stack.abilities import lacking
from sandbox.stack.engine import Docker
from sandbox.stack.engine_facts import engine_facts, host_class
from sandbox.stack.naming import identity
from sandbox.stack.planning import offline_plan, planned
from sandbox.stack.protocol import StackNode

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
        if (plan := self.plan) is None:
            return {}
        given: dict[str, dict[str, None]] = {}
        for server in plan.databases:
            for name, value in effective_variables(server, node_context(plan, server, PLACEHOLDER)).items():
                values = given.setdefault(name.removeprefix("loose_"), {})
                values["ON" if value is None else value] = None  # None is a bare flag
        return {name: " | ".join(values) for name, values in given.items()}

    @property
    def topology(self) -> tuple[str, int]:
        """Of its first group, with the number of its database servers; empty and 0 where it has none."""
        groups = self.plan.groups if self.plan else ()
        return next(((group.topology, len(group.databases)) for group in groups), ("", 0))

    @property
    def has_proxy(self) -> bool:
        """Whether it has a proxy."""
        return self.plan is not None and any(node.kind == "proxy" for node in self.plan.nodes)


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
    def has_trials(self) -> bool:
        """Whether some cell is a trial."""
        return any(each.cell.change.faults for each in self.cells.values())

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
            if error.exit_code is not ExitCode.BAD_INPUT:  # a broken checkout is not the cell's fault
                raise
            return error
        return None

    def reason(self, cell: Cell) -> str | None:
        """Why a cell cannot run here; None for one that can."""
        if refusal := self.refusal(cell):
            return f"{refusal.what}: {refusal.known}"
        plan = self(cell.plan_request)
        via = cell.change.via
        if via and via not in entry_words(plan):
            return f"via: {via} is not part of {plan.profile}"
        references = sorted({node.choice.reference for node in plan.unavailable()})
        return f"not available here: {', '.join(references)}" if references else None


def resolve_file(matrix: Matrix, path: Path, only: str | None) -> Resolved:
    """A matrix file, resolved. Raises SandboxError (exit 2) naming file and line of an error."""
    plans = Plans()
    if matrix.baseline_else:  # one baseline: the first in the file's list that can run here
        matrix = matrix.with_baseline_among(lambda cell: not plans.reason(cell))
    experiment = make_experiment(matrix, only)
    loads = loads_of_file(experiment, path)
    _refuse_mistyped_variables(experiment, plans, path)
    files = {cell.change.workload or "": load.workload.file for cell, load in zip(experiment.cells, loads, strict=True)}
    experiment = apart_by_data(experiment, loads)
    experiment = replace(
        experiment,
        own_files={word: file.sha256 for word, file in files.items() if file},
        schedules={cell.name: load.trial.schedule for cell, load in zip(experiment.cells, loads, strict=True)
                   if load.trial},
    )  # fmt: skip
    return _resolved(experiment, loads, plans)


def resolve(experiment: Experiment) -> Resolved:
    """An experiment without a file, resolved. Raises SandboxError (exit 2) for an invalid load or profile."""
    plans = Plans()
    loads = [load_of(cell, experiment.matrix) for cell in experiment.cells]
    for cell in experiment.cells:
        plans(cell.plan_request)
    return _resolved(experiment, loads, plans)


def _resolved(experiment: Experiment, loads: Sequence[BenchRequest], plans: Plans) -> Resolved:
    reasons = {
        cell.name: plans.reason(cell) or _unfit(plans(cell.plan_request), load, plans.docker)
        for cell, load in zip(experiment.cells, loads, strict=True)
    }
    baselines = {each.baseline for each in experiment.comparisons}
    fit = [cell for cell in experiment.cells if not reasons[cell.name] and cell.name in baselines]
    if fit and reasons[experiment.canary_of.name]:  # another canary, which can run here: the middle one
        experiment = replace(experiment, canary_of=fit[len(fit) // 2])
    cells = {
        cell.name: ResolvedCell(cell, experiment.stack_of[cell.name], load, reasons[cell.name])
        for cell, load in zip(experiment.cells, loads, strict=True)
    }
    tests = experiment.tests_without({name for name, reason in reasons.items() if reason})
    fewest = FEWEST_TRIALS if any(load.trial for load in loads) else 0
    blocks = experiment.matrix.blocks or max(blocks_for_one(tests), fewest)
    here = host_class(engine_facts(Docker()))
    return Resolved(experiment, cells, _stacks(experiment, cells, plans), blocks, here)


def _unfit(plan: Plan, load: BenchRequest, docker: Docker) -> str | None:
    """Why a load cannot run on a stack of a plan, or its fault on this machine; None where they can."""
    try:
        refuse_unfit(load.workload.workload, load.workload.name, {node.kind for node in plan.nodes}, plan.profile)
        if load.trial and load.trial.scenario:
            _refuse_targets(load.trial.scenario.aims, plan, load.via)
            _refuse_faults(load.trial.scenario.certain, plan, docker)
    except SandboxError as error:
        return f"{error.what}: {error.known}"
    return None


def _refuse_targets(aims: Sequence[tuple[str, str]], plan: Plan, via: str | None) -> None:
    """Raises SandboxError for a target that the group of the entry point never has; with ``via``: that none has."""
    nodes = [
        StackNode(
            name=node.name, term=node.term, component=node.component.name, kind=node.kind, group_index=node.group_index,
            family=None, host=node.name, port=next(iter(node.ports.values()), None),
        )
        for node in plan.nodes
    ]  # fmt: skip
    groups = list(dict.fromkeys(node.group_index for node in nodes if node.is_server and node.group_index))
    for name, word in aims if groups else ():
        refused = [problem for group in groups if (problem := impossible(name, word, nodes, group))]
        if len(refused) == len(groups) or (refused and not via):
            raise refused[0]


def _refuse_faults(faults: Sequence[str], plan: Plan, docker: Docker) -> None:
    """Raises SandboxError for a fault that the stack, or the engine's kernel, cannot have; asked in the client's image.

    Where that is not here, or does not answer, nothing is known: then the trial itself is skipped.
    """
    settings = {name for node in plan.databases for name in node.settings}
    for fault in faults:
        needs = FAULT_KINDS.named(fault).needs
        for setting in {SETTING_OF[need] for need in needs if need in SETTING_OF} - settings:
            what, step = f"the fault {fault} is skipped", f"try: make plan PROFILE={plan.profile}+{setting}"
            raise SandboxError(what, f"no server has the setting {setting}", step, ExitCode.UNKNOWN)
    here = [node.choice.reference for node in plan.nodes if node.kind == "client" and node.choice.source == "local"]
    for image, fault in itertools.product(here, faults):
        with suppress(MachineError):
            refuse_unable(partial(lacking, docker, image, identity("abilities")), fault)


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


def need_baseline(resolved: Resolved) -> None:
    """Raises MachineError if no baseline can run here; if only some can, the rest is not compared."""
    lost = resolved.experiment.canary_of.name
    if lost in resolved.skipped:
        what = f"the baseline of the matrix {resolved.experiment.matrix.name} cannot run here"
        raise _not_here(resolved, what, f"{lost}: {resolved.skipped[lost]}")


def need_comparison(resolved: Resolved) -> None:
    """Raises MachineError if the cells that can run here have nothing to be compared with."""
    skipped = resolved.skipped
    if not resolved.experiment.tests_without(skipped):
        what, first = f"no comparison of the matrix {resolved.experiment.matrix.name} can run here", next(iter(skipped))
        known = f"{len(skipped)} of {len(resolved.cells)} cells cannot run; {first}: {skipped[first]}"
        raise _not_here(resolved, what, known)


def _not_here(resolved: Resolved, what: str, known: str) -> MachineError:
    command, profile = resolved.experiment.matrix.command, resolved.experiment.canary_of.change.expression
    step = f"{command} PLAN=1   (shows what can)" if command else f"make plan PROFILE={profile}   (shows its images)"
    return MachineError(what, known, f"try: {step}")


def load_of(cell: Cell, matrix: Matrix) -> BenchRequest:
    """The load of a cell. Raises SandboxError (exit 2) for an unknown workload or parameter."""
    change = cell.change
    check_limits(change.cpus, change.memory, change.cpuset, change.disk)
    if change.external:
        external_address(change.external)
    given = {name: getattr(change, key) for key, name in {"threads": "threads", **PARAMETERS}.items()}
    given = {name: value for name, value in given.items() if value is not None}
    parameters = make_parameters(seconds=matrix.seconds, warmup_s=matrix.warmup, **given)
    bare = change.faults and not _has_data(change, matrix)
    workload = resolve_workload(*((NO_LOAD, {}) if bare else (change.workload or DEFAULT_WORKLOAD, change.options)))
    conditions = matrix.conditions_of(cell)
    return BenchRequest(workload, parameters, change.via, None, tuple(sys.argv), conditions, trial=_trial_of(change))


def _has_data(change: Change, matrix: Matrix) -> bool:
    """Whether a trial starts with the data of its workload: of all alike, idle or loaded, or where its cell says so."""
    given = (change.workload, change.options, change.rows, change.tables)
    return any(given) or any(each.load == "loaded" for _, each in changes_of(matrix))


def _trial_of(change: Change) -> TrialRequest | None:
    """What breaks in a cell; None where nothing does. Raises SandboxError (exit 2) for an unknown fault."""
    if not change.faults:
        return None
    scenario = scenario_of(change.faults, change.target)
    return TrialRequest(
        scenario.schedule(), scenario, loaded=change.load == "loaded", transaction=bool(change.transaction)
    )


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
            _refuse_unknown("via", change.via, entry_words, matrix, (*place, "via"), path)
        targets = [] if change.target is None else [("target", change.target)]
        targets += [("faults", word) for _, word in scenario_of(change.faults).aims] if change.faults else []
        for key, word in targets:
            if word not in WORDS:
                _refuse_unknown("target", word, _names_of, matrix, (*place, key), path)
    for factor, levels in matrix.factors.items():
        try:
            refuse_idle_factors({factor: levels}, [load.uses for load in loads])
        except SandboxError as error:
            raise refused_at(path, ("factors", factor), error) from error
    return loads


def _refuse_unknown(
    key: str, word: str, words_of: Callable[[Plan], Collection[str]], matrix: Matrix, place: Place, path: Path
) -> None:
    """A word that no stack of the matrix has is a mistake in the file; if some have it, the others are skipped."""
    requests = {cell.stack_key: cell.plan_request for cell in matrix.all_cells()}
    known: set[str] = set()
    for request in requests.values():
        with suppress(SandboxError):  # an impossible stack is a reason to skip its cells
            known |= {*words_of(offline_plan(request))}
    if known and word not in known:
        text = f"{key}: '{word}' is not a node or term of any stack"
        raise refused_at(path, place, SandboxError(text, did_you_mean(word, known), "try: make plan PROFILE=…"))


def _refuse_mistyped_variables(experiment: Experiment, plans: Plans, path: Path) -> None:
    """Raises SandboxError (exit 2), naming file and line, for a variable that no server of its cells knows.

    If some know it, the cells of the others are skipped: a variable may come with a version, or leave with one.
    """
    for place, change in changes_of(experiment.matrix):
        refusals = [plans.refusal(cell) for cell in experiment.cells if place in _chosen_places(cell)]
        if not all(refusals):
            continue
        names = {name for _, name, _ in split_assignments(tuple(change.set))}
        for refusal in refusals:
            if isinstance(refusal, UnknownVariableError) and refusal.name in names:
                raise refused_at(path, (*place, "set"), refusal)


def _names_of(plan: Plan) -> list[str]:
    return [*WORDS, *(node.name for node in plan.nodes if node.kind != "client")]


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
    chosen = _chosen_places(cell)
    for place, change in changes_of(matrix):
        for name in Change.model_fields if place in chosen else ():
            if name in change.model_fields_set:
                yield (*place, name), Change.model_validate({name: getattr(change, name)})


def _chosen_places(cell: Cell) -> set[Place]:
    """The places in the file whose changes make up a cell."""
    return {("common",), *(("factors", factor, level) for factor, level in cell.levels.items())}


def apart_by_data(experiment: Experiment, loads: Sequence[BenchRequest]) -> Experiment:
    """The experiment; of cells that could share a stack, only those do that share their data or consume it.

    ``loads``: the load of each cell. Data with another prefix coexists, so it needs no other stack.
    """
    first: dict[tuple[object, ...], str] = {}
    cells = []
    for cell, load in zip(experiment.cells, loads, strict=True):
        if need := load.data_need:
            data = "used up" if load.consumes_data else need.key
            if data != first.setdefault((cell.stack_key, need.prefix), data):
                word = f"{cell.change.apart} {data}" if cell.change.apart else data
                cell = Cell(cell.levels, cell.change.model_copy(update={"apart": word}))
        cells.append(cell)
    canary_of = cells[experiment.cells.index(experiment.canary_of)]
    return replace(experiment, cells=tuple(cells), canary_of=canary_of)
