"""What was published about the question of a matrix: sources, and statements to be met or not."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from sandbox.matrix.cell import Cell
from sandbox.measure.run_checks import LevelsByFactor, OfCells, levels_by_factor
from sandbox.record.manifest import ExpectedPart, SourcePart, StatementPart

Levels = Mapping[str, list[str]]
"""By factor."""
Range = tuple[float, float]
"""Lowest and highest."""
LESS = 0.5
MORE = 2.0
"""A published ratio is met by an effect from half to twice its own, on the log scale."""


def _one_level(given: Any) -> Any:
    """Levels by factor, one of each."""
    found = levels_by_factor(given)
    if not isinstance(found, Mapping):
        return found
    several = [factor for factor, levels in found.items() if len(levels) != 1]
    if several:
        raise ValueError(f"{several[0]} has several levels; a cell is compared with one other")
    return {factor: levels[0] for factor, levels in found.items()}


OneLevelByFactor = Annotated[dict[str, str], BeforeValidator(_one_level)]


def _range_of_ratio(given: Any) -> Any:
    """The range that a single ratio stands for; of 1.5: from its root to its square."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return given
    if given <= 0 or given == 1:
        raise ValueError(f"{given} is no ratio of two that differ; of two alike say order: alike")
    ends = sorted(math.exp(math.log(given) * share) for share in (LESS, MORE))
    return tuple(ends)


class PublishedModel(BaseModel):
    """Base of what a file says of a publication."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)


class PublishedSource(PublishedModel):
    """Who measured it, and on what."""

    authors: str = Field(min_length=1)
    year: int = Field(ge=1990, le=2100)
    title: str = ""
    link: str = Field(default="", pattern=r"^(https?://\S+)?$")
    versions: str = ""
    """Of the servers and proxies, in words."""
    hardware: str = ""
    scale: str = ""
    """Rows, threads and length, in words."""


class PublishedComparison(PublishedModel):
    """Cells against those with other levels. A factor that ``this`` does not name may have any
    level; ``against``: levels of the other cell, which else has those of the first one.

    ``ratio``: the metric of the first divided by that of the other, between two values.
    """

    this: LevelsByFactor
    against: OneLevelByFactor
    ratio: Annotated[Range, BeforeValidator(_range_of_ratio)] | None = None
    order: Literal["higher", "lower", "alike"] | None = None

    @model_validator(mode="after")
    def _one_claim(self) -> "PublishedComparison":
        if (self.ratio is None) == (self.order is None):
            raise ValueError("a comparison has one claim: ratio, or order")
        if self.ratio is not None and not 0 < self.ratio[0] <= self.ratio[1]:
            raise ValueError("ratio: two positive values, the lower one first")
        return self

    def pairs(self, cells: Sequence[Cell]) -> list[tuple[str, str]]:
        """Names of the cells that are compared, each with that of its other one."""
        names = {tuple(sorted(cell.levels.items())): cell.name for cell in cells}
        found = []
        for cell in cells:
            if not all(cell.levels.get(factor) in levels for factor, levels in self.this.items()):
                continue
            other = names.get(tuple(sorted({**cell.levels, **self.against}.items())))
            if other is not None and other != cell.name:
                found.append((cell.name, other))
        return found


class OverLevels(OfCells):
    """Cells that differ in one factor, at each of the other levels of ``where``."""

    over: str

    def curves(self, cells: Sequence[Cell]) -> list[list[str]]:
        """Names of the cells of each curve, in the order of the levels; a curve has two at
        least.
        """
        found: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for cell in cells:
            if self.over in cell.levels and self.holds_for(cell.levels):
                others = {key: level for key, level in cell.levels.items() if key != self.over}
                found.setdefault(tuple(sorted(others.items())), []).append(cell.name)
        return [names for names in found.values() if len(names) > 1]


class Knee(OverLevels):
    """From which level on the metric grows no further; the levels are numbers."""

    at: float = Field(gt=0)


class Flat(OverLevels):
    """That the levels make no difference."""


class Value(OfCells):
    """Between which values, in the metric's unit, the median is expected in those cells.

    ``tolerance``: how far outside a median still is as expected.
    """

    between: Range
    tolerance: float = Field(default=0.0, ge=0)
    because: str = ""
    """The source from which it is computed."""

    @model_validator(mode="after")
    def _ordered(self) -> "Value":
        if self.between[0] > self.between[1]:
            raise ValueError(f"between: {self.between[0]:g} is above {self.between[1]:g}")
        return self


class PublishedStatement(PublishedModel):
    """Something that was published, or follows from theory, and can be met here or not.

    ``source``: name of one of the sources; empty: the only one, or none.
    """

    says: str = ""
    """In words, as short as it was said."""
    metric: str
    source: str = ""
    compare: PublishedComparison | None = None
    knee: Knee | None = None
    flat: Flat | None = None
    value: Value | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> "PublishedStatement":
        given = [name for name in KINDS if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(f"a statement has one of {', '.join(KINDS)}; here: {found}")
        if self.value is None and not self.says:
            raise ValueError("says: what was published, in words")
        return self

    @property
    def over(self) -> OverLevels | None:
        """The claim on a curve, if it is one."""
        return self.knee or self.flat

    @property
    def rules(self) -> Iterator[tuple[Levels, tuple[str, ...]]]:
        """All levels that it names, and where they stand in it."""
        if self.compare is not None:
            yield self.compare.this, ("compare", "this")
            one_each = {factor: [level] for factor, level in self.compare.against.items()}
            yield one_each, ("compare", "against")
        for kind, rule in (("knee", self.knee), ("flat", self.flat), ("value", self.value)):
            if rule is not None:
                yield rule.where, (kind, "where")

    def is_of(self, cells: Sequence[Cell]) -> bool:
        """Whether it says something of some of the cells."""
        if self.compare is not None:
            return bool(self.compare.pairs(cells))
        if self.over is not None:
            return bool(self.over.curves(cells))
        return self.value is not None and any(self.value.holds_for(each.levels) for each in cells)

    def widened(self, wider: Callable[[Levels], Levels]) -> "PublishedStatement":
        """The same of further levels."""
        changed: dict[str, Any] = {}
        if self.compare is not None:
            this = wider(self.compare.this)
            changed["compare"] = self.compare.model_copy(update={"this": this})
        for kind, rule in (("knee", self.knee), ("flat", self.flat), ("value", self.value)):
            if rule is not None:
                changed[kind] = rule.model_copy(update={"where": wider(rule.where)})
        return self.model_copy(update=changed)

    def of_cells(self, cells: Sequence[Cell], source: str) -> StatementPart:
        """The statement for a result, with the cells that it is of; of one without a value."""
        about = {"says": self.says, "metric": self.metric, "source": source}
        if self.compare is not None:
            pairs = self.compare.pairs(cells)
            order = self.compare.order
            return StatementPart(**about, pairs=pairs, ratio=self.compare.ratio, order=order)
        assert self.over is not None  # noqa: S101  (one of the kinds is given)
        at = self.knee.at if self.knee else None
        return StatementPart(
            **about, curves=self.over.curves(cells), over=self.over.over, knee_at=at
        )


KINDS = ("compare", "knee", "flat", "value")


class Published(PublishedModel):
    """All that a matrix file says of publications."""

    sources: dict[str, PublishedSource] = Field(default_factory=dict)
    statements: list[PublishedStatement] = Field(default_factory=list)

    def source_of(self, statement: PublishedStatement) -> str:
        """The name of its source; empty: it has none."""
        if statement.source or len(self.sources) != 1:
            return statement.source
        return next(iter(self.sources))

    def widened(self, wider: Callable[[Levels], Levels]) -> "Published":
        """The same of further levels."""
        statements = [each.widened(wider) for each in self.statements]
        return self.model_copy(update={"statements": statements})

    def expected(self, cells: Sequence[Cell]) -> list[ExpectedPart]:
        """The expected values of these cells, with the cells' names."""
        found = []
        for each in self.statements:
            if each.value is None:
                continue
            names = [cell.name for cell in cells if each.value.holds_for(cell.levels)]
            if names:
                given = each.value.model_dump(exclude={"where"})
                found.append(ExpectedPart(cells=names, metric=each.metric, **given))
        return found

    def statements_on(self, cells: Sequence[Cell]) -> list[StatementPart]:
        """The statements on pairs and curves of these cells."""
        return [
            each.of_cells(cells, self.source_of(each))
            for each in self.statements
            if each.value is None and each.is_of(cells)
        ]

    def sources_part(self) -> dict[str, SourcePart]:
        """The sources, for a result."""
        return {name: SourcePart(**each.model_dump()) for name, each in self.sources.items()}
