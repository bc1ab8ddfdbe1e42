"""A matrix resolved for this machine: its cells with stack and load, and the order of its runs.
Pure.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from random import Random

from sandbox.judge.verdict import FEWEST_TRIALS, blocks_for_one
from sandbox.matrix.cell import CANARY, Cell
from sandbox.matrix.dataset import Dataset
from sandbox.matrix.definition import Matrix
from sandbox.matrix.selection import baselines_of, comparisons_of
from sandbox.measure.bench import BenchRequest
from sandbox.measure.trial.run import TrialRequest
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.profile.templates import PLACEHOLDER, node_context
from sandbox.profile.variables import effective_variables
from sandbox.record.manifest import ComparisonPart
from sandbox.record.store import ResultFolder

Load = BenchRequest | TrialRequest
"""The load of a cell: a bench in which nothing breaks, or a trial, in which something does."""
Gate = Callable[[ResultFolder], int]
"""Asked after the last block: how many more to run on the same stacks; 0 ends it."""

_NOT_IN_KEY = {"title", "question", "note", "published", "scales", "blocks"}
"""Keys of a matrix file that do not change its runs."""


@dataclass(frozen=True)
class StackSpec:
    """One stack.

    ``plan`` None: cannot be planned. ``dataset`` None: cannot be restored, so it makes its own
    data.
    """

    name: str
    request: PlanRequest
    plan: Plan | None
    dataset: Dataset | None = None

    @cached_property
    def variables(self) -> Mapping[str, str]:
        """The variables that component, settings and SET= give its servers.

        All values where servers differ.
        """
        plan = self.plan
        if plan is None:
            return {}
        given: dict[str, dict[str, None]] = {}
        for server in plan.databases:
            context = node_context(plan, server, PLACEHOLDER)
            for name, value in effective_variables(server, context).items():
                values = given.setdefault(name.removeprefix("loose_"), {})
                values["ON" if value is None else value] = None  # None is a bare flag
        return {name: " | ".join(values) for name, values in given.items()}

    @property
    def topology(self) -> tuple[str, int]:
        """The topology of its first group, with the number of its database servers.

        Empty and 0 where it has no group.
        """
        if self.plan is None or not self.plan.groups:
            return ("", 0)
        group = self.plan.groups[0]
        return (group.topology, len(group.databases))

    @property
    def has_proxy(self) -> bool:
        """Whether it has a proxy."""
        return self.plan is not None and any(node.kind == "proxy" for node in self.plan.nodes)


@dataclass(frozen=True)
class CellWithLoad(Cell):
    """A cell, and the load of its runs."""

    load: Load


@dataclass(frozen=True)
class ResolvedCell(CellWithLoad):
    """A cell with its load, on the stack of this name.

    ``skipped``: why it cannot run here; None for one that can.
    """

    stack: str
    skipped: str | None = None


@dataclass(frozen=True)
class ResolvedMatrix:
    """A matrix as the runner, the estimate and the result read it.

    ``cells``: by name, in the order of the file, without the canary; ``canary_of``: the baseline
    that the canary repeats; ``stacks``: by name, the canary's comes last; ``left_out``: levels that
    ONLY= excluded, by factor.
    """

    matrix: Matrix
    cells: Mapping[str, ResolvedCell]
    canary_of: ResolvedCell
    stacks: Mapping[str, StackSpec]
    host_class: str
    left_out: Mapping[str, list[str]] = field(default_factory=dict)
    seed: int | None = None
    afresh: bool = False
    """Whether to leave an unfinished result alone."""
    gate: Gate | None = None
    """With a gate block 0 comes first and is discarded (docs/statistics.md, rule 4).

    A run lost to the environment ends it.
    """
    command: tuple[str, ...] = field(default_factory=lambda: tuple(sys.argv))

    @cached_property
    def comparisons(self) -> list[ComparisonPart]:
        """Every cell against the baseline at the same level of every other factor."""
        return comparisons_of(self.matrix, self.cells.values())

    @property
    def canary(self) -> ComparisonPart:
        """The baseline against itself, on a stack of its own."""
        return ComparisonPart(cell=CANARY, baseline=self.canary_of.name)

    @cached_property
    def skipped(self) -> Mapping[str, str]:
        """Cells that cannot run here, with the reason."""
        return {cell.name: cell.skipped for cell in self.cells.values() if cell.skipped}

    @property
    def has_trials(self) -> bool:
        """Whether some cell is a trial."""
        return any(cell.change.faults for cell in self.cells.values())

    @property
    def has_driver(self) -> bool:
        """Whether some cell that can run here has a driver beside its prober."""
        loads = [cell.load for cell in self.cells.values() if not cell.skipped]
        return any(isinstance(load, TrialRequest) and load.driver is not None for load in loads)

    @cached_property
    def tests(self) -> int:
        """How many differences are judged together.

        Comparisons of cells that can run here, times primary metrics.
        """
        judged = [
            each
            for each in self.comparisons
            if each.cell not in self.skipped and each.baseline not in self.skipped
        ]
        return len(judged) * len(self.matrix.metrics)

    @cached_property
    def blocks(self) -> int:
        """The number that was asked for, else as many as a single difference needs."""
        if self.matrix.blocks:
            return self.matrix.blocks
        needed = blocks_for_one(self.tests)
        return max(needed, FEWEST_TRIALS) if self.has_trials else needed

    @property
    def runnable_stacks(self) -> list[StackSpec]:
        """Stacks on which some cell runs."""
        used = {cell.stack for cell in self.cells.values() if not cell.skipped}
        if self.canary_of.stack in used:
            used.add(CANARY)
        return [stack for name, stack in self.stacks.items() if name in used]

    @cached_property
    def key(self) -> str:
        """Identity of the plan: results with the same key can be resumed. 16 hexadecimal digits."""
        identity = {
            "matrix": self.matrix.model_dump(mode="json", exclude=_NOT_IN_KEY),
            "cells": [cell_data(cell) for cell in self.cells.values()],
            "files": self._own_files,
            "canary": self.canary_of.name,
            "stacks": {cell.name: cell.stack for cell in self.cells.values()},
        }
        if self._schedules:
            identity["schedules"] = self._schedules
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def _own_files(self) -> dict[str, str]:
        """The user's own workloads: sha256 by path."""
        return {
            cell.change.workload or "": cell.load.workload.file.sha256
            for cell in self.cells.values()
            if cell.load.workload.file
        }

    @cached_property
    def _schedules(self) -> dict[str, object]:
        """The schedule of each cell with faults, as the fault profiles are now.

        With the first seed where it depends on one.
        """
        return {
            cell.name: cell.load.schedule.model_dump(mode="json")
            for cell in self.cells.values()
            if isinstance(cell.load, TrialRequest)
        }


def cell_data(cell: Cell) -> dict[str, object]:
    """A cell as JSON data."""
    return {
        "levels": cell.levels,
        "change": cell.change.model_dump(mode="json", exclude_none=True),
    }


def choose_canary(matrix: Matrix, cells: Iterable[ResolvedCell]) -> ResolvedCell:
    """The baseline that the canary repeats: the middle one.

    If that cannot run here, the middle one of those that can and are compared with some cell.
    """
    cells = list(cells)
    baselines = baselines_of(matrix, cells)
    chosen = baselines[len(baselines) // 2]
    if not chosen.skipped:
        return chosen
    compared = {each.baseline for each in comparisons_of(matrix, cells)}
    fit = [cell for cell in cells if not cell.skipped and cell.name in compared]
    return fit[len(fit) // 2] if fit else chosen


@dataclass(frozen=True)
class Estimate:
    """The estimate for a matrix before it starts. ``seconds``: for the runs left.

    ``resumes``: the unfinished result that it resumes, and how many of the runs that can run here
    are done there.
    """

    seconds: float
    resumes: tuple[str, int] | None = None


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
        """The name in the manifest: ``<cell>.<block>``."""
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
