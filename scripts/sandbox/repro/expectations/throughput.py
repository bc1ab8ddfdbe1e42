"""throughput: how many transactions a second a named load came to, alone or against another."""

from typing import ClassVar

from pydantic import Field

from sandbox.record.repro import StepRecord
from sandbox.repro.expectation import FigureOfStep


class ThroughputExpectation(FigureOfStep):
    """The throughput of a `workload` step, in transactions a second."""

    figure_is: ClassVar[str] = "throughput"
    unit: ClassVar[str] = "/s"
    at_least: float | None = Field(default=None, ge=0)
    at_most: float | None = Field(default=None, ge=0)

    def figure_of(self, came: StepRecord | None) -> float | None:
        return None if came is None else came.per_s

    def seen(self, figure: float) -> str:
        return f"had {figure:,.1f} transactions/s"

    def without(self) -> str:
        return "is no load that ran to its end"
