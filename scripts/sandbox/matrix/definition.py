"""A matrix file: factors, their levels, what is compared with what. Data alone: nothing runs."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from sandbox.judge.verdict import MOST_BLOCKS
from sandbox.matrix.cell import Cell, Change, _slug
from sandbox.measure.run_checks import (
    Condition,
    LevelsByFactor,
    OfCells,
    level_name,
    levels_by_factor,
)
from sandbox.record.manifest import Adjustment, Depth

LARGEST_MATRIX = 2000
"""Cells; more is a mistyped file, not a question."""


class MisplacedError(ValueError):
    """An error of a matrix as a whole; ``place``: where in the file, as pydantic's ``loc`` of a
    single key.
    """

    def __init__(self, text: str, *place: int | str) -> None:
        super().__init__(text)
        self.place = place


OPTION_FACTOR = "option."
"""Prefix of a workload option's name, for a factor that is a list of its values."""


class Expected(OfCells):
    """Between which values, in the metric's unit, the median of a metric is expected in those
    cells.

    ``tolerance``: how far outside a median still is as expected.
    """

    metric: str
    between: tuple[float, float]
    tolerance: float = Field(default=0.0, ge=0)
    because: str = ""
    """What it is computed from."""

    @model_validator(mode="after")
    def _ordered(self) -> "Expected":
        if self.between[0] > self.between[1]:
            raise ValueError(f"between: {self.between[0]:g} is above {self.between[1]:g}")
        return self


class Matrix(BaseModel):
    """A file of ``profiles/matrices/``. Seconds are of measured load; ``blocks`` None: enough for
    one difference.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    command: str = Field(default="", exclude=True)
    """What runs it, such as ``make matrix MATRIX=./mine.yaml``; empty for one that is no file."""
    title: str
    question: str
    note: str = ""
    """The findings of a published original."""
    common: Change = Change()
    factors: dict[str, dict[str, Change]] = Field(min_length=1)
    exclude: list[LevelsByFactor] = Field(default_factory=list)
    baseline: dict[str, str]
    """Of a list of levels in the file, the first that can run here; the others are in
    ``baseline_else``.
    """
    baseline_else: dict[str, list[str]] = Field(default_factory=dict)
    conditions: list[Condition] = Field(default_factory=list)
    expected: list[Expected] = Field(default_factory=list)
    """Shown next to what is measured; nothing fails that differs from it."""
    metrics: list[str] = Field(default_factory=lambda: ["tps", "latency_p95_ms"], min_length=1)
    adjustment: Adjustment = "Benjamini-Hochberg"
    """Holm for a gate of few metrics (docs/statistics.md, rule 6)."""
    depth: Depth = "slices"
    warmup: int = Field(default=2, ge=0)
    seconds: int = Field(default=10, ge=1)
    blocks: int | None = Field(default=None, ge=1, le=MOST_BLOCKS)

    @field_validator("factors", mode="before")
    @classmethod
    def _factors(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        return {
            level_name(name): _levels(level_name(name), levels) for name, levels in given.items()
        }

    @model_validator(mode="before")
    @classmethod
    def _baseline(cls, given: Any) -> Any:
        chosen = levels_by_factor(given.get("baseline")) if isinstance(given, Mapping) else None
        if not isinstance(chosen, dict) or not all(chosen.values()):
            return given
        others = {factor: levels[1:] for factor, levels in chosen.items() if len(levels) > 1}
        first = {factor: levels[0] for factor, levels in chosen.items()}
        return {"baseline_else": others, **given, "baseline": first}

    @model_validator(mode="after")
    def _consistent(self) -> "Matrix":
        baselines = {
            name: [level, *self.baseline_else.get(name, [])]
            for name, level in self.baseline.items()
        }
        self._known(baselines, "baseline")
        for position, rule in enumerate(self.exclude):
            self._known(rule, "exclude", position)
        for position, condition in enumerate(self.conditions):
            self._known(condition.where, "conditions", position, "where")
        self._expects_once()
        for name in self.factors:
            if not self.factors[name]:
                raise MisplacedError(f"factor {name} has no level", "factors", name)
            self._distinct(name)
        size = reduce(lambda product, levels: product * len(levels), self.factors.values(), 1)
        if size > LARGEST_MATRIX:
            raise ValueError(f"{size} cells; the largest matrix has {LARGEST_MATRIX}")
        if not all(cell.change.profile for cell in self.all_cells()):
            raise ValueError(
                "some cell has no profile: give one under common, or in every level of a factor"
            )
        if self.depth != "restart" and any(cell.change.faults for cell in self.all_cells()):
            raise MisplacedError(
                "a matrix with faults has depth: restart, since each trial needs a fresh stack",
                "depth",
            )
        return self

    def _expects_once(self) -> None:
        """Each expectation is of some cell, and no cell has two of one metric."""
        seen: set[tuple[str, str]] = set()
        for position, each in enumerate(self.expected):
            self._known(each.where, "expected", position, "where")
            cells = {
                (cell.name, each.metric) for cell in self.all_cells() if each.holds_for(cell.levels)
            }
            if not cells:
                raise MisplacedError("no cell has these levels", "expected", position, "where")
            if twice := sorted(cells & seen):
                raise MisplacedError(
                    f"{twice[0][0]} has two expectations of {each.metric}", "expected", position
                )
            seen |= cells

    def _distinct(self, factor: str) -> None:
        """Cells with the same name would share a folder; on some file systems ``A`` and ``a`` are
        the same name too.
        """
        folders: dict[str, str] = {}
        for level in self.factors[factor]:
            other = folders.setdefault(_slug(f"{factor}-{level}").lower(), level)
            if other != level:
                raise MisplacedError(
                    f"{factor}: the levels '{other}' and '{level}' would share a folder, which is"
                    f" named after their letters and digits; give them names, as in {factor}:"
                    " {one: {…}, another: {…}}",
                    "factors",
                    factor,
                    level,
                )

    def _known(self, rule: Mapping[str, list[str]], *place: int | str) -> None:
        for factor, levels in rule.items():
            known = self.factors.get(factor)
            if known is None:
                raise MisplacedError(
                    f"there is no factor '{factor}'; known: {', '.join(self.factors)}",
                    *place,
                    factor,
                )
            for level in levels:
                if level not in known:
                    text = f"factor {factor} has no level '{level}'; it has {', '.join(known)}"
                    raise MisplacedError(text, *place, factor, level)

    def all_cells(self) -> Iterator["Cell"]:
        """Every combination of levels that no exclusion rules out, in the order of the file."""
        for combination in itertools.product(*self.factors.values()):
            chosen = dict(zip(self.factors, combination, strict=True))
            if not any(
                all(chosen[factor] in levels for factor, levels in rule.items())
                for rule in self.exclude
            ):
                changes = (self.factors[factor][level] for factor, level in chosen.items())
                yield Cell(
                    chosen,
                    reduce(
                        lambda base, change: change.over(base), changes, self.common.over(Change())
                    ),
                )

    def conditions_of(self, cell: "Cell") -> tuple[Condition, ...]:
        """The conditions that the runs of a cell must meet."""
        return tuple(condition for condition in self.conditions if condition.holds_for(cell.levels))

    def with_baseline_among(self, runnable: Callable[["Cell"], bool]) -> "Matrix":
        """The matrix with one baseline: from each list the first level with a cell that can run,
        else the first.
        """
        able = [cell for cell in self.all_cells() if runnable(cell)]
        levels = {factor: {cell.levels[factor] for cell in able} for factor in self.baseline_else}
        chosen = {
            factor: next((each for each in others if each in levels[factor]), self.baseline[factor])
            for factor, others in self.baseline_else.items()
            if self.baseline[factor] not in levels[factor]
        }
        return self.model_copy(
            update={"baseline": {**self.baseline, **chosen}, "baseline_else": {}}
        )

    def baseline_of(self, cell: "Cell") -> dict[str, str]:
        """Levels of the cell that this one is compared with: the baseline's, and its own for every
        other factor.
        """
        return {**cell.levels, **self.baseline}


def _levels(factor: str, given: Any) -> Any:
    """Levels as a mapping; the short form is a list of values of the key that the factor is named
    after.
    """
    names = [level_name(value) for value in given] if isinstance(given, list | Mapping) else []
    for name in names:
        if names.count(name) > 1:
            raise MisplacedError(
                f"factor {factor} has the level '{name}' twice", "factors", factor, name
            )
    if isinstance(given, list):
        option = factor.removeprefix(OPTION_FACTOR)
        if option != factor:
            return {level_name(value): {"options": {option: value}} for value in given}
        return {level_name(value): {factor: value} for value in given}
    if isinstance(given, Mapping):
        return {level_name(name): change or {} for name, change in given.items()}
    return given
