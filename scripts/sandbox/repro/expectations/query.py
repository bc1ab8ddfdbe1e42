"""query: what a server answers after the last step."""

import time
from typing import ClassVar

from pydantic import Field, model_validator

from sandbox.record.repro import StepRecord
from sandbox.repro.expectation import Expectation, Looked
from sandbox.repro.step import Stage
from sandbox.repro.wanted import Length, Wanted, came_text

_LOOK_S = 0.1
_ANSWER_S = 10.0


class QueryExpectation(Expectation, Wanted):
    """A query at a place comes to what its keys say, at once or within a time."""

    value_is: ClassVar[str] = "SQL"
    sql: str = Field(alias="value", min_length=1)
    within: Length = Field(default=0.0, ge=0)
    """It may take so long until it does: 5s."""

    @model_validator(mode="after")
    def _looks_at_something(self) -> "QueryExpectation":
        if self.says_nothing:
            raise ValueError("a query is looked at by rows, matches, error, warning or affected")
        return self

    @property
    def text(self) -> str:
        return f"{self.head}: {' '.join(self.sql.split())}"

    def looked(self, stage: Stage) -> Looked:
        place = stage.place(self.place)
        session = f"query@{place.node}"
        end_s = time.monotonic() + self.within
        while True:
            stage.sessions.open(session, place.host, place.port, place.account, stage.schema)
            sent = stage.sessions.send(session, [self.sql], self.warning is not None)
            if not stage.sessions.wait(sent, _ANSWER_S):
                stage.sessions.close_session(session)
                return Looked(None, f"{place.node} does not answer within {_ANSWER_S:g} s")
            came = StepRecord(
                number=0,
                text=self.text,
                began_ms=0,
                ended_ms=0,
                rows=sent.rows,
                affected=sent.affected,
                warnings=sent.warnings,
                error_code=sent.error_code,
                error=sent.error,
            )
            problem = self.problem(came)
            if problem is None or time.monotonic() > end_s:
                return Looked(problem is None, f"{place.node}: {problem or came_text(came)}")
            time.sleep(_LOOK_S)
