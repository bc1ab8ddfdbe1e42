"""cut: the client of a session goes away without a word to its server."""

from typing import ClassVar

from pydantic import Field

from sandbox.record.repro import StepRecord
from sandbox.repro.step import ReproStep, Stage, StepError, record_of


class CutStep(ReproStep):
    """The connection of a session ends as that of a killed client does, whatever it waits for.

    The session connects again with its next statement.
    """

    value_is: ClassVar[str] = "a session"
    not_in_pack: ClassVar[str | None] = (
        "the server's own client cannot go away without a word to the server"
    )
    session: str = Field(alias="value", min_length=1)

    @property
    def text(self) -> str:
        return f"cut: {self.session}"

    def carry_out(self, stage: Stage, number: int) -> StepRecord:
        if not stage.sessions.is_open(self.session):
            raise StepError(f"there is no session {self.session} before this step")
        stage.sessions.cut(self.session)
        node = stage.node_of(self.session)
        return record_of(stage, number, self.text, name=self.name, node=node)
