"""The order of runs: randomized complete blocks from one seed (docs/statistics.md, rules 1 and 2)."""

import random
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

    @property
    def name(self) -> str:
        """As the manifest has it: ``<cell>.<block>``."""
        return f"{self.cell}.{self.block}"


def schedule(experiment: Experiment, blocks: int, seed: int, first: int = 1) -> list[ScheduledRun]:
    """Every run of every block from the ``first`` on, in order; the same seed gives the same order.

    At depth ``slices`` all stacks are up: the cells that differ only in their stack follow one another, so that what is
    compared is close in time. At depth ``restart`` a stack is started once per block and its cells run on it.
    Groups are in random order, and so are the runs within each.
    """
    draw = random.Random(seed)  # noqa: S311  (an order, not a secret)
    together = experiment.matrix.depth == "slices"
    ordered = []
    for block in range(first, blocks + 1):
        runs = [ScheduledRun(block, cell.name, cell, experiment.stack_of[cell.name]) for cell in experiment.cells]
        runs.append(ScheduledRun(block, CANARY, experiment.canary_of, CANARY))
        groups: dict[object, list[ScheduledRun]] = {}
        for run in runs:
            groups.setdefault(run.of.load_key if together else run.stack, []).append(run)
        for group in draw.sample(list(groups.values()), len(groups)):
            ordered += draw.sample(group, len(group))
    return ordered
