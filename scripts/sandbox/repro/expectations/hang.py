"""hang: a named step has not ended, and waits for something."""

import re

from sandbox.repro.expectation import Looked, OfStep, named_step
from sandbox.repro.step import Stage


class HangExpectation(OfStep):
    """A named step had not ended within its time."""

    waits_for: str | None = None
    """A regular expression that what it waits for has."""

    @property
    def text(self) -> str:
        waits = f", waits for {self.waits_for}" if self.waits_for else ""
        return f"hang: {self.step}{waits}"

    def looked(self, stage: Stage) -> Looked:
        came = named_step(stage, self.step)
        if came is None:
            return Looked(None, f"{self.step} was not reached")
        if came.ended_ms is not None:
            return Looked(False, f"{self.step} ended after {came.ended_ms - came.began_ms:.0f} ms")
        waits = came.waited_for or "nobody knows what"
        met = self.waits_for is None or re.search(self.waits_for, waits) is not None
        return Looked(met, f"{self.step} waits for {waits}")
