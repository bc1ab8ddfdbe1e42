"""PURE: a matrix before it runs: its cells, stacks, comparisons and duration, as text and as
data.
"""

from collections.abc import Iterator
from typing import Any

from sandbox.core.errors import counted
from sandbox.judge.verdict import blocks_for_one
from sandbox.matrix.resolved import Estimate, ResolvedCell, ResolvedMatrix, cell_data
from sandbox.report.text import duration, text_table, wrapped


def plan_lines(resolved: ResolvedMatrix, expected: Estimate) -> list[str]:
    """What PLAN=1 prints: question, factors, stacks, cells, size and duration, comparisons."""
    return [
        *wrapped(resolved.matrix.title, indent=""),
        *wrapped(resolved.matrix.question, indent=""),
        "",
        *_factors(resolved),
        "",
        *_stacks(resolved),
        "",
        *_cells(resolved),
        "",
        *_size(resolved, expected),
        *_power(resolved),
        *_left_out(resolved),
    ]


def plan_data(resolved: ResolvedMatrix, expected: Estimate) -> dict[str, Any]:
    """The same as JSON data."""
    resumes, runs_done = expected.resumes or (None, 0)
    return {
        "matrix": resolved.matrix.name,
        "key": resolved.key,
        "depth": resolved.matrix.depth,
        "cells": {name: cell_data(cell) for name, cell in resolved.cells.items()},
        "stacks": {name: cell.stack for name, cell in resolved.cells.items()},
        "comparisons": [
            {"cell": each.cell, "baseline": each.baseline} for each in resolved.comparisons
        ],
        "canary_of": resolved.canary.baseline,
        "blocks": resolved.blocks,
        "blocks_for_one_difference": blocks_for_one(resolved.tests),
        "skipped": dict(resolved.skipped),
        "left_out": {name: list(levels) for name, levels in resolved.left_out.items()},
        "goes_on_with": resumes,
        "runs_done": runs_done,
        "predicted_s": round(expected.seconds),
    }


def _factors(resolved: ResolvedMatrix) -> Iterator[str]:
    """Each factor with its levels, the baseline's in brackets, and whether they share a stack."""
    for factor, levels in resolved.matrix.factors.items():
        baseline = resolved.matrix.baseline.get(factor)
        shown = [f"[{level}]" if level == baseline else level for level in levels]
        yield from wrapped(", ".join(shown), f"  {factor}: ")
        yield f"    {_sharing(resolved, factor)}"


def _sharing(resolved: ResolvedMatrix, factor: str) -> str:
    """Whether the levels of a factor run on the same stacks."""
    levels_of_stack: dict[str, set[str]] = {}
    for cell in resolved.cells.values():
        levels_of_stack.setdefault(cell.stack, set()).add(cell.levels[factor])
    if all(len(levels) == 1 for levels in levels_of_stack.values()):
        return "a separate stack for each"
    every = set().union(*levels_of_stack.values())
    if all(levels == every for levels in levels_of_stack.values()):
        return "on the same stack"
    return "not all on the same stack"


def _stacks(resolved: ResolvedMatrix) -> Iterator[str]:
    """Each stack with its definition, and why it cannot run here.

    Its cells share it without a restart.
    """
    if resolved.matrix.depth == "restart":
        yield "  stacks, each restarted for every block:"
    else:
        yield "  stacks, all up at the same time:"
    first: dict[str, ResolvedCell] = {}
    for cell in resolved.cells.values():
        first.setdefault(cell.stack, cell)
    for stack, cell in first.items():
        definition = " ".join([cell.change.expression, *_given(cell)])
        yield from wrapped(definition, f"    {stack}  ")
        yield from wrapped(cell.skipped or "", "          skipped: ")


def _given(cell: ResolvedCell) -> list[str]:
    """What a stack is started with in addition to the profile."""
    change = cell.change
    limits = {
        "CPUS": change.cpus,
        "MEMORY": change.memory,
        "CPUSET": change.cpuset,
        "DISK": change.disk,
    }
    given = list(cell.assignments)
    given += [f"{name}={value}" for name, value in limits.items() if value]
    if change.init:
        given.append("INIT")
    return given


def _cells(resolved: ResolvedMatrix) -> list[str]:
    rows = []
    for name, cell in resolved.cells.items():
        rows.append((name, cell.stack, "skipped" if cell.skipped else "runs"))
    return [f"  {line}" for line in text_table(("cell", "stack", ""), rows)]


def _size(resolved: ResolvedMatrix, expected: Estimate) -> list[str]:
    """How many cells and runs, how long they take, and how many are done."""
    cells = len(resolved.cells) - len(resolved.skipped)
    number = (cells + 1) * resolved.blocks
    size = (
        f"{cells} cells and the canary, {counted(resolved.blocks, 'block')}: "
        f"{_runs(resolved, number)} at depth {resolved.matrix.depth}"
    )
    takes = f"about {duration(expected.seconds)}"
    if expected.resumes is None:
        return [f"{size}, {takes}"]
    name, done = expected.resumes
    return [
        size,
        f"resumes results/{name}: {done} of {number} runs are done (NEW=1 starts from scratch)",
        f"{takes} remaining",
    ]


def _runs(resolved: ResolvedMatrix, number: int) -> str:
    """How many runs of which length: the clock's, or that of their work."""
    if resolved.has_trials:
        return f"{number} trials"
    matrix = resolved.matrix
    by_work = [cell.load.work_s is not None for cell in resolved.cells.values()]
    if all(by_work):
        return f"{number} runs of {matrix.warmup} s + their work"
    also = " (or their work)" if any(by_work) else ""
    return f"{number} runs of {matrix.warmup} + {matrix.seconds} s{also}"


def _power(resolved: ResolvedMatrix) -> Iterator[str]:
    """How many comparisons, and whether the blocks are enough to call one of them real."""
    needed = blocks_for_one(resolved.tests)
    yield (
        f"{counted(resolved.tests, 'comparison')} at once: a single difference among them needs"
        f" {needed} blocks"
    )
    if resolved.blocks < needed:
        yield (
            f"WARNING: with {counted(resolved.blocks, 'block')} "
            f"a single difference cannot be called real (BLOCKS={needed})"
        )


def _left_out(resolved: ResolvedMatrix) -> Iterator[str]:
    for factor, levels in resolved.left_out.items():
        yield from wrapped(", ".join(levels), f"left out: {factor} ")
