"""A cell of a matrix: a level of each factor, and the change of stack and load that they add up
to.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sandbox.profile.images import Text
from sandbox.profile.plan import PlanRequest, UserFile
from sandbox.profile.reader import read_configuration_files
from sandbox.stack.binaries import read_binaries

CANARY = "canary"
"""Name of the cell that repeats the baseline: any difference there is noise."""
binaries_of = cache(read_binaries)
"""As `read_binaries`, once for all cells: each file of a server is read to its end."""
Isolation = Literal["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"]


def _listed_text(value: Any) -> Any:
    """A single text as a list of one; all else as it is."""
    return [value] if isinstance(value, str) else value


def _listed_fault(value: Any) -> Any:
    """A single name or step as a list of one; all else as it is."""
    return [value] if isinstance(value, str | dict) else value


Faults = Annotated[list[str | dict[str, Any]], BeforeValidator(_listed_fault)]
Texts = Annotated[list[str], BeforeValidator(_listed_text)]


class Change(BaseModel):
    """The changes of a level. Keys not given stay; lists (``faults``, too) and ``options`` add up,
    others replace.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
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
    image: Texts | None = None
    """Own images, as IMAGE= takes them; of the lists that add up, the last for a word counts."""
    binary: Texts | None = None
    """Servers that somebody built, as BINARY= takes them; the last for a word counts."""
    cnf: Texts = Field(default_factory=list)
    """Configuration files, as CNF= takes them."""
    apart: str | None = None
    """Levels with another word here get a stack of their own, even if nothing else distinguishes
    them.
    """
    isolation: Isolation | None = None
    replicate: list[str] = Field(default_factory=list)
    """Replication between groups, as REPLICATE= takes it."""
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
    """Faults and actions in time: names of fault profiles, faults or actions, or steps as a fault
    profile has them.

    ``{named: hang, target: proxy}`` is a name with a target of its own.
    """
    target: Text | None = None
    """The target of faults that are only named; None: the writer. Beside ``faults`` of the same
    change, it is of those alone.
    """
    load: Literal["idle", "loaded"] | None = None
    """Beside the prober of a cell with faults: the workload at half of what the stack reaches, or
    its data alone.
    """
    transaction: bool | None = None
    """Whether each write of the prober is BEGIN, INSERT and COMMIT; else it commits by itself."""

    driver: Text | None = None
    """The driver beside the prober, as DRIVER= takes it: ``connector-j:sequential``."""
    driver_mode: Text | None = None
    """Mode of a driver that is only named; ``host-list``: its first one that takes a list of
    servers.
    """

    def over(self, base: "Change") -> "Change":
        """This change applied over another."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        added: dict[str, Any] = {
            "add": [*base.add, *self.add],
            "set": [*base.set, *self.set],
            "cnf": [*base.cnf, *self.cnf],
            "replicate": [*base.replicate, *self.replicate],
            "options": {**base.options, **self.options},
        }
        if self.image:
            added["image"] = [*(base.image or ()), *self.image]
        if self.binary:
            added["binary"] = [*(base.binary or ()), *self.binary]
        return base.model_copy(update={**given, **added, **self._breaks_over(base)})

    def _breaks_over(self, base: "Change") -> dict[str, Any]:
        """The faults of both, each name with the target beside it; a target alone is of every name
        before and after.
        """
        if self.faults:
            own = self.faults
            if self.target:
                own = _aimed(own, self.target)
            return {"faults": [*(base.faults or ()), *own], "target": base.target}
        if self.target and base.faults:
            return {"faults": _aimed_again(base.faults, self.target)}
        return {"faults": base.faults}

    @property
    def expression(self) -> str:
        """The profile with the appended terms."""
        return "+".join([self.profile or "", *self.add])


STACK_FIELDS = (
    "expression",
    "set",
    "cpus",
    "memory",
    "cpuset",
    "disk",
    "external",
    "image",
    "binary",
    "cnf",
    "apart",
    "isolation",
    "replicate",
    "init",
)
"""Changes that need another stack."""
DEFAULT_WORKLOAD = "oltp_read_write"
"""The workload of a cell that names none."""
LOAD_FIELDS = (
    "via",
    "workload",
    "options",
    "threads",
    "rate",
    "rows",
    "tables",
    "dist",
    "faults",
    "target",
    "load",
    "transaction",
    "driver",
    "driver_mode",
)
"""Changes from one run to the next on the same stack."""


@dataclass(frozen=True)
class Cell:
    """One combination of levels, and the change that they add up to."""

    levels: dict[str, str]
    change: Change

    @cached_property
    def name(self) -> str:
        """``rewriter-on.threads-16``, valid as a folder name."""
        return ".".join(slug(f"{factor}-{level}") for factor, level in self.levels.items())

    @cached_property
    def stack_key(self) -> tuple[object, ...]:
        """Cells with the same key can run on one stack, one after the other; one with a fault runs
        on its own.
        """
        key = [str(getattr(self.change, name)) for name in STACK_FIELDS]
        if self.change.faults:
            key.append(self.name)
        return tuple(key)

    @cached_property
    def load_key(self) -> tuple[object, ...]:
        """Cells with the same key differ only in their stack."""
        return tuple(str(getattr(self.change, name)) for name in LOAD_FIELDS)

    @cached_property
    def plan_request(self) -> PlanRequest:
        """The plan request for the stack of the cell."""
        change = self.change
        init = None
        if change.init:
            sha256 = hashlib.sha256(change.init.encode()).hexdigest()
            init = UserFile(f"{self.name}.sql", change.init, sha256)
        limits = change.model_dump(include={"cpus", "memory", "cpuset", "disk", "external"})
        common, own_files = read_configuration_files(" ".join(change.cnf))
        return PlanRequest(
            change.expression,
            self.assignments,
            common,
            init=init,
            own_files=own_files,
            images=tuple(change.image or ()),
            binaries=binaries_of(tuple(change.binary or ())),
            links=tuple(change.replicate),
            **limits,
        )

    @property
    def assignments(self) -> tuple[str, ...]:
        """Server variables of the cell, as SET= takes them."""
        assigned = list(self.change.set)
        if self.change.isolation:
            assigned.append(f"transaction_isolation={self.change.isolation}")
        return tuple(assigned)


def _aimed(faults: Faults, target: str) -> Faults:
    """Each name that has no target yet, with this one."""
    return [{"named": each, "target": target} if isinstance(each, str) else each for each in faults]


def _aimed_again(faults: Faults, target: str) -> Faults:
    """Each name that has a target, with this one instead."""
    return [
        {**each, "target": target} if isinstance(each, dict) and "named" in each else each
        for each in faults
    ]


def slug(text: str) -> str:
    """A text as part of a folder's name: its letters and digits, with dashes between."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")
