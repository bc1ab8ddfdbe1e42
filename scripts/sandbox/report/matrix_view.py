"""A matrix before it runs, as lines and as data."""

from collections.abc import Iterator, Sequence
from typing import Any

from sandbox.experiment.definition import Cell
from sandbox.experiment.estimate import Estimate
from sandbox.experiment.resolve import Resolved, ResolvedCell
from sandbox.experiment.selection import Experiment, cell_data
from sandbox.report.text import duration, text_table, wrapped
from sandbox.results.statistics.verdict import blocks_for_one


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
        "matrix": experiment.matrix.name,
        "key": experiment.key,
        "depth": experiment.matrix.depth,
        "cells": {cell.name: cell_data(cell) for cell in experiment.cells},
        "stacks": dict(experiment.stack_of),
        "comparisons": [{"cell": each.cell, "baseline": each.baseline} for each in experiment.comparisons],
        "canary_of": experiment.canary.baseline,
        "blocks": resolved.blocks,
        "blocks_for_one_difference": blocks_for_one(experiment.tests_without(resolved.skipped)),
        "skipped": dict(resolved.skipped),
        "left_out": {name: list(levels) for name, levels in experiment.left_out.items()},
        "goes_on_with": expected.resumes[0] if expected.resumes else None,
        "runs_done": expected.resumes[1] if expected.resumes else 0,
        "predicted_s": round(expected.seconds),
    }


def _factors(experiment: Experiment) -> Iterator[str]:
    """Each factor with its levels, the baseline's in brackets, and whether they share a stack."""
    stacks = {cell.stack_key for cell in experiment.cells}
    for factor, levels in experiment.matrix.factors.items():
        sharing = [{cell.levels[factor] for cell in experiment.cells if cell.stack_key == stack} for stack in stacks]
        base = experiment.matrix.baseline.get(factor)
        yield from wrapped(", ".join(f"[{level}]" if level == base else level for level in levels), f"  {factor}: ")
        yield f"    {_stacks_of(sharing)}"


def _stacks_of(sharing: Sequence[set[str]]) -> str:
    """``sharing``: by stack, the levels of a factor that run on it."""
    if all(len(levels) == 1 for levels in sharing):
        return "a separate stack for each"
    whole = set().union(*sharing)
    return "on the same stack" if all(levels == whole for levels in sharing) else "not all on the same stack"


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
    limits = {"CPUS": change.cpus, "MEMORY": change.memory, "CPUSET": change.cpuset}
    given = [*cell.assignments, *(f"{name}={value}" for name, value in limits.items() if value)]
    return [*given, "INIT"] if change.init else given


def _size(resolved: Resolved, expected: Estimate) -> list[str]:
    experiment, blocks = resolved.experiment, resolved.blocks
    matrix, tests = experiment.matrix, experiment.tests_without(resolved.skipped)
    needed = blocks_for_one(tests)
    cells = len(experiment.cells) - len(resolved.skipped)
    number = (cells + 1) * blocks
    runs = f"{number} runs of {matrix.warmup} + {matrix.seconds} s"
    lines = [f"{cells} cells and the canary, {blocks} blocks: {runs} at depth {matrix.depth}"]
    if expected.resumes:
        name, done = expected.resumes
        lines += [f"resumes results/{name}: {done} of {number} runs are done (NEW=1 starts from scratch)"]
        lines += [f"about {duration(expected.seconds)} remaining"]
    else:
        lines[0] += f", about {duration(expected.seconds)}"
    lines.append(f"{tests} comparisons at once: a single difference among them needs {needed} blocks")
    if blocks < needed:
        lines.append(f"WARNING: with {blocks} blocks a single difference cannot be called real (BLOCKS={needed})")
    for name, levels in experiment.left_out.items():
        lines += wrapped(", ".join(levels), f"left out: {name} ")
    return lines
