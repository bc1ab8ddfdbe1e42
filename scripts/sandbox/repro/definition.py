"""A repro as its file says it: what is set up, the steps, what is expected of either version."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from sandbox.matrix.cell import Change, Texts
from sandbox.profile.images import Text
from sandbox.repro.affected import check_range
from sandbox.repro.expectation import Expectation, expectation_of
from sandbox.repro.step import ReproStep, step_of
from sandbox.repro.steps.statement import StatementStep

Family = Literal["mysql", "mariadb"]
MOST_REPEATS = 1000
StepInFile = Annotated[ReproStep, BeforeValidator(step_of)]
ExpectationInFile = Annotated[Expectation, BeforeValidator(expectation_of)]


def _texts_of(value: Any) -> list[str]:
    """A version that stands alone may look like a number: 9.7."""
    return [str(each) for each in (value if isinstance(value, list) else [value])]


Ranges = Annotated[list[str], BeforeValidator(_texts_of)]


class Generated(BaseModel):
    """Rows that are generated: ``{n}`` in the values is the number of the row, from 1 on."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
    count: int = Field(ge=1, le=10_000_000)
    values: str = Field(min_length=1)


class Data(BaseModel):
    """What is there before the first step: made on the writer, and on every server by then."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
    sql: str | None = None
    """Statements, separated by semicolons."""
    file: str | None = None
    """A dump: .sql, .sql.gz or .sql.zst, into the repro's schema; or a folder of mydumper, into the
    schemas that it has.
    """
    rows: dict[str, Generated] = Field(default_factory=dict)
    """By table, after the statements and the dump."""


class BothSides(BaseModel):
    """What is seen where the bug is, and where it is not: each of them all."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
    bug: list[ExpectationInFile] = Field(min_length=1)
    fixed: list[ExpectationInFile] = Field(min_length=1)


class Repro(BaseModel):
    """A repro. The keys of its stack are those of a matrix's level."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
    name: str
    title: str = Field(min_length=1)
    question: str = Field(min_length=1)
    links: list[str] = Field(default_factory=list)
    profile: Text
    set: Texts = Field(default_factory=list)
    cnf: Texts = Field(default_factory=list)
    image: Texts | None = None
    binary: Texts | None = None
    replicate: Texts = Field(default_factory=list)
    cpus: Text | None = None
    memory: Text | None = None
    disk: Text | None = None
    load: Data = Field(default_factory=Data)
    steps: list[StepInFile] = Field(min_length=1)
    expect: BothSides
    affected: Mapping[Family, Ranges] = Field(default_factory=dict)
    repeat: int = Field(default=1, ge=1, le=MOST_REPEATS)
    fresh: bool = False

    @field_validator("affected")
    @classmethod
    def _are_ranges(cls, affected: Mapping[Family, list[str]]) -> Mapping[Family, list[str]]:
        for ranges in affected.values():
            for each in ranges:
                check_range(each)
        return affected

    @model_validator(mode="after")
    def _names_fit(self) -> "Repro":
        names = [step.name for step in self.steps if step.name]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"steps: two are named {min(twice)}")
        for side in ("bug", "fixed"):
            for each in getattr(self.expect, side):
                for name in filter(None, (each.of_step, getattr(each, "against", None))):
                    if name not in names:
                        known = ", ".join(names) or "none has a name"
                        raise ValueError(f"expect.{side}: no step is named {name} ({known})")
                for session in each.of_sessions:
                    if session not in self.sessions:
                        known = ", ".join(self.sessions) or "there is none"
                        raise ValueError(f"expect.{side}: no session is {session} ({known})")
        return self

    @property
    def change(self) -> Change:
        """What its stack is made of, as a matrix's level says it."""
        keys = ("profile", "set", "cnf", "image", "binary", "replicate", "cpus", "memory", "disk")
        return Change.model_validate({key: value for key in keys if (value := getattr(self, key))})

    def with_changes(self, changes: Mapping[str, object]) -> "Repro":
        """The repro with another profile; settings beside its own."""
        given = dict(changes)
        if "set" in given:
            given["set"] = [*self.set, *given["set"]]  # type: ignore[misc]
        return self.model_copy(update=given)

    @property
    def sha256(self) -> str:
        """Of what is carried out: the data, the steps and the expectations."""
        said = {
            "load": self.load.model_dump(),
            "steps": [_as_data(each) for each in self.steps],
            "bug": [_as_data(each) for each in self.expect.bug],
            "fixed": [_as_data(each) for each in self.expect.fixed],
        }
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    @property
    def sessions(self) -> list[str]:
        """Names of the sessions that its steps use, in order."""
        found = [each.session for each in self.steps if isinstance(each, StatementStep)]
        return list(dict.fromkeys(found))


def _as_data(value: BaseModel) -> Sequence[Any]:
    return [type(value).__name__, value.model_dump()]
