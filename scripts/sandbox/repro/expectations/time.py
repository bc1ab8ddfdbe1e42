"""time: how long a named step took, alone or against another one."""

from pydantic import model_validator

from sandbox.record.repro import StepRecord
from sandbox.repro.expectation import Looked, OfStep, named_step
from sandbox.repro.step import Stage
from sandbox.repro.wanted import Length


class TimeExpectation(OfStep):
    """The time of a step is between bounds; with ``against``, its ratio to that of another step."""

    at_least: Length | None = None
    at_most: Length | None = None
    against: str | None = None
    """The step whose time is 1."""

    @model_validator(mode="after")
    def _has_a_bound(self) -> "TimeExpectation":
        if self.at_least is None and self.at_most is None:
            raise ValueError("a time has at_least, at_most, or both")
        return self

    @property
    def text(self) -> str:
        unit = f" times {self.against}" if self.against else " s"
        least = f" at least {self.at_least:g}{unit}" if self.at_least is not None else ""
        most = f" at most {self.at_most:g}{unit}" if self.at_most is not None else ""
        return f"time of {self.step}:{least}{most}"

    def looked(self, stage: Stage) -> Looked:
        taken = _seconds(named_step(stage, self.step))
        if taken is None:
            return Looked(None, f"{self.step} has not ended")
        figure, seen = taken, f"{self.step} took {taken * 1000:.0f} ms"
        if self.against is not None:
            other = _seconds(named_step(stage, self.against))
            if not other:
                return Looked(None, f"{self.against} has not ended")
            figure = taken / other
            seen = f"{seen}, {figure:.2f} times {self.against}"
        is_low = self.at_least is not None and figure < self.at_least
        is_high = self.at_most is not None and figure > self.at_most
        return Looked(not (is_low or is_high), seen)


def _seconds(came: StepRecord | None) -> float | None:
    if came is None or came.ended_ms is None:
        return None
    return (came.ended_ms - came.began_ms) / 1000
