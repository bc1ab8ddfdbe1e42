"""The order of the runs of a matrix: complete blocks, random within. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from sandbox.matrix.definition import CANARY
from sandbox.matrix.resolved import ResolvedCell, ResolvedMatrix


@dataclass(frozen=True, slots=True)
class ScheduledRun:
    """One run to come.

    ``of``: its cell, for the canary the baseline; ``stack``: the one that it runs on.
    """

    block: int
    cell: str
    of: ResolvedCell
    stack: str

    @property
    def name(self) -> str:
        """As the manifest has it: ``<cell>.<block>``."""
        return f"{self.cell}.{self.block}"


def schedule(
    resolved: ResolvedMatrix, blocks: int, seed: int, first: int = 1
) -> list[ScheduledRun]:
    """Randomized complete blocks from the ``first`` on (docs/statistics.md, rules 1 and 2).

    A seed gives one order. At depth ``slices`` all stacks are up: the cells that differ only in
    their stack follow one another, so that what is compared is close in time. At depth ``restart``
    a stack is started once per block and its cells run on it. Groups are in random order, and so
    are the runs within each.
    """
    draw = Random(seed)  # noqa: S311  (an order, not a secret)
    by_load = resolved.matrix.depth == "slices"
    ordered: list[ScheduledRun] = []
    for block in range(first, blocks + 1):
        groups: dict[object, list[ScheduledRun]] = {}
        for run in _block(resolved, block):
            group_key = run.of.load_key if by_load else run.stack
            groups.setdefault(group_key, []).append(run)
        for group in draw.sample(list(groups.values()), len(groups)):
            ordered += draw.sample(group, len(group))
    return ordered


def _block(resolved: ResolvedMatrix, block: int) -> Iterator[ScheduledRun]:
    """The runs of one block in the order of the file, the canary's last."""
    for cell in resolved.cells.values():
        yield ScheduledRun(block, cell.name, cell, cell.stack)
    yield ScheduledRun(block, CANARY, resolved.canary_of, CANARY)
