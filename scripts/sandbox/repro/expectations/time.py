"""time: how long a named step took, alone or against another one."""

from typing import ClassVar

from sandbox.record.repro import StepRecord
from sandbox.repro.expectation import FigureOfStep
from sandbox.repro.wanted import Length


class TimeExpectation(FigureOfStep):
    """The time of a step, in seconds."""

    figure_is: ClassVar[str] = "time"
    unit: ClassVar[str] = " s"
    at_least: Length | None = None
    at_most: Length | None = None

    def figure_of(self, came: StepRecord | None) -> float | None:
        if came is None or came.ended_ms is None:
            return None
        return (came.ended_ms - came.began_ms) / 1000

    def seen(self, figure: float) -> str:
        return f"took {figure * 1000:.0f} ms"

    def without(self) -> str:
        return "has not ended"
