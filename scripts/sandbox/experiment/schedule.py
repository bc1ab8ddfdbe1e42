"""The order of runs: randomized complete blocks from one seed (docs/statistics.md, rules 1 and 2)."""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sandbox.experiment.definition import CANARY, Cell
from sandbox.experiment.selection import Experiment


@dataclass(frozen=True, slots=True)
class ScheduledRun:
    """One run to come: ``of`` is its cell (for the canary, the baseline), ``stack`` the one that it runs on."""

    block: int
    cell: str
    of: Cell
    stack: str


def schedule(experiment: Experiment, blocks: int, seed: int, first: int = 1) -> list[ScheduledRun]:
    """Every run of every block from the ``first`` on, in order; the same seed gives the same order.

    At depth ``slices`` all stacks are up: the cells that differ only in their stack follow one another, so that what is
    compared is close in time. At depth ``restart`` a stack is started once per block and its cells run on it.
    """
    draw = random.Random(seed)  # noqa: S311  (an order, not a secret)
    place = _by_level if experiment.matrix.depth == "slices" else _by_stack
    return [run for block in range(first, blocks + 1) for run in place(_runs(experiment, block), draw)]


def _runs(experiment: Experiment, block: int) -> Iterator[ScheduledRun]:
    for cell in experiment.cells:
        yield ScheduledRun(block, cell.name, cell, experiment.stack_of[cell.name])
    yield ScheduledRun(block, CANARY, experiment.canary_of, CANARY)


def _by_level(runs: Iterable[ScheduledRun], draw: random.Random) -> Iterator[ScheduledRun]:
    """Levels that need no restart in random order; within each, the stacks in random order."""
    return _shuffled_groups(runs, lambda run: run.of.load_key, draw)


def _by_stack(runs: Iterable[ScheduledRun], draw: random.Random) -> Iterator[ScheduledRun]:
    """Stacks in random order; within each, its levels in random order."""
    return _shuffled_groups(runs, lambda run: run.stack, draw)


def _shuffled_groups(
    runs: Iterable[ScheduledRun], key: Callable[[ScheduledRun], object], draw: random.Random
) -> Iterator[ScheduledRun]:
    groups: dict[object, list[ScheduledRun]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    for group in draw.sample(list(groups.values()), len(groups)):
        yield from draw.sample(group, len(group))
