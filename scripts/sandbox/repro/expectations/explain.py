"""explain: what the plan of a statement contains."""

from typing import ClassVar

from pydantic import Field

from sandbox.repro.expectation import Expectation, Looked
from sandbox.repro.step import Stage

_ANSWER_S = 10.0


class ExplainExpectation(Expectation):
    """The rows of EXPLAIN contain a text."""

    value_is: ClassVar[str] = "SQL"
    sql: str = Field(alias="value", min_length=1)
    contains: str = Field(min_length=1)

    @property
    def text(self) -> str:
        return f"{self.head}: {' '.join(self.sql.split())} contains {self.contains}"

    def looked(self, stage: Stage) -> Looked:
        place = stage.place(self.place)
        session = f"query@{place.node}"
        stage.sessions.open(session, place.host, place.port, place.account, stage.schema)
        sent = stage.sessions.send(session, [f"EXPLAIN {self.sql}"])
        if not stage.sessions.wait(sent, _ANSWER_S) or sent.error is not None:
            return Looked(None, f"{place.node}: {sent.error or 'no answer'}")
        cells = [cell or "NULL" for rows in sent.rows for row in rows for cell in row]
        return Looked(self.contains in "\t".join(cells), f"{place.node}: {' '.join(cells)}")
