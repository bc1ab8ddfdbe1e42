"""A matrix before it runs, as lines and as data."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.plan.experiment import Experiment, cell_data
from sandbox.plan.matrix import Cell
from sandbox.report.text_table import text_table
from sandbox.results.statistics.many import blocks_for_one

_WIDTH = 100


def duration(seconds: float) -> str:
    """As people say it: ``45 s``, ``12 min``, ``1 h 5 min``."""
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


@dataclass(frozen=True)
class Foreseen:
    """What is known of a matrix before it starts. ``arms``: the name of each cell's stack, by the cell's name.

    ``seconds``: of what is left of it; ``going_on``: the unfinished result that it goes on with, and runs done there.
    """

    blocks: int
    skipped: Mapping[str, str]
    seconds: float
    arms: Mapping[str, str]
    going_on: tuple[str, int] | None = None


def experiment_lines(experiment: Experiment, foreseen: Foreseen) -> list[str]:
    """What PLAN=1 prints: question, factors, stacks, cells, how many runs, how long, and what they can tell."""
    matrix = experiment.matrix
    lines = [*_wrapped("", matrix.title), *_wrapped("", matrix.question), ""]
    for factor, levels, told in _factors(experiment):
        lines += [*_wrapped(f"  {factor}: ", levels), f"    {told}"]
    lines += ["", *_stacks(experiment, foreseen), ""]
    lines += [f"  {line}" for line in text_table(("cell", "stack", ""), _cells(experiment, foreseen))]
    return [*lines, "", *_size(experiment, foreseen)]


def experiment_data(experiment: Experiment, foreseen: Foreseen) -> dict[str, Any]:
    """The same as JSON data."""
    return {
        "matrix": experiment.matrix.name,
        "key": experiment.key,
        "depth": experiment.matrix.depth,
        "cells": {cell.name: cell_data(cell) for cell in experiment.cells},
        "stacks": dict(foreseen.arms),
        "comparisons": [{"cell": each.cell, "baseline": each.baseline} for each in experiment.comparisons],
        "canary_of": experiment.canary.baseline,
        "blocks": foreseen.blocks,
        "blocks_for_one_difference": blocks_for_one(experiment.tests_without(foreseen.skipped)),
        "skipped": dict(foreseen.skipped),
        "left_out": {name: list(levels) for name, levels in experiment.left_out.items()},
        "goes_on_with": foreseen.going_on[0] if foreseen.going_on else None,
        "runs_done": foreseen.going_on[1] if foreseen.going_on else 0,
        "predicted_s": round(foreseen.seconds),
    }


def _stacks_of(sharing: Sequence[set[str]]) -> str:
    """``sharing``: by stack, the levels of a factor that run on it."""
    if all(len(levels) == 1 for levels in sharing):
        return "a stack of its own for each"
    whole = set().union(*sharing)
    return "on the same stack" if all(levels == whole for levels in sharing) else "not all on the same stack"


def _factors(experiment: Experiment) -> list[tuple[str, str, str]]:
    matrix = experiment.matrix
    keys = {cell.stack_key: cell for cell in experiment.cells}
    rows = []
    for factor, levels in matrix.factors.items():
        sharing = [{cell.levels[factor] for cell in experiment.cells if cell.stack_key == key} for key in keys]
        told = [f"[{level}]" if matrix.baseline.get(factor) == level else level for level in levels]
        rows.append((factor, ", ".join(told), _stacks_of(sharing)))
    return rows


def _stacks(experiment: Experiment, foreseen: Foreseen) -> list[str]:
    """Each stack with what it is made from, and why it cannot run here; its cells need no restart among them."""
    restart = experiment.matrix.depth == "restart"
    lines = ["  stacks, each started anew for every block:" if restart else "  stacks, all up side by side:"]
    told = set()
    for cell in experiment.cells:
        arm = foreseen.arms[cell.name]
        if arm not in told:
            told.add(arm)
            lines += _wrapped(f"    {arm}  ", " ".join([cell.change.expression, *_given(cell)]))
            lines += _wrapped("          skipped: ", foreseen.skipped.get(cell.name, ""))
    return lines


def _given(cell: Cell) -> list[str]:
    """What beside the profile a stack is started with."""
    change = cell.change
    limits = {"CPUS": change.cpus, "MEMORY": change.memory, "CPUSET": change.cpuset}
    return [*cell.assignments, *(f"{name}={value}" for name, value in limits.items() if value)] + (
        ["INIT"] if change.init else []
    )


def _wrapped(head: str, text: str) -> list[str]:
    if not text:
        return []
    return textwrap.wrap(
        text, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _cells(experiment: Experiment, foreseen: Foreseen) -> list[tuple[str, str, str]]:
    return [
        (cell.name, foreseen.arms[cell.name], "skipped" if cell.name in foreseen.skipped else "runs")
        for cell in experiment.cells
    ]


def _size(experiment: Experiment, foreseen: Foreseen) -> list[str]:
    matrix, blocks, tests = experiment.matrix, foreseen.blocks, experiment.tests_without(foreseen.skipped)
    needed = blocks_for_one(tests)
    cells = len(experiment.cells) - len(foreseen.skipped)
    number = (cells + 1) * blocks
    runs = f"{number} runs of {matrix.warmup} + {matrix.seconds} s"
    lines = [f"{cells} cells and the canary, {blocks} blocks: {runs} at depth {matrix.depth}"]
    if foreseen.going_on:
        name, done = foreseen.going_on
        lines += [f"goes on with results/{name}: {done} of {number} runs are done (NEW=1 begins afresh)"]
        lines += [f"about {duration(foreseen.seconds)} for the rest"]
    else:
        lines[0] += f", about {duration(foreseen.seconds)}"
    lines.append(f"{tests} comparisons at once: one lone difference among them takes {needed} blocks")
    if blocks < needed:
        lines.append(f"WARNING: with {blocks} blocks no lone difference can be called real (BLOCKS={needed})")
    for name, levels in experiment.left_out.items():
        lines += _wrapped(f"left out: {name} ", ", ".join(levels))
    return lines
