"""ends: waits for the statement that a session still has under way."""

from typing import ClassVar

from pydantic import Field

from sandbox.record.repro import StepRecord
from sandbox.repro.blockers import blocker_of
from sandbox.repro.step import ReproStep, Stage, StepError, record_of
from sandbox.repro.wanted import Length, Wanted


class EndsStep(ReproStep, Wanted):
    """The statement that blocks in a session comes to its end, and to what."""

    value_is: ClassVar[str] = "a session"
    session: str = Field(alias="value", min_length=1)
    within: Length | None = Field(default=None, gt=0)
    """It ends within this time (30s)."""

    @property
    def text(self) -> str:
        return f"ends: {self.session}"

    def carry_out(self, stage: Stage, number: int) -> StepRecord:
        sent = stage.sessions.pending.get(self.session)
        if sent is None:
            raise StepError(f"the session {self.session} has no statement under way")
        limit_s = stage.limit_s(self.within)
        has_ended = stage.sessions.wait(sent, limit_s)
        more: dict[str, object] = {"name": self.name, "node": stage.node_of(self.session)}
        if has_ended:
            del stage.sessions.pending[self.session]
        else:
            more["waited_for"] = blocker_of(stage, sent)
        record = record_of(stage, number, self.text, sent, **more)
        problem = self.problem(record) if has_ended else f"not ended after {limit_s:g} s"
        return record.model_copy(update={"problem": problem})
