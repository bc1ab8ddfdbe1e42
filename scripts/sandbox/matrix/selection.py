"""The part of a matrix that runs: its cells, their baselines, the canary, how many tests that makes, in which order."""

import hashlib
import json
import random
import shlex
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.matrix.definition import CANARY, Cell, Change, Matrix
from sandbox.measure.trial.schedule import Schedule
from sandbox.profile.grammar import parse
from sandbox.record.manifest import ComparisonPart


@dataclass(frozen=True)
class Experiment:
    """Cells in the order of the file, without the canary; ``left_out``: levels that ONLY= excluded, by factor."""

    matrix: Matrix
    cells: tuple[Cell, ...]
    canary_of: Cell
    left_out: Mapping[str, list[str]] = field(default_factory=dict)
    own_files: Mapping[str, str] = field(default_factory=dict)
    """The user's own workloads: sha256 by path."""
    schedules: Mapping[str, Schedule] = field(default_factory=dict)
    """What breaks, by cell, as the fault profiles are now; with the first seed where it depends on one."""

    @cached_property
    def stack_of(self) -> Mapping[str, str]:
        """Cell → its stack. Cells share a stack where they can; stacks are named in the order of the file."""
        named: dict[tuple[object, ...], str] = {}
        return {cell.name: named.setdefault(cell.stack_key, f"variant{len(named) + 1}") for cell in self.cells}

    @cached_property
    def comparisons(self) -> list[ComparisonPart]:
        """Every cell against the baseline at the same level of every other factor."""
        by_levels = {tuple(cell.levels.items()): cell.name for cell in self.cells}
        pairs = [(cell.name, by_levels.get(tuple(self.matrix.baseline_of(cell).items()))) for cell in self.cells]
        return [ComparisonPart(cell=cell, baseline=base) for cell, base in pairs if base and base != cell]

    @property
    def canary(self) -> ComparisonPart:
        """The baseline against itself, on a stack of its own."""
        return ComparisonPart(cell=CANARY, baseline=self.canary_of.name)

    def tests_without(self, skipped: Container[str]) -> int:
        """How many differences are judged together: comparisons of cells that can run, times primary metrics."""
        judged = [each for each in self.comparisons if each.cell not in skipped and each.baseline not in skipped]
        return len(judged) * len(self.matrix.metrics)

    @property
    def key(self) -> str:
        """Identity of the plan: results with the same key can be resumed. 16 hexadecimal digits."""
        identity = {
            "matrix": self.matrix.model_dump(mode="json", exclude={"title", "question", "note", "expected", "blocks"}),
            "cells": [cell_data(cell) for cell in self.cells],
            "files": dict(self.own_files),
            "canary": self.canary_of.name,
            "stacks": dict(self.stack_of),
        }
        if self.schedules:
            identity["schedules"] = {cell: each.model_dump(mode="json") for cell, each in self.schedules.items()}
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def cell_data(cell: Cell) -> dict[str, object]:
    """A cell as JSON data."""
    return {"levels": cell.levels, "change": cell.change.model_dump(mode="json", exclude_none=True)}


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
    """Randomized complete blocks from the ``first`` on (docs/statistics.md, rules 1 and 2); a seed gives one order.

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


def make_experiment(matrix: Matrix, only: str | None = None) -> Experiment:
    """The cells that ONLY= leaves, all without it; the baseline's level always stays. ``level@version`` is a new level.

    Raises SandboxError (exit 2) for an unknown factor or level, or if nothing is left to compare.
    """
    asked = _asked(matrix, only)
    matrix = _with_versions(matrix, asked)
    chosen = _chosen(matrix, asked)
    cells = tuple(cell for cell in matrix.all_cells() if all(cell.levels[name] in chosen[name] for name in chosen))
    baselines = [cell for cell in cells if matrix.baseline_of(cell) == cell.levels]
    baseline = ", ".join(f"{factor}={level}" for factor, level in matrix.baseline.items())
    step = f"try: {matrix.command} PLAN=1"
    if not baselines:
        known = f"baseline: {baseline}; the exclusions rule it out"
        raise SandboxError(f"the matrix {matrix.name} has no baseline cell left", known, step)
    left_out = {
        name: [level for level in matrix.factors[name] if level not in levels]
        for name, levels in chosen.items()
        if len(levels) < len(matrix.factors[name])
    }
    made = Experiment(matrix, cells, baselines[len(baselines) // 2], left_out)
    if not made.comparisons:
        known = f"every remaining cell is the baseline ({baseline})"
        raise SandboxError(f"the matrix {matrix.name} has nothing to compare", known, step)
    return made


def _asked(matrix: Matrix, only: str | None) -> dict[str, list[str]]:
    """Levels by factor, as typed."""
    asked: dict[str, list[str]] = {}
    for factor, levels in only_pieces(only, _example(matrix)):
        if levels is None or factor not in matrix.factors:
            known = did_you_mean(factor, matrix.factors)
            raise SandboxError(f"ONLY: the matrix {matrix.name} has no factor '{factor}'", known, _example(matrix))
        asked[factor] = [*asked.get(factor, []), *levels.split(",")]
    return asked


def _chosen(matrix: Matrix, asked: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The levels asked for, with the baseline's; in the order of the file."""
    for factor, levels in asked.items():
        for level in levels:
            if level not in matrix.factors[factor]:
                known = did_you_mean(level, matrix.factors[factor])
                raise SandboxError(f"ONLY: factor {factor} has no level '{level}'", known, _example(matrix))
    return {
        name: [level for level in matrix.factors[name] if level in (*levels, matrix.baseline.get(name))]
        for name, levels in asked.items()
    }


def only_pieces(only: str | None, step: str) -> list[tuple[str, str | None]]:
    """``threads=1,64 rewriter=on`` → each factor with its levels as typed, None without any.

    Raises SandboxError (exit 2) with the next step for text that a shell could not split.
    """
    try:
        pieces = [piece.partition("=") for piece in shlex.split(only or "")]
    except ValueError as problem:
        raise SandboxError(f"ONLY={only} cannot be read", str(problem), step) from problem
    return [(factor, levels if equals else None) for factor, equals, levels in pieces]


def _example(matrix: Matrix) -> str:
    factor, levels = next(iter(matrix.factors.items()))
    return f"try: {matrix.command} ONLY='{factor}={','.join(list(levels)[:2])}'"


def _with_versions(matrix: Matrix, chosen: Mapping[str, Iterable[str]]) -> Matrix:
    """The matrix with a level for each ``level@version`` of ``chosen`` (levels by factor) that it lacks:
    `ONLY='proxy=proxysql@2.7.2'` repeats the level with another version of its first term.

    Raises SandboxError (exit 2) if the level adds no term that could have a version.
    """
    for factor, levels in chosen.items():
        for asked in levels:
            level, _, version = asked.partition("@")
            if version and asked not in matrix.factors[factor] and level in matrix.factors[factor]:
                matrix = _with_level(matrix, factor, level, asked, version)
    return matrix


def _with_level(matrix: Matrix, factor: str, level: str, asked: str, version: str) -> Matrix:
    """Exclusions, conditions and expectations of a level apply to its other versions too."""
    levels: dict[str, Change] = {}
    for name, change in matrix.factors[factor].items():
        levels[name] = change
        if name == level:
            levels[asked] = _versioned(change, version, f"{factor}={asked}", matrix.command)

    def widened(rule: Mapping[str, list[str]]) -> dict[str, list[str]]:
        return {
            name: [*found, asked] if name == factor and level in found else list(found) for name, found in rule.items()
        }

    changed = {
        "factors": {**matrix.factors, factor: levels},
        "conditions": [each.model_copy(update={"where": widened(each.where)}) for each in matrix.conditions],
        "expected": [each.model_copy(update={"where": widened(each.where)}) for each in matrix.expected],
        "exclude": [widened(rule) for rule in matrix.exclude],
    }
    return matrix.model_copy(update=changed)


def _versioned(change: Change, version: str, asked: str, command: str) -> Change:
    if change.add:
        return change.model_copy(update={"add": [_of_version(change.add[0], version), *change.add[1:]]})
    if change.profile:
        return change.model_copy(update={"profile": _of_version(change.profile, version)})
    what = f"ONLY: '{asked}': that level adds no term that could have a version"
    known = "level@version is the level with that version of the first term that it adds"
    raise SandboxError(what, known, f"try: {command} PLAN=1")


def _of_version(expression: str, version: str) -> str:
    """``proxysql+multiplexing`` → ``proxysql@2.7.2+multiplexing``; raises SandboxError (exit 2) for an invalid term."""
    first = parse(expression)[0]
    rest = expression.partition("+")[1:]
    term = f"{first.name}{first.count or ''}@{version}"
    return parse(term)[0].text + "".join(rest)


BASE, HEAD = "base", "head"
SMOKE_METRICS = ("server_cpu_ms_per_tx", "tps", "latency_p95_ms")
"""The first two decide; the third is never steady on a shared machine in five seconds (docs/statistics.md, rule 12)."""


def smoke_experiment(base: Change, head: Change, load: Change, seconds: int, warmup_s: int) -> Experiment:
    """Slices of base, head and canary, each on its own stack, even if the sides are the same. Seconds: per slice."""
    sides = {name: side.model_copy(update={"apart": name}) for name, side in ((BASE, base), (HEAD, head))}
    matrix = Matrix(
        name="smoke",
        title="Smoke benchmark",
        question="Is the head worse than the base?",
        common=load,
        factors={"variant": sides},
        baseline={"variant": BASE},
        metrics=list(SMOKE_METRICS),
        depth="slices",
        warmup=warmup_s,
        seconds=seconds,
    )
    return make_experiment(matrix)
