"""A matrix file: factors, their levels, and the cells that they make; pure data, nothing runs
here.
"""

import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from sandbox.judge.verdict import MOST_BLOCKS
from sandbox.measure.run_checks import (
    Condition,
    LevelsByFactor,
    OfCells,
    level_name,
    levels_by_factor,
)
from sandbox.profile.images import Text
from sandbox.profile.plan import PlanRequest, UserFile
from sandbox.record.manifest import Adjustment, Depth

CANARY = "canary"
"""Name of the cell that repeats the baseline: any difference there is noise."""

LARGEST_MATRIX = 2000
"""Cells; more is a mistyped file, not a question."""

Isolation = Literal["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"]


class MisplacedError(ValueError):
    """An error of a matrix as a whole; ``place``: where in the file, as pydantic's ``loc`` of a
    single key.
    """

    def __init__(self, text: str, *place: int | str) -> None:
        super().__init__(text)
        self.place = place


Faults = Annotated[
    list[str | dict[str, Any]],
    BeforeValidator(lambda value: [value] if isinstance(value, str | dict) else value),
]
"""A single name or step is a list of one."""
Texts = Annotated[
    list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
]
"""A single text is a list of one."""


class Change(BaseModel):
    """The changes of a level. Keys not given stay; lists (``faults``, too) and ``options`` add up,
    others replace.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    profile: Text | None = None
    """The whole expression."""
    add: Texts = Field(default_factory=list)
    """Terms to append to the expression: settings, proxies, replicas."""
    set: Texts = Field(default_factory=list)
    """Server variables, as SET= takes them."""
    cpus: Text | None = None
    memory: Text | None = None
    cpuset: Text | None = None
    disk: Text | None = None
    """File system and size of a disk of its own for each data directory, as DISK= takes them."""
    external: Text | None = None
    """Address of the server that the term ``external`` stands for, as EXTERNAL= takes it."""
    image: Text | None = None
    """A local image, or its ``sha256:…``, instead of the database's."""
    apart: str | None = None
    """Levels with another word here get a stack of their own, even if nothing else distinguishes
    them.
    """
    isolation: Isolation | None = None
    init: str | None = None
    """SQL that runs once on the writer when it is ready."""
    via: Text | None = None
    workload: str | None = None
    """A name, or a path that ends in .lua or .sql."""
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Options of the workload, such as ``warehouses``; as a factor, ``option.warehouses: [1,
    10]``.
    """
    threads: int | None = Field(default=None, ge=1)
    rate: int | None = Field(default=None, ge=1)
    rows: int | None = Field(default=None, ge=1)
    tables: int | None = Field(default=None, ge=1)
    dist: str | None = None
    faults: Faults | None = None
    """What breaks, in time: names of fault profiles, faults or actions, or steps as a fault profile
    has them.

    ``{named: hang, target: proxy}`` is a name with a target of its own.
    """
    target: Text | None = None
    """What that is only named hits; None: the writer. Beside ``faults`` of the same change, it is
    of those alone.
    """
    load: Literal["idle", "loaded"] | None = None
    """Beside the prober of a cell with faults: the workload at half of what the stack reaches, or
    its data alone.
    """
    transaction: bool | None = None
    """Whether each write of the prober is BEGIN, INSERT and COMMIT; else it commits by itself."""

    def over(self, base: "Change") -> "Change":
        """This change applied over another."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        options = {**base.options, **self.options}
        lists = {"add": [*base.add, *self.add], "set": [*base.set, *self.set]}
        return base.model_copy(
            update={**given, **lists, "options": options, **self._breaks_over(base)}
        )

    def _breaks_over(self, base: "Change") -> dict[str, Any]:
        """The faults of both, each name with the target beside it; a target alone is of every name
        before and after.
        """
        if self.faults:
            own = _aimed(self.faults, self.target) if self.target else self.faults
            return {"faults": [*(base.faults or ()), *own], "target": base.target}
        if self.target and base.faults:
            return {"faults": _aimed_again(base.faults, self.target)}
        return {"faults": base.faults}

    @property
    def expression(self) -> str:
        """The profile with the appended terms."""
        return "+".join([self.profile or "", *self.add])


OPTION_FACTOR = "option."
"""Prefix of a workload option's name, for a factor that is a list of its values."""

STACK_FIELDS = (
    *(
        "expression",
        "set",
        "cpus",
        "memory",
        "cpuset",
        "disk",
        "external",
        "image",
        "apart",
        "isolation",
        "init",
    ),
)
"""Changes that need another stack."""

DEFAULT_WORKLOAD = "oltp_read_write"
"""The workload of a cell that names none."""

LOAD_FIELDS = (
    *("via", "workload", "options", "threads", "rate", "rows", "tables", "dist"),
    *("faults", "target", "load", "transaction"),
)
"""Changes from one run to the next on the same stack."""


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


@dataclass(frozen=True)
class Cell:
    """One combination of levels, and the change that they add up to."""

    levels: dict[str, str]
    change: Change

    @cached_property
    def name(self) -> str:
        """``rewriter-on.threads-16``, valid as a folder name."""
        return ".".join(_slug(f"{factor}-{level}") for factor, level in self.levels.items())

    @cached_property
    def stack_key(self) -> tuple[object, ...]:
        """Cells with the same key can run on one stack, one after the other; one with a fault runs
        on its own.
        """
        own = (self.name,) if self.change.faults else ()
        return (*(str(getattr(self.change, name)) for name in STACK_FIELDS), *own)

    @cached_property
    def load_key(self) -> tuple[object, ...]:
        """Cells with the same key differ only in their stack."""
        return tuple(str(getattr(self.change, name)) for name in LOAD_FIELDS)

    @cached_property
    def plan_request(self) -> PlanRequest:
        """The plan request for the stack of the cell."""
        change = self.change
        sha256 = hashlib.sha256((change.init or "").encode()).hexdigest()
        init = UserFile(f"{self.name}.sql", change.init, sha256) if change.init else None
        limits = change.model_dump(
            include={"cpus", "memory", "cpuset", "disk", "external", "image"}
        )
        return PlanRequest(change.expression, self.assignments, init=init, **limits)

    @property
    def assignments(self) -> tuple[str, ...]:
        """Server variables of the cell, as SET= takes them."""
        isolation = self.change.isolation
        return (*self.change.set, *([f"transaction_isolation={isolation}"] if isolation else []))


def _aimed(faults: Faults, target: str) -> Faults:
    """Each name that has no target yet, with this one."""
    return [{"named": each, "target": target} if isinstance(each, str) else each for each in faults]


def _aimed_again(faults: Faults, target: str) -> Faults:
    """Each name that has a target, with this one instead."""
    return [
        {**each, "target": target} if isinstance(each, dict) and "named" in each else each
        for each in faults
    ]


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


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")
