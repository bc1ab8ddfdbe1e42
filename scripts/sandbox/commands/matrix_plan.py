"""matrix PLAN=1: what of a matrix can run here, how long it takes, and what an earlier start has left of it."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from sandbox.commands.planning import planned
from sandbox.errors import ExitCode, SandboxError
from sandbox.plan.entry_words import entry_words
from sandbox.plan.experiment import Experiment
from sandbox.plan.matrix import Cell, Matrix
from sandbox.plan.model import Plan, PlanRequest, UserFile
from sandbox.report.matrix_view import Foreseen, duration, experiment_data, experiment_lines
from sandbox.run.matrix_result import FINAL, MatrixRequest, unfinished
from sandbox.run.predict import known_pace, load_s, overhead_s, runs_left
from sandbox.run.schedule import arms


def plan_request(cell: Cell) -> PlanRequest:
    """What the stack of a cell is made from."""
    change = cell.change
    init = change.init and UserFile(f"{cell.name}.sql", change.init, hashlib.sha256(change.init.encode()).hexdigest())
    return PlanRequest(
        change.expression,
        cell.assignments,
        init=init or None,
        cpus=change.cpus,
        memory=change.memory,
        cpuset=change.cpuset,
        image=change.image,
    )


def skipped_cells(experiment: Experiment) -> dict[str, str]:
    """Cells that cannot run here, with the reason: an image that cannot be had, a capability that is missing."""
    return {name: reason for name, reason in _reasons(experiment.cells).items() if reason}


def settled(matrix: Matrix) -> Matrix:
    """The matrix with one baseline: where the file has a list, the first of it that can run here."""
    if not matrix.baseline_else:
        return matrix
    reasons = _reasons(matrix.all_cells())
    return matrix.with_baseline_among(lambda cell: not reasons[cell.name])


def _reasons(cells: Iterable[Cell]) -> dict[str, str | None]:
    """Why a cell cannot run here, None for one that can, by its name; each stack is planned once."""
    plans: dict[tuple[object, ...], Plan | str] = {}
    reasons = {}
    for cell in cells:
        if cell.stack_key not in plans:
            plans[cell.stack_key] = _plan_or_reason(cell)
        plan = plans[cell.stack_key]
        reasons[cell.name] = plan if isinstance(plan, str) else _lacking(plan, cell.change.via)
    return reasons


def _plan_or_reason(cell: Cell) -> Plan | str:
    try:
        return planned(plan_request(cell))
    except SandboxError as error:
        if error.exit_code is not ExitCode.BAD_INPUT:  # a broken checkout is not what the cell asks for
            raise
        return f"{error.what}: {error.known}"


def _lacking(plan: Plan, via: str | None) -> str | None:
    if via and via not in entry_words(plan):
        return f"via: {via} is not part of {plan.profile}"
    references = sorted({node.choice.reference for node in plan.unavailable()})
    return f"cannot be had here: {', '.join(references)}" if references else None


def need_images(experiment: Experiment) -> None:
    """Raises SandboxError where the only stack of an experiment cannot be had here."""
    need_baseline(experiment, skipped_cells(experiment))


def with_canary_here(experiment: Experiment, skipped: Mapping[str, str]) -> Experiment:
    """The experiment with a canary that can run here, where any baseline can: the middle one of those."""
    baselines = {each.baseline for each in experiment.comparisons} - set(skipped)
    if experiment.canary_of.name not in skipped or not baselines:
        return experiment
    able = [cell for cell in experiment.cells if cell.name in baselines]
    return replace(experiment, canary_of=able[len(able) // 2])


def need_baseline(experiment: Experiment, skipped: Mapping[str, str]) -> None:
    """Raises SandboxError (exit 4) where no baseline can run here; where only some can, the rest is not compared."""
    lost = experiment.canary_of.name
    if lost in skipped:
        raise SandboxError(
            f"the baseline of the matrix {experiment.matrix.name} cannot run here",
            f"{lost}: {skipped[lost]}",
            f"try: make matrix MATRIX={experiment.matrix.name} PLAN=1   (shows what can)",
            ExitCode.ENVIRONMENT,
        )


def need_comparison(experiment: Experiment, skipped: Mapping[str, str]) -> None:
    """Raises SandboxError (exit 4) where the cells that can run here have none to be compared with."""
    if experiment.tests_without(skipped):
        return
    first = next(cell.name for cell in experiment.cells if cell.name in skipped)
    raise SandboxError(
        f"of the matrix {experiment.matrix.name} nothing that could be compared can run here",
        f"{len(skipped)} of {len(experiment.cells)} cells cannot; {first}: {skipped[first]}",
        f"try: make matrix MATRIX={experiment.matrix.name} PLAN=1   (shows what can)",
        ExitCode.ENVIRONMENT,
    )


def foresee(request: MatrixRequest, results: Path, data_s: float) -> Foreseen:
    """How long what is left takes on this host, and whether an unfinished result is gone on with.

    ``data_s``: of data that has yet to be made.
    """
    experiment = request.experiment
    earlier = unfinished(request, results)
    done: set[str] = set()
    seed = request.seed or 1
    if earlier is not None and earlier.manifest.matrix is not None:
        done = {entry.run for entry in earlier.manifest.runs if entry.status in FINAL}
        seed = earlier.manifest.matrix.seed
    left = runs_left(experiment, request.blocks, seed, request.skipped, done, 0 if request.gate else 1)
    pace = known_pace(results, request.host_class)
    around_s = overhead_s(experiment, left, request.bench_of, request.proxied, request.from_nothing)
    beside_s = data_s * bool(left) + around_s
    seconds = load_s(experiment, left) + pace * beside_s
    named = arms(experiment)
    stacks = {cell.name: named[cell.stack_key] for cell in experiment.cells}
    going_on = (earlier.path.name, len(done)) if earlier is not None else None
    return Foreseen(request.blocks, request.skipped, seconds, stacks, going_on)


def foreseen_words(foreseen: Foreseen) -> list[str]:
    """The same in a few words, for the line that an experiment without a plan to show begins with."""
    told = [f"about {duration(foreseen.seconds)}"]
    if foreseen.going_on:
        name, done = foreseen.going_on
        told.insert(0, f"goes on with {name}, where {done} runs are done")
    return told


def show_plan(request: MatrixRequest, results: Path, data_s: float, as_json: bool) -> int:
    """Prints what would be run."""
    foreseen = foresee(request, results, data_s)
    if as_json:
        print(json.dumps(experiment_data(request.experiment, foreseen), indent=2))
    else:
        print("\n".join(experiment_lines(request.experiment, foreseen)))
    return int(ExitCode.OK)
