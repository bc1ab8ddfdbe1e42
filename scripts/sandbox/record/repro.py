"""The part of a record that a repro adds: each step with what came, each expectation with what was
seen, the verdict.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

ReproVerdict = Literal["reproduced", "fixed", "neither", "unknown"]
"""``neither``: something else came than what the file says of either; ``unknown``: nobody can
say, such as of steps that did not get to their end.
"""
Side = Literal["bug", "fixed"]
Row = list[str | None]


class ReproPart(BaseModel):
    """Base of what a record holds of a repro: no unknown keys, immutable."""

    model_config = ConfigDict(
        defer_build=True, extra="forbid", frozen=True, serialize_by_alias=True
    )


class Warned(ReproPart):
    """A warning of a statement."""

    level: str
    code: int
    text: str


class StepRecord(ReproPart):
    """A step, and what came. Times are from the beginning of the first step on, ms."""

    number: int
    """From 1 on, as in the file."""
    text: str
    """As in the file."""
    name: str | None = None
    session: str | None = None
    node: str | None = None
    began_ms: float
    ended_ms: float | None
    """Null: it had not ended when the repro was over."""
    rows: list[list[Row]] = Field(default_factory=list)
    """Its result sets, every cell as the server sends it."""
    affected: int | None = None
    per_s: float | None = None
    """Transactions a second of a load that ran to its end."""
    warnings: list[Warned] = Field(default_factory=list)
    error_code: int | None = None
    """Null: no error; 0: one without a code of a server."""
    error: str | None = None
    blocked: bool | None = None
    """Whether it still waited after the time that the file gives it; null: the file gives none."""
    waited_for: str | None = None
    """The session and the lock that it waited for."""
    problem: str | None = None
    """Why it did not go as the file says."""


class ExpectationRecord(ReproPart):
    """An expectation, and what was seen. ``met``: null where nobody can say."""

    side: Side
    text: str
    met: bool | None
    seen: str


class ReproRecord(ReproPart):
    """A repro that was carried out once."""

    name: str
    title: str
    question: str
    links: list[str] = Field(default_factory=list)
    sha256: str
    """Of the file's steps and expectations: what was carried out."""
    verdict: ReproVerdict
    seen: str
    """In one sentence, why."""
    expected: Side | None = None
    """What the file's ``affected`` says of the server's version; null: nothing."""
    version: str | None = None
    """The version that the writer reported."""
    seconds: float
    """From the first step to the last expectation."""
    steps: list[StepRecord]
    expectations: list[ExpectationRecord]
