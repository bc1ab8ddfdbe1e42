"""The cells of a matrix that ONLY= leaves, and what each is compared with. Pure."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.matrix.cell import Cell, Change
from sandbox.matrix.definition import Matrix
from sandbox.measure.run_checks import OfCells
from sandbox.profile.grammar import parse
from sandbox.record.manifest import ComparisonPart

AnyCell = TypeVar("AnyCell", bound=Cell)
AnyRule = TypeVar("AnyRule", bound=OfCells)


@dataclass(frozen=True)
class Selection:
    """The cells of a matrix that are to run, in the order of the file, without the canary.

    ``left_out``: levels that ONLY= excluded, by factor.
    """

    matrix: Matrix
    cells: tuple[Cell, ...]
    left_out: Mapping[str, list[str]] = field(default_factory=dict)


def select(matrix: Matrix, only: str | None = None) -> Selection:
    """The cells that ONLY= leaves, all without it; the baseline's level always stays.

    ``level@version`` is a new level. Raises SandboxError (exit 2) for an unknown factor or level,
    or if nothing is left to compare.
    """
    asked = _asked(matrix, only)
    matrix = _with_versions(matrix, asked)
    chosen = _chosen(matrix, asked)
    cells = tuple(cell for cell in matrix.all_cells() if _has_levels(cell, chosen))
    _refuse_incomparable(matrix, cells)
    left_out = {}
    for factor, levels in chosen.items():
        others = [level for level in matrix.factors[factor] if level not in levels]
        if others:
            left_out[factor] = others
    return Selection(matrix, cells, left_out)


def baselines_of(matrix: Matrix, cells: Iterable[AnyCell]) -> list[AnyCell]:
    """The cells that others are compared with."""
    return [cell for cell in cells if matrix.baseline_of(cell) == cell.levels]


def comparisons_of(matrix: Matrix, cells: Iterable[Cell]) -> list[ComparisonPart]:
    """Every cell against the baseline at the same level of every other factor."""
    cells = list(cells)
    by_levels = {tuple(cell.levels.items()): cell.name for cell in cells}
    comparisons = []
    for cell in cells:
        baseline = by_levels.get(tuple(matrix.baseline_of(cell).items()))
        if baseline and baseline != cell.name:
            comparisons.append(ComparisonPart(cell=cell.name, baseline=baseline))
    return comparisons


def _has_levels(cell: Cell, chosen: Mapping[str, list[str]]) -> bool:
    return all(cell.levels[factor] in levels for factor, levels in chosen.items())


def _refuse_incomparable(matrix: Matrix, cells: Sequence[Cell]) -> None:
    """Raises SandboxError (exit 2) for cells without a baseline, or with nothing but baselines."""
    baseline = ", ".join(f"{factor}={level}" for factor, level in matrix.baseline.items())
    step = f"try: {matrix.command} PLAN=1"
    if not baselines_of(matrix, cells):
        known = f"baseline: {baseline}; the exclusions rule it out"
        raise SandboxError(f"the matrix {matrix.name} has no baseline cell left", known, step)
    if not comparisons_of(matrix, cells):
        known = f"every remaining cell is the baseline ({baseline})"
        raise SandboxError(f"the matrix {matrix.name} has nothing to compare", known, step)


def _asked(matrix: Matrix, only: str | None) -> dict[str, list[str]]:
    """Levels by factor, as typed."""
    asked: dict[str, list[str]] = {}
    for factor, levels in only_pieces(only, _example(matrix)):
        if levels is None or factor not in matrix.factors:
            known = did_you_mean(factor, matrix.factors)
            raise SandboxError(
                f"ONLY: the matrix {matrix.name} has no factor '{factor}'", known, _example(matrix)
            )
        asked[factor] = [*asked.get(factor, []), *levels.split(",")]
    return asked


def _chosen(matrix: Matrix, asked: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The levels asked for, with the baseline's; in the order of the file."""
    for factor, levels in asked.items():
        for level in levels:
            if level not in matrix.factors[factor]:
                known = did_you_mean(level, matrix.factors[factor])
                raise SandboxError(
                    f"ONLY: factor {factor} has no level '{level}'", known, _example(matrix)
                )
    chosen = {}
    for factor, levels in asked.items():
        kept = {*levels, matrix.baseline.get(factor)}
        chosen[factor] = [level for level in matrix.factors[factor] if level in kept]
    return chosen


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
    """The matrix with a level for each ``level@version`` of ``chosen`` that it lacks.

    `ONLY='proxy=proxysql@2.7.2'` repeats the level with another version of its first term.
    ``chosen``: levels by factor. Raises SandboxError (exit 2) if the level adds no term that could
    have a version.
    """
    for factor, levels in chosen.items():
        for asked in levels:
            level, _, version = asked.partition("@")
            if version and asked not in matrix.factors[factor] and level in matrix.factors[factor]:
                matrix = _with_level(matrix, factor, level, asked, version)
    return matrix


def _with_level(matrix: Matrix, factor: str, level: str, asked: str, version: str) -> Matrix:
    """The matrix with one more level, after the one that it is a version of.

    Exclusions, conditions and published statements of a level apply to its other versions too.
    """
    levels: dict[str, Change] = {}
    for name, change in matrix.factors[factor].items():
        levels[name] = change
        if name == level:
            levels[asked] = _versioned(change, version, f"{factor}={asked}", matrix.command)

    def widened(rule: Mapping[str, list[str]]) -> dict[str, list[str]]:
        wider = {name: list(found) for name, found in rule.items()}
        if level in wider.get(factor, []):
            wider[factor].append(asked)
        return wider

    def elsewhere_too(each: AnyRule) -> AnyRule:
        return each.model_copy(update={"where": widened(each.where)})

    changed = {
        "factors": {**matrix.factors, factor: levels},
        "conditions": [elsewhere_too(condition) for condition in matrix.conditions],
        "published": matrix.published.widened(widened),
        "exclude": [widened(rule) for rule in matrix.exclude],
    }
    return matrix.model_copy(update=changed)


def _versioned(change: Change, version: str, asked: str, command: str) -> Change:
    if change.add:
        return change.model_copy(
            update={"add": [_of_version(change.add[0], version), *change.add[1:]]}
        )
    if change.profile:
        return change.model_copy(update={"profile": _of_version(change.profile, version)})
    what = f"ONLY: '{asked}': that level adds no term that could have a version"
    known = "level@version is the level with that version of the first term that it adds"
    raise SandboxError(what, known, f"try: {command} PLAN=1")


def _of_version(expression: str, version: str) -> str:
    """``proxysql+multiplexing`` → ``proxysql@2.7.2+multiplexing``; raises SandboxError (exit 2) for
    an invalid term.
    """
    first = parse(expression)[0]
    rest = expression.partition("+")[1:]
    term = f"{first.name}{first.count or ''}@{version}"
    return parse(term)[0].text + "".join(rest)
