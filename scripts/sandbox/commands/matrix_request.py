"""What a matrix asks for: the load of each cell, the stack of each arm, all that the runner must know."""

import sys
from collections.abc import Mapping

from sandbox.commands.matrix_plan import plan_request
from sandbox.commands.planning import check_limits, planned
from sandbox.commands.workload import resolve_workload
from sandbox.plan.compose import node_context
from sandbox.plan.experiment import Experiment
from sandbox.plan.matrix import CANARY, DEFAULT_WORKLOAD, Cell, Matrix
from sandbox.plan.model import PlanRequest
from sandbox.plan.secrets import PLACEHOLDER
from sandbox.plan.variables import effective_variables
from sandbox.run.matrix_result import MatrixRequest
from sandbox.run.schedule import arms
from sandbox.run.state import BenchRequest
from sandbox.stack.engine import Docker
from sandbox.stack.facts import engine_facts
from sandbox.stack.host_class import host_class
from sandbox.workloads.common.model import make_parameters


def bench_of(cell: Cell, matrix: Matrix) -> BenchRequest:
    """The load of a cell. Raises SandboxError (exit 2) for a workload or parameter that there is none of."""
    change = cell.change
    check_limits(change.cpus, change.memory)
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


def _planned_variables(request: PlanRequest) -> dict[str, str]:
    """What component, settings and SET= give the servers; of several that are given different values, all of them."""
    plan = planned(request)
    given: dict[str, dict[str, None]] = {}
    for server in plan.databases:
        for name, value in effective_variables(server, node_context(plan, server, PLACEHOLDER)).items():
            given.setdefault(name.removeprefix("loose_"), {})["ON" if value is None else value] = None  # a bare flag
    return {name: " | ".join(values) for name, values in given.items()}


def _has_proxy(request: PlanRequest) -> bool:
    return any(node.kind == "proxy" for node in planned(request).nodes)


def stack_requests(experiment: Experiment) -> dict[str, PlanRequest]:
    """What the stack of each arm is made from, the canary's last."""
    named = arms(experiment)
    return {
        **{named[cell.stack_key]: plan_request(cell) for cell in experiment.cells},
        CANARY: plan_request(experiment.canary_of),
    }


def matrix_request(
    experiment: Experiment,
    blocks: int,
    skipped: Mapping[str, str],
    seed: int | None,
    afresh: bool,
    docker: Docker,
    gate: bool = False,
) -> MatrixRequest:
    """An experiment with all that the runner must know of it."""
    named = arms(experiment)
    unplannable = {named[cell.stack_key] for cell in experiment.cells if cell.name in skipped}
    requests = {arm: each for arm, each in stack_requests(experiment).items() if arm not in unplannable}
    return MatrixRequest(
        experiment,
        blocks,
        seed,
        lambda cell: bench_of(cell, experiment.matrix),
        skipped,
        host_class(engine_facts(docker)),
        {arm: _planned_variables(each) for arm, each in requests.items()},
        frozenset(arm for arm, each in requests.items() if _has_proxy(each)),
        tuple(sys.argv),
        afresh,
        gate,
    )


def benches_of_arms(experiment: Experiment, skipped: Mapping[str, str]) -> dict[PlanRequest, list[BenchRequest]]:
    """The loads that each arm's stack gets, by the stack's request; the canary's is the baseline's."""
    found: dict[PlanRequest, list[BenchRequest]] = {}
    for cell in experiment.cells:
        if cell.name not in skipped:
            found.setdefault(plan_request(cell), []).append(bench_of(cell, experiment.matrix))
    return found
