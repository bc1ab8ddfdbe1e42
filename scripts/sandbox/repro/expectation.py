"""An expectation of a repro: its keys in the file, what it looks at; each kind found by its
word.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

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
        word = type(self).__module__.rpartition(".")[2].replace("_", "-")
        return f"{word} @{self.place}" if self.place else word

    @property
    @abstractmethod
    def text(self) -> str:
        """The expectation in one line, as in the file."""

    @property
    def of_step(self) -> str | None:
        """The name of the step that it judges; None: none."""
        return None

    @property
    def of_sessions(self) -> list[str]:
        """The sessions that it names."""
        return []


class OfStep(Expectation):
    """An expectation about a named step, which stands behind its word."""

    value_is: ClassVar[str] = "the name of a step"
    step: str = Field(alias="value", min_length=1)

    @property
    def of_step(self) -> str | None:
        return self.step


class FigureOfStep(OfStep):
    """A figure of a named step is between bounds; with ``against``, its ratio to another step's."""

    figure_is: ClassVar[str]
    unit: ClassVar[str]
    at_least: float | None = None
    at_most: float | None = None
    against: str | None = None
    """The step whose figure is 1."""

    @model_validator(mode="after")
    def _has_a_bound(self) -> "FigureOfStep":
        if self.at_least is None and self.at_most is None:
            raise ValueError(f"a {self.figure_is} has at_least, at_most, or both")
        return self

    @property
    def text(self) -> str:
        unit = f" times {self.against}" if self.against else self.unit
        least = f" at least {self.at_least:g}{unit}" if self.at_least is not None else ""
        most = f" at most {self.at_most:g}{unit}" if self.at_most is not None else ""
        return f"{self.figure_is} of {self.step}:{least}{most}"

    def looked(self, stage: Stage) -> Looked:
        own = self.figure_of(named_step(stage, self.step))
        if own is None:
            return Looked(None, f"{self.step} {self.without()}")
        figure = own
        seen = f"{self.step} {self.seen(own)}"
        if self.against is not None:
            other = self.figure_of(named_step(stage, self.against))
            if not other:
                return Looked(None, f"{self.against} {self.without()}")
            figure = own / other
            seen = f"{seen}, {figure:.2f} times {self.against}"
        is_low = self.at_least is not None and figure < self.at_least
        is_high = self.at_most is not None and figure > self.at_most
        return Looked(not (is_low or is_high), seen)

    @abstractmethod
    def figure_of(self, came: StepRecord | None) -> float | None:
        """The figure of a step; None where it has none."""

    @abstractmethod
    def seen(self, figure: float) -> str:
        """What the step came to, behind its name."""

    @abstractmethod
    def without(self) -> str:
        """Why a step has no such figure, behind its name."""


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
