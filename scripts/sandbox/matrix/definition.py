"""A matrix file: factors, their levels, what is compared with what. Data alone: nothing runs."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from sandbox.judge.verdict import MOST_BLOCKS
from sandbox.matrix.cell import Cell, Change, slug
from sandbox.matrix.published import Published, PublishedStatement
from sandbox.measure.run_checks import (
    Condition,
    LevelsByFactor,
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


AS_IN_THE_FILE = "laptop"
"""The scale of a matrix file itself: fit for two cores."""


class Scale(BaseModel):
    """The same question on a larger machine, or with more patience. None: as in the file."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
    common: Change = Change()
    """Over that of the file: rows, tables, options, settings."""
    levels: dict[str, str] = Field(default_factory=dict)
    """By factor, as LEVELS= takes them: ``1..1024``, ``64,256``."""
    warmup: int | None = Field(default=None, ge=0)
    seconds: int | None = Field(default=None, ge=1)


class Matrix(BaseModel):
    """A file of ``profiles/matrices/``. Seconds are of measured load; ``blocks`` None: enough for
    one difference.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
    name: str
    command: str = Field(default="", exclude=True)
    """The command that runs it, such as ``make matrix MATRIX=./mine.yaml``; empty for one that is
    no file.
    """
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
    scales: dict[str, Scale] = Field(default_factory=dict)
    """By the word that SCALE= takes."""
    scale: str = Field(default=AS_IN_THE_FILE, exclude=True)
    """The chosen one."""
    published: Published = Published()
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
        """Factors by name, each with its levels by name, whichever form the file has."""
        if not isinstance(given, Mapping):
            return given
        factors = {}
        for name, levels in given.items():
            factor = level_name(name)
            factors[factor] = _levels(factor, levels)
        return factors

    @model_validator(mode="before")
    @classmethod
    def _baseline(cls, given: Any) -> Any:
        """The first level of each list as the baseline, the others beside it."""
        if not isinstance(given, Mapping):
            return given
        chosen = levels_by_factor(given.get("baseline"))
        if not isinstance(chosen, dict) or not all(chosen.values()):
            return given  # the fields' own checks say what is wrong
        others = {factor: levels[1:] for factor, levels in chosen.items() if len(levels) > 1}
        first = {factor: levels[0] for factor, levels in chosen.items()}
        return {"baseline_else": others, **given, "baseline": first}

    @model_validator(mode="after")
    def _consistent(self) -> "Matrix":
        if AS_IN_THE_FILE in self.scales:
            text = f"{AS_IN_THE_FILE} is the scale of the file itself"
            raise MisplacedError(text, "scales", AS_IN_THE_FILE)
        self._refuse_unknown_levels()
        self._refuse_statements_of_no_cell()
        self._refuse_double_expectations()
        for name, levels in self.factors.items():
            if not levels:
                raise MisplacedError(f"factor {name} has no level", "factors", name)
            self._refuse_shared_folders(name)
        size = math.prod(len(levels) for levels in self.factors.values())
        if size > LARGEST_MATRIX:
            raise ValueError(f"{size} cells; the largest matrix has {LARGEST_MATRIX}")
        changes = [cell.change for cell in self.all_cells()]
        if not all(change.profile for change in changes):
            raise ValueError(
                "some cell has no profile: give one under common, or in every level of a factor"
            )
        if self.depth != "restart" and any(change.faults for change in changes):
            raise MisplacedError(
                "a matrix with faults has depth: restart, since each trial needs a fresh stack",
                "depth",
            )
        return self

    def _refuse_unknown_levels(self) -> None:
        """Raises MisplacedError for a factor or a level that the matrix does not have."""
        for factor, level in self.baseline.items():
            levels = [level, *self.baseline_else.get(factor, [])]
            self._known({factor: levels}, "baseline")
        for position, rule in enumerate(self.exclude):
            self._known(rule, "exclude", position)
        for position, condition in enumerate(self.conditions):
            self._known(condition.where, "conditions", position, "where")
        for position, statement in enumerate(self.published.statements):
            place = ("published", "statements", position)
            for named, key in statement.rules:
                self._known(named, *place, *key)

    def _refuse_statements_of_no_cell(self) -> None:
        """Raises MisplacedError for a statement that says something of no cell, or of an unknown
        source.
        """
        cells = [*self.all_cells()]
        for position, statement in enumerate(self.published.statements):
            place = ("published", "statements", position)
            known = self.published.sources
            if statement.source and statement.source not in known:
                names = ", ".join(known) or "none"
                text = f"there is no source '{statement.source}'; the sources: {names}"
                raise MisplacedError(text, *place, "source")
            self._refuse_odd_curve(statement, *place)
            if not statement.is_of(cells):
                raise MisplacedError("no cells have these levels", *place)

    def _refuse_odd_curve(self, statement: PublishedStatement, *place: int | str) -> None:
        """Raises MisplacedError for a curve over an unknown factor, or a knee among words."""
        if statement.over is None:
            return
        kind = "knee" if statement.knee else "flat"
        factor = statement.over.over
        self._known({factor: []}, *place, kind, "over")
        words = [level for level in self.factors[factor] if not _is_number(level)]
        if statement.knee and words:
            text = f"a knee is at a number; factor {factor} has the level '{words[0]}'"
            raise MisplacedError(text, *place, kind, "over")

    def _refuse_double_expectations(self) -> None:
        """Raises MisplacedError for two expected values of one metric of a cell."""
        seen: set[tuple[str, str]] = set()
        for position, each in enumerate(self.published.statements):
            if each.value is None:
                continue
            names = [cell.name for cell in self.all_cells() if each.value.holds_for(cell.levels)]
            for name in sorted(names):
                if (name, each.metric) in seen:
                    raise MisplacedError(
                        f"{name} has two expected values of {each.metric}",
                        *("published", "statements", position),
                    )
            seen.update((name, each.metric) for name in names)

    def _refuse_shared_folders(self, factor: str) -> None:
        """Raises MisplacedError for cells of the same name, which would share a folder.

        On some file systems ``A`` and ``a`` are the same name, too.
        """
        folders: dict[str, str] = {}
        for level in self.factors[factor]:
            other = folders.setdefault(slug(f"{factor}-{level}").lower(), level)
            if other != level:
                raise MisplacedError(
                    f"{factor}: the levels '{other}' and '{level}' would share a folder, which is"
                    f" named after their letters and digits; give them names, as in {factor}:"
                    " {one: {…}, another: {…}}",
                    "factors",
                    factor,
                    level,
                )

    def _known(self, rule: Mapping[str, Sequence[str]], *place: int | str) -> None:
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

    @property
    def other_scales(self) -> list[str]:
        """The scales that were not chosen."""
        return [name for name in (AS_IN_THE_FILE, *self.scales) if name != self.scale]

    def all_cells(self) -> Iterator["Cell"]:
        """Every combination of levels that no exclusion rules out, in the order of the file."""
        for combination in itertools.product(*self.factors.values()):
            chosen = dict(zip(self.factors, combination, strict=True))
            if not self._is_excluded(chosen):
                yield self._cell(chosen)

    def _is_excluded(self, chosen: Mapping[str, str]) -> bool:
        """Whether a rule under ``exclude`` rules a combination of levels out."""
        for rule in self.exclude:
            if all(chosen[factor] in levels for factor, levels in rule.items()):
                return True
        return False

    def _cell(self, chosen: dict[str, str]) -> "Cell":
        """The cell of a combination: each level's change over those of the factors before it."""
        change = self.common.over(Change())
        for factor, level in chosen.items():
            change = self.factors[factor][level].over(change)
        return Cell(chosen, change)

    def conditions_of(self, cell: "Cell") -> tuple[Condition, ...]:
        """The conditions that the runs of a cell must meet."""
        return tuple(condition for condition in self.conditions if condition.holds_for(cell.levels))

    def with_baseline_among(self, runnable: Callable[["Cell"], bool]) -> "Matrix":
        """The matrix with one baseline: from each list the first level with a cell that can run,
        else the first.
        """
        able = [cell for cell in self.all_cells() if runnable(cell)]
        baseline = dict(self.baseline)
        for factor, others in self.baseline_else.items():
            runnable_levels = {cell.levels[factor] for cell in able}
            for level in [self.baseline[factor], *others]:
                if level in runnable_levels:
                    baseline[factor] = level
                    break
        return self.model_copy(update={"baseline": baseline, "baseline_else": {}})

    def baseline_of(self, cell: "Cell") -> dict[str, str]:
        """Levels of the cell that this one is compared with: the baseline's, and its own for every
        other factor.
        """
        return {**cell.levels, **self.baseline}


def _is_number(level: str) -> bool:
    try:
        return math.isfinite(float(level))
    except ValueError:
        return False


def _levels(factor: str, given: Any) -> Any:
    """Levels as a mapping from name to change, and all else as it is.

    The short form is a list of values of the key that the factor is named after.
    """
    if not isinstance(given, list | Mapping):
        return given
    names = [level_name(value) for value in given]
    for name in names:
        if names.count(name) > 1:
            text = f"factor {factor} has the level '{name}' twice"
            raise MisplacedError(text, "factors", factor, name)
    if isinstance(given, Mapping):
        return {level_name(name): change or {} for name, change in given.items()}
    option = factor.removeprefix(OPTION_FACTOR)
    if option != factor:
        return {level_name(value): {"options": {option: value}} for value in given}
    return {level_name(value): {factor: value} for value in given}
