"""statement: SQL in a session, which stays open for the next one."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from sandbox.record.repro import StepRecord
from sandbox.repro.blockers import blocker_of
from sandbox.repro.sessions import Sent
from sandbox.repro.step import ReproStep, SqlPlace, Stage, StepError, record_of
from sandbox.repro.wanted import Length, Wanted

ALL = "all"
"""The session that is one on every server."""
_BLOCKED_S = 0.5


class StatementStep(ReproStep, Wanted):
    """SQL in a session at a place; later steps of the session need no place."""

    value_is: ClassVar[str] = "SQL"
    session: str
    sql: str = Field(alias="value", min_length=1)
    within: Length | None = Field(default=None, gt=0)
    """It ends within this time (30s)."""
    blocks: Literal[True] | Length | None = None
    """It still waits after this time; ``true``: 500ms. A step ``ends`` waits for its end."""
    prepared: bool = False
    """Whether it is prepared by the server and then executed."""
    half_sent: bool = False
    """Whether only the first half of its packet is sent; it ends when the server gives up."""

    @model_validator(mode="after")
    def _ends_or_blocks(self) -> "StatementStep":
        if self.half_sent and (self.prepared or self.session == ALL):
            raise ValueError(f"half_sent is for a statement of one session, not {ALL} or prepared")
        if self.blocks is not None and (self.within is not None or not self.says_nothing):
            raise ValueError("a statement that blocks has its result in a step 'ends'")
        return self

    @property
    def text(self) -> str:
        at = f" @{self.place}" if self.place else ""
        half = " (half of it)" if self.half_sent else ""
        return f"{self.session}{at}: {' '.join(self.sql.split())}{half}"

    def carry_out(self, stage: Stage, number: int) -> StepRecord:
        if self.session == ALL:
            return self._everywhere(stage, number)
        if self.place or not stage.sessions.is_open(self.session):
            self._open(stage, self.session, stage.place(self.place))
        return self._judged(stage, number, self._sent(stage, self.session))

    def _everywhere(self, stage: Stage, number: int) -> StepRecord:
        """On every server at once; the first that differs is what the step came to."""
        places = [stage.place(server.name) for server in stage.servers()]
        sent = []
        for place in places:
            session = f"{ALL}@{place.node}"
            self._open(stage, session, place)
            sent.append(self._sent(stage, session))
        found = [self._judged(stage, number, each) for each in sent]
        return next((each for each in found if each.problem or each.error), found[0])

    def _open(self, stage: Stage, session: str, place: SqlPlace) -> None:
        stage.sessions.open(session, place.host, place.port, place.account, stage.schema)

    def _sent(self, stage: Stage, session: str) -> Sent:
        if session in stage.sessions.pending:
            why = f"{session} still waits for its statement before this one"
            raise StepError(f"{why}; a step 'ends: {session}' waits for its end")
        sql = [self.sql]
        if self.prepared:
            quoted = self.sql.replace("\\", "\\\\").replace("'", "\\'")
            sql = [f"PREPARE repro FROM '{quoted}'", "EXECUTE repro"]
        return stage.sessions.send(session, sql, self.warning is not None, self.half_sent)

    def _judged(self, stage: Stage, number: int, sent: Sent) -> StepRecord:
        limit_s = stage.limit_s(self.within)
        if self.blocks is not None:
            limit_s = _BLOCKED_S if self.blocks is True else self.blocks
        has_ended = stage.sessions.wait(sent, limit_s)
        more: dict[str, object] = {"name": self.name, "node": stage.node_of(sent.session)}
        if not has_ended:
            stage.sessions.pending[sent.session] = sent
            more["waited_for"] = blocker_of(stage, sent)
        if self.blocks is not None:
            more["blocked"] = not has_ended
        record = record_of(stage, number, self.text, sent, **more)
        return record.model_copy(update={"problem": self._difference(record, limit_s)})

    def _difference(self, record: StepRecord, limit_s: float) -> str | None:
        has_ended = record.ended_ms is not None
        if self.blocks is not None:
            return "it does not wait" if has_ended else None
        if not has_ended:
            waits = f", which waits for {record.waited_for}" if record.waited_for else ""
            return f"not ended after {limit_s:g} s{waits}"
        return self.problem(record)
