"""Conditions that a cell's runs must meet to be valid: declared in the matrix, checked against the samples."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from sandbox.plan.images import Text

CONDITION = "condition"
"""Prefix of the name of a condition's check in the record."""


class Condition(BaseModel):
    """A status variable, summed over the servers that the load reaches, and its bound.

    ``where``: levels at which it must hold, by factor; a factor that is not named does not matter.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    where: dict[str, list[str]] = Field(default_factory=dict)
    status: Text
    take: Literal["median", "highest", "increase"] = "median"
    """Of the one-second samples: their median, the highest, or the last minus the first."""
    at_most: float | None = None
    below_share_of_threads: float | None = Field(default=None, gt=0)
    """0.5: less than half the load's threads."""
    because: str
    """What it means when the condition is not met: the reason in the record."""

    @field_validator("where", mode="before")
    @classmethod
    def _where(cls, given: Any) -> Any:
        return levels_by_factor(given)

    @model_validator(mode="after")
    def _one_bound(self) -> "Condition":
        if (self.at_most is None) == (self.below_share_of_threads is None):
            raise ValueError("a condition has one bound: at_most, or below_share_of_threads")
        return self

    def holds_for(self, levels: Mapping[str, str]) -> bool:
        """Whether a cell with these levels must meet it."""
        return all(levels.get(factor) in wanted for factor, wanted in self.where.items())

    def met_by(self, value: float, threads: int) -> bool:
        """Whether the value of a run with this many threads is within the bound."""
        if self.at_most is not None:
            return value <= self.at_most
        return value < self._share * threads

    def bound(self, threads: int) -> str:
        """The bound in words."""
        if self.at_most is not None:
            return f"at most {self.at_most:g}"
        return f"less than {self._share * threads:g}, {self._share:g} times the {threads} threads of the load"

    @property
    def _share(self) -> float:
        return self.below_share_of_threads or 0.0


def level_name(value: Any) -> str:
    """The level as typed: YAML reads on, off, yes and no as booleans."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def levels_by_factor(given: Any) -> Any:
    """Both ``{threads: 64}`` and ``{threads: [64, 256]}`` as lists of names."""
    if not isinstance(given, Mapping):
        return given
    return {
        str(factor): [level_name(each) for each in (levels if isinstance(levels, list) else [levels])]
        for factor, levels in given.items()
    }
