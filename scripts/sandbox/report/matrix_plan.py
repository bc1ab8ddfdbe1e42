"""PURE: what is said of a matrix that has not begun: its cells, stacks, length and power."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sandbox.core.errors import counted
from sandbox.judge.verdict import blocks_for_one
from sandbox.matrix.resolved import Estimate, ResolvedCell, ResolvedMatrix, cell_data
from sandbox.report.document import (
    Document,
    Fact,
    FactList,
    Medium,
    Notes,
    Part,
    Said,
    Section,
    Table,
)
from sandbox.report.text import duration


@dataclass(frozen=True, slots=True)
class PlanElsewhere:
    """A matrix at a scale that was not chosen; ``why_not``: it cannot be, with these options."""

    resolved: ResolvedMatrix | None = None
    expected: Estimate | None = None
    why_not: str = ""


Elsewhere = Mapping[str, PlanElsewhere]
"""By scale."""
_NOWHERE: Elsewhere = MappingProxyType({})


def matrix_plan_document(
    resolved: ResolvedMatrix, expected: Estimate, others: Elsewhere = _NOWHERE
) -> Document:
    """A matrix before it runs: question, factors, stacks, cells, size and duration, comparisons."""
    matrix = resolved.matrix
    up = (
        "each restarted for every block" if matrix.depth == "restart" else "all up at the same time"
    )
    rows = [
        [name, cell.stack, "skipped" if cell.skipped else "runs"]
        for name, cell in resolved.cells.items()
    ]
    size = [
        *_size(resolved, expected),
        *_power(resolved),
        *_left_out(resolved),
        *map(_scale_text, others.items()),
    ]
    sections = [
        _shown_section("Factors, the baseline's levels in brackets", FactList(_factors(resolved))),
        _shown_section(f"Stacks, {up}", FactList(_stacks(resolved))),
        _shown_section("Cells", Table.of(("cell", "stack", ""), rows)),
        _shown_section("Size and comparisons", Notes.of(size)),
    ]
    return Document(Said(matrix.title), sections, question=Said(matrix.question))


def _shown_section(heading: str, part: Part) -> Section:
    """A part under its heading, on a terminal too."""
    return Section([part], heading, headed=Medium.EVERYWHERE)


def matrix_plan_data(
    resolved: ResolvedMatrix, expected: Estimate, others: Elsewhere = _NOWHERE
) -> dict[str, Any]:
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
        "scale": resolved.matrix.scale,
        "predicted_s_by_scale": {
            name: round(each.expected.seconds) if each.expected else None
            for name, each in others.items()
        },
    }


def _factors(resolved: ResolvedMatrix) -> list[Fact]:
    """Each factor with its levels, and whether they share a stack."""
    facts = []
    for factor, levels in resolved.matrix.factors.items():
        baseline = resolved.matrix.baseline.get(factor)
        shown = [f"[{level}]" if level == baseline else level for level in levels]
        facts.append(Fact(factor, f"{', '.join(shown)}   ({_sharing(resolved, factor)})"))
    return facts


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


def _stacks(resolved: ResolvedMatrix) -> list[Fact]:
    """Each stack with its definition, and why it cannot run here.

    Its cells share it without a restart.
    """
    first: dict[str, ResolvedCell] = {}
    for cell in resolved.cells.values():
        first.setdefault(cell.stack, cell)
    facts = []
    for stack, cell in first.items():
        facts.append(Fact(stack, " ".join([cell.change.expression, *_given(cell)])))
        if cell.skipped:
            facts.append(Fact("  skipped", cell.skipped))
    return facts


def _given(cell: ResolvedCell) -> list[str]:
    """What a stack is started with in addition to the profile."""
    change = cell.change
    options = {
        "IMAGE": " ".join(change.image or ()),
        "BINARY": " ".join(change.binary or ()),
        "CNF": " ".join(change.cnf),
        "REPLICATE": " ".join(change.replicate),
        "CPUS": change.cpus,
        "MEMORY": change.memory,
        "CPUSET": change.cpuset,
        "DISK": change.disk,
    }
    given = list(cell.assignments)
    given += [f"{name}={value}" for name, value in options.items() if value]
    if change.init:
        given.append("INIT")
    return given


def _scale_text(other: tuple[str, PlanElsewhere]) -> str:
    """``SCALE=server: 30 cells and the canary, …, about 7 h``."""
    scale, plan = other
    if plan.resolved is None or plan.expected is None:
        return f"SCALE={scale}: not with these options ({plan.why_not})"
    takes = duration(plan.expected.seconds)
    return f"SCALE={scale}: {_runs_text(plan.resolved)}, about {takes}"


def _runs_text(resolved: ResolvedMatrix) -> str:
    """``10 cells and the canary, 8 blocks: 88 runs of 2 + 10 s at depth slices``."""
    cells = len(resolved.cells) - len(resolved.skipped)
    return (
        f"{cells} cells and the canary, {counted(resolved.blocks, 'block')}: "
        f"{_runs(resolved, _number(resolved))} at depth {resolved.matrix.depth}"
    )


def _number(resolved: ResolvedMatrix) -> int:
    """Of runs, the canary's too."""
    cells = len(resolved.cells) - len(resolved.skipped)
    return (cells + 1) * resolved.blocks


def _size(resolved: ResolvedMatrix, expected: Estimate) -> list[str]:
    """How many cells and runs, how long they take, and how many are done."""
    size = _runs_text(resolved)
    takes = f"about {duration(expected.seconds)}"
    if expected.resumes is None:
        return [f"{size}, {takes}"]
    name, done = expected.resumes
    all_done = f"{done} of {_number(resolved)} runs are done"
    return [
        size,
        f"resumes results/{name}: {all_done} (NEW=1 starts from scratch)",
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
        yield f"left out: {factor} {', '.join(levels)}"
