"""until: asks a query again and again, until it comes to what is wanted."""

import time
from typing import ClassVar

from pydantic import Field, model_validator

from sandbox.record.repro import StepRecord
from sandbox.repro.step import ReproStep, Stage, record_of
from sandbox.repro.wanted import Length, Wanted

_LOOK_S = 0.1
_ANSWER_S = 10.0


class UntilStep(ReproStep, Wanted):
    """A query, asked ten times a second, comes to what is wanted."""

    value_is: ClassVar[str] = "SQL"
    sql: str = Field(alias="value", min_length=1)
    within: Length | None = Field(default=None, gt=0)
    """It comes to it within this time (30s)."""

    @model_validator(mode="after")
    def _waits_for_something(self) -> "UntilStep":
        if self.says_nothing:
            raise ValueError("until waits for rows, matches, error, warning or affected")
        return self

    @property
    def text(self) -> str:
        return f"{self.head}: {' '.join(self.sql.split())}"

    def carry_out(self, stage: Stage, number: int) -> StepRecord:
        place = stage.place(self.place)
        session = f"until@{place.node}"
        began_ms = stage.now_ms()
        limit_s = stage.limit_s(self.within)
        end_s = time.monotonic() + limit_s
        while True:
            stage.sessions.open(session, place.host, place.port, place.account, stage.schema)
            sent = stage.sessions.send(session, [self.sql], self.warning is not None)
            has_ended = stage.sessions.wait(sent, _ANSWER_S)
            record = record_of(stage, number, self.text, sent, name=self.name, node=place.node)
            problem = self.problem(record) if has_ended else "no answer"
            if not has_ended:
                stage.sessions.close_session(session)
            if problem is None or time.monotonic() > end_s:
                break
            time.sleep(_LOOK_S)
        if problem is not None:
            problem = f"after {limit_s:g} s still: {problem}"
        changes = {"problem": problem, "began_ms": began_ms}
        return record.model_copy(update=changes)
