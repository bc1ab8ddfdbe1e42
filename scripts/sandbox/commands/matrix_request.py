"""What a matrix asks for: the load of each cell, the stack of each arm, all that the runner must know."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox.commands.matrix_file import Place, changes_of, refused_at
from sandbox.commands.matrix_plan import plan_request
from sandbox.commands.planning import check_limits, offline_plan, planned
from sandbox.commands.workload import refuse_idle_factors, resolve_workload
from sandbox.errors import ExitCode, SandboxError, did_you_mean
from sandbox.plan.basis import data_request
from sandbox.plan.compose import node_context
from sandbox.plan.entry_words import entry_words
from sandbox.plan.experiment import Experiment
from sandbox.plan.matrix import CANARY, DEFAULT_WORKLOAD, Cell, Change, Matrix
from sandbox.plan.model import Plan, PlanRequest
from sandbox.plan.secrets import PLACEHOLDER
from sandbox.plan.variables import effective_variables
from sandbox.run.matrix_result import Gate, MatrixRequest
from sandbox.run.schedule import arms
from sandbox.run.state import BenchRequest
from sandbox.stack.engine import Docker
from sandbox.stack.facts import engine_facts
from sandbox.stack.host_class import host_class
from sandbox.workloads.common.model import make_parameters


@dataclass(frozen=True, slots=True)
class ArmStack:
    """What one arm's stack is made from. Two arms may be alike in it and not in their data."""

    arm: str
    request: PlanRequest


def bench_of(cell: Cell, matrix: Matrix) -> BenchRequest:
    """The load of a cell. Raises SandboxError (exit 2) for a workload or parameter that there is none of."""
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


def benches_of_file(experiment: Experiment, path: Path) -> list[BenchRequest]:
    """The load of every cell of a matrix file. Raises SandboxError (exit 2) naming file and line of what cannot be."""
    matrix = experiment.matrix
    benches = []
    for cell in experiment.cells:
        try:
            benches.append(bench_of(cell, matrix))
        except SandboxError as error:
            if error.exit_code is not ExitCode.BAD_INPUT:
                raise
            raise refused_at(path, _place_at_fault(cell, matrix, error), error) from error
    for place, change in changes_of(matrix):
        if change.via:
            _refuse_unknown_entry(change.via, matrix, (*place, "via"), path)
    for factor, levels in matrix.factors.items():
        try:
            refuse_idle_factors({factor: levels}, [bench.workload.workload for bench in benches])
        except SandboxError as error:
            raise refused_at(path, ("factors", factor), error) from error
    return benches


def _refuse_unknown_entry(via: str, matrix: Matrix, place: Place, path: Path) -> None:
    """An entry that no stack of the matrix has is a mistake in the file; where some have it, the others are skipped."""
    requests = {cell.stack_key: plan_request(cell) for cell in matrix.all_cells() if cell.change.via == via}
    known: set[str] = set()
    for request in requests.values():
        with suppress(SandboxError):  # a stack that cannot be is a reason to skip its cells
            known |= entry_words(offline_plan(request))
    if known and via not in known:
        told = f"via: '{via}' is no node and no term of any stack"
        raise refused_at(path, place, SandboxError(told, did_you_mean(via, known), "try: make plan PROFILE=…"))


def _place_at_fault(cell: Cell, matrix: Matrix, error: SandboxError) -> Place:
    """The key from which on a load is refused for the same reason, where those of the file are laid down one by one."""
    change = Change()
    for place, key in _keys_of(cell, matrix):
        change = key.over(change)
        try:
            bench_of(Cell(cell.levels, change), matrix)
        except SandboxError as found:
            if found.what == error.what:
                return place
    return ()


def _keys_of(cell: Cell, matrix: Matrix) -> Iterator[tuple[Place, Change]]:
    """Every key that a cell is made of, each with its place; the workload before its options."""
    chosen = {("common",), *(("factors", factor, level) for factor, level in cell.levels.items())}
    for place, change in changes_of(matrix):
        for name in Change.model_fields if place in chosen else ():
            if name in change.model_fields_set:
                yield (*place, name), Change.model_validate({name: getattr(change, name)})


def _planned_variables(plan: Plan) -> dict[str, str]:
    """What component, settings and SET= give the servers; of several that are given different values, all of them."""
    given: dict[str, dict[str, None]] = {}
    for server in plan.databases:
        for name, value in effective_variables(server, node_context(plan, server, PLACEHOLDER)).items():
            given.setdefault(name.removeprefix("loose_"), {})["ON" if value is None else value] = None  # a bare flag
    return {name: " | ".join(values) for name, values in given.items()}


def _has_proxy(plan: Plan) -> bool:
    return any(node.kind == "proxy" for node in plan.nodes)


def stack_requests(experiment: Experiment) -> dict[str, ArmStack]:
    """What the stack of each arm is made from, the canary's last."""
    named = arms(experiment)
    of_cells = {named[cell.stack_key]: plan_request(cell) for cell in experiment.cells}
    requests = {**of_cells, CANARY: plan_request(experiment.canary_of)}
    return {arm: ArmStack(arm, request) for arm, request in requests.items()}


def matrix_request(
    experiment: Experiment,
    blocks: int,
    skipped: Mapping[str, str],
    seed: int | None,
    afresh: bool,
    docker: Docker,
    gate: Gate | None = None,
) -> MatrixRequest:
    """An experiment with all that the runner must know of it."""
    named = arms(experiment)
    unplannable = {named[cell.stack_key] for cell in experiment.cells if cell.name in skipped}
    stacks = stack_requests(experiment)
    plans = {arm: planned(each.request) for arm, each in stacks.items() if arm not in unplannable}
    return MatrixRequest(
        experiment,
        blocks,
        seed,
        lambda cell: bench_of(cell, experiment.matrix),
        skipped,
        host_class(engine_facts(docker)),
        {arm: _planned_variables(each) for arm, each in plans.items()},
        frozenset(arm for arm, each in plans.items() if _has_proxy(each)),
        frozenset(arm for arm, each in plans.items() if data_request(each) is None),
        tuple(sys.argv),
        afresh,
        gate,
    )


def benches_of_arms(experiment: Experiment, skipped: Mapping[str, str]) -> dict[ArmStack, list[BenchRequest]]:
    """The loads that each arm's stack gets. The canary's has the data of all that its baseline's has."""
    named, stacks = arms(experiment), stack_requests(experiment)
    found: dict[ArmStack, list[BenchRequest]] = {}
    for cell in experiment.cells:
        if cell.name not in skipped:
            found.setdefault(stacks[named[cell.stack_key]], []).append(bench_of(cell, experiment.matrix))
    baseline = stacks[named[experiment.canary_of.stack_key]]
    return {**found, stacks[CANARY]: found[baseline]} if baseline in found else found
