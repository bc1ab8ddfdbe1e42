"""matrix: runs every combination of a matrix file in randomized blocks, and reports which differences are real."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.matrix_run import estimated, run_resolved
from sandbox.cli.common.options import Json, chosen, either, place, show
from sandbox.cli.registry import About
from sandbox.core.errors import ExitCode, SandboxError, counted
from sandbox.judge.compare import Known
from sandbox.judge.verdict import MOST_BLOCKS, blocks_for_one
from sandbox.matrix.definition import Cell, Matrix
from sandbox.matrix.estimate import Estimate
from sandbox.matrix.file import matrix_path, read_matrix
from sandbox.matrix.resolve import Resolved, ResolvedCell, need_baseline, need_comparison, resolve_file
from sandbox.matrix.result_folder import known_noise, learn_from, note_noise, part_of
from sandbox.matrix.selection import Experiment, cell_data
from sandbox.record.store import ResultFolder
from sandbox.report.text import duration, text_table, wrapped

ABOUT = About(group="measure", after="trial", recorded=True)

_BOUNDS = {
    "seconds": (1, sys.maxsize),
    "warmup": (0, sys.maxsize),
    **dict.fromkeys(("blocks", "trials"), (1, MOST_BLOCKS)),
}
"""The least and the most that each may be."""


def run(resolved: Resolved, as_json: bool) -> int:
    """Runs, judges, prints; returns the exit code. Raises SandboxError for a matrix that cannot run at all."""
    need_baseline(resolved)
    need_comparison(resolved)
    result = run_resolved(resolved, experiment_lines(resolved, estimated(resolved)))
    known = known_noise(result)
    learn_from(result)
    return show_result(result, as_json, known)


def _adjusted(matrix: Matrix, given: Mapping[str, int | None]) -> Matrix:
    """The matrix with the values from the command line. Raises SandboxError (exit 2) for a number out of bounds."""
    changes = {name: value for name, value in given.items() if value is not None}
    for name, value in changes.items():
        least, most = _BOUNDS[name]
        if (bound := min(max(value, least), most)) != value:
            known = f"at least {least}" if value < least else f"at most {most}: exact tests take no more blocks"
            step = f"try: {matrix.command} {name.upper()}={bound}"
            raise SandboxError(f"{name.upper()}={value} is not valid", known, step)
    trials = changes.pop("trials", None)
    if trials is not None and changes.setdefault("blocks", trials) != trials:
        what = f"BLOCKS={changes['blocks']} and TRIALS={trials} contradict each other"
        raise SandboxError(what, "TRIALS= is another word for BLOCKS=", f"try: {matrix.command} TRIALS={trials}")
    return matrix.model_copy(update=changes)


def show_result(result: ResultFolder, as_json: bool, known: Known) -> int:
    """Prints the verdicts and writes the result's report. Raises SandboxError (exit 4) if no run is usable."""
    # Late, for start-up time: 0.1 s that a refusal need not wait for.
    from sandbox.cli.commands import report
    from sandbox.report.verdict_table import lost_runs, processor_data, verdict_data, verdict_lines

    note_noise(result, known)
    manifest, part, runs = result.manifest, part_of(result), report.read_runs(result)
    records = [run.record for run in runs]
    judged = report.judge(result, part, runs)
    written = report.write_matrix(result, manifest, part, runs, judged)
    data = {
        **verdict_data(part, judged, records),
        "processor_time": processor_data(part, records),
        "result": str(result.path),
    }
    files = [f"results/{path.parent.name}/{path.name}" for path in written]
    show(as_json, data, [*verdict_lines(part, judged, records), *lost_runs(part, records), *files])
    return int(ExitCode.OK)


def experiment_lines(resolved: Resolved, expected: Estimate) -> list[str]:
    """What PLAN=1 prints: question, factors, stacks, cells, number and duration of the runs, comparisons."""
    matrix = resolved.experiment.matrix
    lines = [*wrapped(matrix.title, indent=""), *wrapped(matrix.question, indent=""), ""]
    lines += [*_factors(resolved.experiment), "", *_stacks(resolved), ""]
    cells = [(name, each.stack, "skipped" if each.skipped else "runs") for name, each in resolved.cells.items()]
    lines += [f"  {line}" for line in text_table(("cell", "stack", ""), cells)]
    return [*lines, "", *_size(resolved, expected)]


def experiment_data(resolved: Resolved, expected: Estimate) -> dict[str, Any]:
    """The same as JSON data."""
    experiment = resolved.experiment
    return {
        "matrix": experiment.matrix.name, "key": experiment.key, "depth": experiment.matrix.depth,
        "cells": {cell.name: cell_data(cell) for cell in experiment.cells},
        "stacks": dict(experiment.stack_of),
        "comparisons": [{"cell": each.cell, "baseline": each.baseline} for each in experiment.comparisons],
        "canary_of": experiment.canary.baseline, "blocks": resolved.blocks,
        "blocks_for_one_difference": blocks_for_one(experiment.tests_without(resolved.skipped)),
        "skipped": dict(resolved.skipped),
        "left_out": {name: list(levels) for name, levels in experiment.left_out.items()},
        "goes_on_with": expected.resumes[0] if expected.resumes else None,
        "runs_done": expected.resumes[1] if expected.resumes else 0,
        "predicted_s": round(expected.seconds),
    }  # fmt: skip


def _factors(experiment: Experiment) -> Iterator[str]:
    """Each factor with its levels, the baseline's in brackets, and whether they share a stack."""
    stacks = {cell.stack_key for cell in experiment.cells}
    for factor, levels in experiment.matrix.factors.items():
        sharing = [{cell.levels[factor] for cell in experiment.cells if cell.stack_key == stack} for stack in stacks]
        base = experiment.matrix.baseline.get(factor)
        yield from wrapped(", ".join(f"[{level}]" if level == base else level for level in levels), f"  {factor}: ")
        whole = set().union(*sharing)
        if all(len(each) == 1 for each in sharing):
            yield "    a separate stack for each"
        else:
            same = all(each == whole for each in sharing)
            yield f"    {'on the same stack' if same else 'not all on the same stack'}"


def _stacks(resolved: Resolved) -> list[str]:
    """Each stack with its definition, and why it cannot run here; its cells share it without a restart."""
    restart = resolved.experiment.matrix.depth == "restart"
    lines = ["  stacks, each restarted for every block:" if restart else "  stacks, all up at the same time:"]
    first: dict[str, ResolvedCell] = {}
    for each in resolved.cells.values():
        first.setdefault(each.stack, each)
    for stack, each in first.items():
        lines += wrapped(" ".join([each.cell.change.expression, *_given(each.cell)]), f"    {stack}  ")
        lines += wrapped(each.skipped or "", "          skipped: ")
    return lines


def _given(cell: Cell) -> list[str]:
    """What a stack is started with in addition to the profile."""
    change = cell.change
    limits = {"CPUS": change.cpus, "MEMORY": change.memory, "CPUSET": change.cpuset, "DISK": change.disk}
    given = [*cell.assignments, *(f"{name}={value}" for name, value in limits.items() if value)]
    return [*given, "INIT"] if change.init else given


def _size(resolved: Resolved, expected: Estimate) -> list[str]:
    experiment, blocks = resolved.experiment, resolved.blocks
    matrix, tests = experiment.matrix, experiment.tests_without(resolved.skipped)
    needed = blocks_for_one(tests)
    cells = len(experiment.cells) - len(resolved.skipped)
    number = (cells + 1) * blocks
    of_blocks = "1 block" if blocks == 1 else f"{blocks} blocks"
    lines = [f"{cells} cells and the canary, {of_blocks}: {_runs(resolved, number)} at depth {matrix.depth}"]
    if expected.resumes:
        name, done = expected.resumes
        lines += [f"resumes results/{name}: {done} of {number} runs are done (NEW=1 starts from scratch)"]
        lines += [f"about {duration(expected.seconds)} remaining"]
    else:
        lines[0] += f", about {duration(expected.seconds)}"
    lines.append(f"{counted(tests, 'comparison')} at once: a single difference among them needs {needed} blocks")
    if blocks < needed:
        lines.append(f"WARNING: with {of_blocks} a single difference cannot be called real (BLOCKS={needed})")
    for name, levels in experiment.left_out.items():
        lines += wrapped(", ".join(levels), f"left out: {name} ")
    return lines


def _runs(resolved: Resolved, number: int) -> str:
    """How many runs of which length: the clock's, or that of their work."""
    loads, matrix = [cell.load for cell in resolved.cells.values()], resolved.experiment.matrix
    if resolved.has_trials:
        return f"{number} trials"
    by_work = [getattr(load, "work_s", None) is not None for load in loads]
    if by_work and all(by_work):
        return f"{number} runs of {matrix.warmup} s + their work"
    also = " (or their work)" if any(by_work) else ""
    return f"{number} runs of {matrix.warmup} + {matrix.seconds} s{also}"


def command(
    which: Annotated[str | None, place("MATRIX", "Matrix, such as quick, or a path.", completion.matrix)] = None,
    matrix: Annotated[str | None, chosen("Matrix, such as quick, or a path.", completion.matrix)] = None,
    seconds: Annotated[int | None, typer.Option(help="Measured seconds per run.")] = None,
    warmup: Annotated[int | None, typer.Option(help="Seconds of warm-up before each run, discarded.")] = None,
    blocks: Annotated[int | None, typer.Option(help="Blocks (as many as a single difference needs).")] = None,
    trials: Annotated[int | None, typer.Option(help="Trials of each cell with a fault: the same as BLOCKS.")] = None,
    only: Annotated[str | None, typer.Option(help="Levels to run: 'threads=1,64 rewriter=on'.")] = None,
    seed: Annotated[int | None, typer.Option(min=1, help="Seed of order and load (random).")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show cells, time and power; run nothing.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Start from scratch instead of resuming.")] = False,
    json: Json = False,
) -> int:
    """Run a matrix of factors and report which differences are real."""
    path = matrix_path(either(which, matrix, "MATRIX"))
    adjusted = _adjusted(read_matrix(path), {"seconds": seconds, "warmup": warmup, "blocks": blocks, "trials": trials})
    resolved = replace(resolve_file(adjusted, path, only), seed=seed, afresh=new)
    if not plan:
        return run(resolved, json)
    expected = estimated(resolved)
    show(json, experiment_data(resolved, expected), experiment_lines(resolved, expected))
    return int(ExitCode.OK)
