"""A step of a repro: its keys in the file, what it does on a stage; each kind found by its word."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict, Field, field_validator

from sandbox.core.plugin_options import OptionValue
from sandbox.core.plugins import plugins_of_classes
from sandbox.failure.fault import FaultRequest
from sandbox.load.common.registry import NamedWorkload
from sandbox.record.repro import StepRecord
from sandbox.repro.sessions import Sent, Sessions
from sandbox.stack.protocol import RunningStack, StackNode

STATEMENT = "statement"
"""The kind of a step whose first key is no word of another one: that key names a session."""
USUAL_S = 30.0
"""How long a statement may take that has no `within` of its own."""
HEAD = re.compile(r"(?P<word>[A-Za-z][\w-]*)(?:\s*@\s*(?P<place>[\w:.-]+))?")
"""``s1 @writer``, ``until @galera1`` or ``wait``."""


@dataclass(frozen=True, slots=True)
class SqlPlace:
    """Where a statement goes. ``node``: a server's or a proxy's; ``account``: as which it is
    asked.
    """

    node: str
    host: str
    port: int
    account: str


@dataclass(frozen=True, slots=True)
class EndedLoad:
    """What came of a load. ``failure``: why it failed; ``per_s``: its transactions a second; None
    where nobody knows, such as of one that still runs.
    """

    failure: str | None = None
    per_s: float | None = None


class Stage(Protocol):
    """The stack on which a repro is carried out, and what its steps have begun on it."""

    stack: RunningStack
    schema: str
    """The schema of the repro, in which its sessions are."""
    sessions: Sessions
    steps: list[StepRecord]
    """What came of the steps so far."""
    began_utc: datetime

    @property
    def client(self) -> str:
        """The node that has the sessions and the loads."""

    def limit_s(self, within: float | None) -> float:
        """How long a statement may take; None: it has no `within` of its own."""

    def servers(self) -> list[StackNode]:
        """Every database server of the stack."""

    def place(self, word: str | None) -> SqlPlace:
        """A node, a role or an entry point; None: the writer. Raises StepError for another word."""

    def node(self, word: str | None) -> str:
        """The node that a word means: as `place`, and any other node. Raises StepError."""

    def node_of(self, session: str) -> str | None:
        """The node at which a session was opened."""

    def server_of(self, session: str) -> StackNode | None:
        """The server at which a session was opened; None for a proxy."""

    def hit(self, target: str) -> list[str]:
        """The nodes that a target of a fault means now. Raises StepError."""

    def inject(self, request: FaultRequest, length_s: float | None) -> Mapping[str, str]:
        """Breaks nodes; by node, why it is not in effect there. Raises SandboxError.

        ``length_s``: it is healed then, while the next steps go on; None: by `heal`.
        """

    def heal(self, fault: str | None) -> bool:
        """Heals what was injected under a name, None: all; whether there was any. SandboxError."""

    def load(
        self, workload: NamedWorkload, via: str | None, threads: int, length_s: int, beside: bool
    ) -> "EndedLoad":
        """Prepares a workload and runs it, or begins it ``beside``. Raises SandboxError."""

    def now_ms(self) -> float:
        """Time since the first step began, ms."""

    def session_ms(self, us: int | None) -> float:
        """A time of the sessions' clock in the same way; None: now."""


class StepError(Exception):
    """A step that cannot be carried out, and why; the repro ends there."""


def record_of(
    stage: Stage, number: int, text: str, sent: Sent | None = None, **more: object
) -> StepRecord:
    """A step that is over now; with ``sent``, the times and results of its statement."""
    now = stage.now_ms()
    found: dict[str, object] = {"began_ms": now, "ended_ms": now}
    if sent is not None:
        found = {
            "began_ms": stage.session_ms(sent.began_us),
            "ended_ms": None if sent.ended_us is None else stage.session_ms(sent.ended_us),
            "session": sent.session,
            "rows": sent.rows,
            "affected": sent.affected,
            "warnings": sent.warnings,
            "error_code": sent.error_code,
            "error": sent.error,
        }
    return StepRecord.model_validate({"number": number, "text": text, **found, **more})


class ReproStep(BaseModel, ABC):
    """One step. Its fields are the keys in the file; ``value``: what stands behind its word."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, populate_by_name=True)
    value_is: ClassVar[str]
    not_in_pack: ClassVar[str | None] = None
    """Why a pack cannot have such a step; None: it has words for it, or nothing is known."""
    """What stands behind its word, for messages."""
    place: str | None = None
    """Behind the @ of its word."""
    name: str | None = None
    """By which expectations refer to it. What a named step comes to is judged by them alone; any
    other one must go as its own keys say.
    """

    @property
    def head(self) -> str:
        """Its word as in the file: ``until @galera1``."""
        word = type(self).__module__.rpartition(".")[2]
        return f"{word} @{self.place}" if self.place else word

    @property
    def files(self) -> Sequence[str]:
        """Paths of files that it needs on this machine."""
        return ()

    def images_for(self, _family: str, _version: str) -> Sequence[str]:
        """Images that it runs beside a server of this family and version, as `stream_beside` takes
        them.
        """
        return ()

    @abstractmethod
    def carry_out(self, stage: Stage, number: int) -> StepRecord:
        """Does it; what came. Raises StepError where it cannot be done."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The step in one line, as in the file."""


class AskedStep(ReproStep):
    """``shape``: what the sentence looks like; its groups are the parts."""

    shape: ClassVar["re.Pattern[str]"]
    asked: str = Field(alias="value", min_length=1)
    options: dict[str, OptionValue] = Field(default_factory=dict)

    @field_validator("asked")
    @classmethod
    def _is_clear(cls, asked: str) -> str:
        if cls.shape.fullmatch(asked.strip()) is None:
            raise ValueError(f"{asked!r} is not {cls.value_is}")
        return asked.strip()

    @property
    def parts(self) -> dict[str, Any]:
        """The parts of the sentence by name; None for one that is not there."""
        found = self.shape.fullmatch(self.asked)
        assert found  # noqa: S101  (checked when the file was read)
        return found.groupdict()

    @property
    def text(self) -> str:
        given = "".join(f", {name}={value}" for name, value in self.options.items())
        return f"{self.head}: {self.asked}{given}"


STEPS = plugins_of_classes(
    "sandbox.repro.steps",
    ReproStep,  # type: ignore[type-abstract]
    "make repro REPRO=<file> PLAN=1",
)


def split_head(key: str) -> tuple[str, str | None]:
    """The word and the place of a key. Raises ValueError for another text."""
    found = HEAD.fullmatch(key.strip())
    if found is None:
        raise ValueError(
            f"{key!r} is no step: one begins with a session, such as s1 @writer, or a word of"
            f" {', '.join(STEPS.names())}"
        )
    return found["word"], found["place"]


def step_of(value: Any) -> Any:
    """A step as a file has it: its first key is its word. Raises ValueError."""
    if isinstance(value, ReproStep):
        return value
    if not isinstance(value, Mapping) or not value:
        raise ValueError("a step is a mapping; its first key says what it does")
    first, *keys = value
    word, place = split_head(str(first))
    given: dict[str, Any] = {key: value[key] for key in keys}
    given["place"] = place
    if word in STEPS.names() and word != STATEMENT:
        return STEPS.named(word).model_validate({**given, "value": value[first]})
    statement = {**given, "session": word, "value": value[first]}
    return STEPS.named(STATEMENT).model_validate(statement)
