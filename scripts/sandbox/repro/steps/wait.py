"""wait: lets time pass, where what is waited for has no sign."""

import time
from typing import ClassVar

from pydantic import Field

from sandbox.record.repro import StepRecord
from sandbox.repro.step import ReproStep, Stage, record_of
from sandbox.repro.wanted import Length


class WaitStep(ReproStep):
    """Time passes; `until` is better wherever there is something to see."""

    value_is: ClassVar[str] = "a length of time"
    length_s: Length = Field(alias="value", gt=0, le=3600)

    @property
    def text(self) -> str:
        return f"wait: {self.length_s:g}s"

    def carry_out(self, stage: Stage, number: int) -> StepRecord:
        began_ms = stage.now_ms()
        time.sleep(self.length_s)
        return record_of(stage, number, self.text, name=self.name).model_copy(
            update={"began_ms": began_ms}
        )
