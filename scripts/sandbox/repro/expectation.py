"""An expectation of a repro: its keys in the file, what it looks at; each kind found by its
word.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from sandbox.core.errors import did_you_mean
from sandbox.core.plugins import plugins_of_classes
from sandbox.record.repro import StepRecord
from sandbox.repro.step import Stage, StepError, split_head


@dataclass(frozen=True, slots=True)
class Looked:
    """What an expectation has seen. ``met``: None where nobody can say."""

    met: bool | None
    seen: str


class Expectation(BaseModel, ABC):
    """One expectation. Its fields are the keys in the file; ``value``: what stands behind its
    word.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, populate_by_name=True)
    value_is: ClassVar[str]
    """What stands behind its word, for messages."""
    place: str | None = None
    """Behind the @ of its word."""

    def look(self, stage: Stage) -> Looked:
        """Looks once, after the last step; nobody can say of a place that the stack has not."""
        try:
            return self.looked(stage)
        except StepError as nowhere:
            return Looked(None, str(nowhere))

    @abstractmethod
    def looked(self, stage: Stage) -> Looked:
        """The same; waits only as long as its own keys say. Raises StepError."""

    @property
    def head(self) -> str:
        """Its word as in the file: ``state @galera1``."""
        word = type(self).__module__.rpartition(".")[2]
        return f"{word} @{self.place}" if self.place else word

    @property
    @abstractmethod
    def text(self) -> str:
        """The expectation in one line, as in the file."""

    @property
    def of_step(self) -> str | None:
        """The name of the step that it judges; None: none."""
        return None


class OfStep(Expectation):
    """An expectation about a named step, which stands behind its word."""

    value_is: ClassVar[str] = "the name of a step"
    step: str = Field(alias="value", min_length=1)

    @property
    def of_step(self) -> str | None:
        return self.step


EXPECTATIONS = plugins_of_classes(
    "sandbox.repro.expectations",
    Expectation,  # type: ignore[type-abstract]
    "make repro REPRO=<file> PLAN=1",
)


def expectation_of(value: Any) -> Any:
    """An expectation as a file has it: its first key is its word. Raises ValueError."""
    if isinstance(value, Expectation):
        return value
    if not isinstance(value, Mapping) or not value:
        raise ValueError("an expectation is a mapping; its first key says what it looks at")
    first, *keys = value
    word, place = split_head(str(first))
    if word not in EXPECTATIONS.names():
        raise ValueError(
            f"there is no expectation '{word}'; {did_you_mean(word, EXPECTATIONS.names())}"
        )
    given: dict[str, Any] = {key: value[key] for key in keys}
    return EXPECTATIONS.named(word).model_validate({**given, "place": place, "value": value[first]})


def named_step(stage: Stage, name: str) -> StepRecord | None:
    """What the step of a name came to; of several the last; None: it was not reached."""
    return next((each for each in reversed(stage.steps) if each.name == name), None)
