"""counter: reads a status variable of a server, and by how much it has risen."""

import re
import time
from typing import ClassVar

from pydantic import Field, field_validator

from sandbox.record.repro import StepRecord
from sandbox.repro.step import ReproStep, Stage, StepError, record_of
from sandbox.repro.wanted import Length

_LOOK_S = 0.1
_ANSWER_S = 10.0
_HEADS = ("counter:", "counter @")
"""How the text of a step of this kind begins."""


class CounterStep(ReproStep):
    """A status variable, and how much higher it is than when the repro read it last.

    Its last result set is that rise, a single number; the first reading has risen by 0.
    """

    value_is: ClassVar[str] = "a status variable, such as Aborted_clients"
    not_in_pack: ClassVar[str | None] = (
        "how much a counter has risen is read by a program of this tool"
    )
    variable: str = Field(alias="value")
    rises: int | None = Field(default=None, ge=0)
    """By how much it rises within the time; None: it is only read."""
    within: Length = Field(default=5.0, ge=0)

    @field_validator("variable")
    @classmethod
    def _is_a_name(cls, variable: str) -> str:
        if re.fullmatch(r"\w+", variable) is None:
            raise ValueError(f"{variable!r} is no status variable, such as Aborted_clients")
        return variable

    @property
    def text(self) -> str:
        rises = f" rises by {self.rises}" if self.rises is not None else ""
        return f"{self.head}: {self.variable}{rises}"

    def carry_out(self, stage: Stage, number: int) -> StepRecord:
        node = stage.place(self.place).node
        before = _last_reading(stage, node, self.variable)
        if before is None and self.rises is not None:
            raise StepError(f"no step before this one has read {self.variable} of {node}")
        began_ms = stage.now_ms()
        end_s = time.monotonic() + self.within
        while True:
            value = self._read(stage)
            risen = 0 if before is None else value - before
            if self.rises in (None, risen) or time.monotonic() > end_s:
                break
            time.sleep(_LOOK_S)
        rows = [[[self.variable, str(value)]], [[str(risen)]]]
        record = record_of(stage, number, self.text, name=self.name, node=node, rows=rows)
        differs = self.rises not in (None, risen)
        problem = f"it has risen by {risen}" if differs else None
        return record.model_copy(update={"began_ms": began_ms, "problem": problem})

    def _read(self, stage: Stage) -> int:
        place = stage.place(self.place)
        session = f"counter@{place.node}"
        stage.sessions.open(session, place.host, place.port, place.account, stage.schema)
        sent = stage.sessions.send(session, [f"SHOW GLOBAL STATUS LIKE '{self.variable}'"])
        if not stage.sessions.wait(sent, _ANSWER_S) or sent.error is not None:
            raise StepError(f"{place.node} does not say: {sent.error or 'no answer'}")
        value = sent.rows[-1][0][1] if sent.rows and sent.rows[-1] else None
        if value is None or not value.lstrip("-").isdigit():
            raise StepError(f"{self.variable} is no number of {place.node}: {value or 'not there'}")
        return int(value)


def _last_reading(stage: Stage, node: str, variable: str) -> int | None:
    """The value that the last step of this kind has read there; None: none has."""
    for step in reversed(stage.steps):
        if step.node == node and step.text.startswith(_HEADS):
            name, value = step.rows[0][0]
            if name == variable:
                return int(value or 0)
    return None
