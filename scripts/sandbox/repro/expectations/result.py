"""result: what a named step came to."""

from sandbox.repro.expectation import Looked, OfStep, named_step
from sandbox.repro.step import Stage
from sandbox.repro.wanted import Wanted, came_text


class ResultExpectation(OfStep, Wanted):
    """A named step came to what its keys say; without one, it ended without an error."""

    blocked: bool | None = None
    """Whether it still waited after the time that its step gave it."""

    @property
    def text(self) -> str:
        keys = self.model_dump(exclude={"step", "place", "unordered"}, exclude_none=True)
        texts = {key: _text_of(value) for key, value in keys.items()}
        said = ", ".join(f"{key} {value}" for key, value in texts.items()) or "no error"
        return f"{self.step}: {said}"

    def looked(self, stage: Stage) -> Looked:
        came = named_step(stage, self.step)
        if came is None:
            return Looked(None, f"{self.step} was not reached")
        if self.blocked is not None:
            waits = f"waited for {came.waited_for}" if came.blocked else "did not wait"
            return Looked(bool(came.blocked) is self.blocked, f"{self.step} {waits}")
        if came.ended_ms is None:
            waits = f", it waits for {came.waited_for}" if came.waited_for else ""
            return Looked(False, f"{self.step} has not ended{waits}")
        problem = self.problem(came)
        return Looked(problem is None, f"{self.step}: {problem or came_text(came)}")


def _text_of(value: object) -> str:
    """``1213 or 1020`` of a list of codes."""
    if isinstance(value, list) and all(isinstance(each, int) for each in value):
        return " or ".join(str(each) for each in value)
    return str(value)
