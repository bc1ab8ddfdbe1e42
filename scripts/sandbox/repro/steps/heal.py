"""heal: ends faults that the repro has injected."""

from typing import ClassVar

from pydantic import Field

from sandbox.core.errors import SandboxError
from sandbox.record.repro import StepRecord
from sandbox.repro.step import ReproStep, Stage, StepError, record_of

ALL = "all"


class HealStep(ReproStep):
    """Faults of a name, or all that are not healed yet, are healed."""

    value_is: ClassVar[str] = "a fault that was injected before, or all"
    not_in_pack: ClassVar[str | None] = "nothing is broken in a pack"
    fault: str = Field(alias="value", min_length=1)

    @property
    def text(self) -> str:
        return f"heal: {self.fault}"

    def carry_out(self, stage: Stage, number: int) -> StepRecord:
        began_ms = stage.now_ms()
        try:
            healed = stage.heal(None if self.fault == ALL else self.fault)
        except SandboxError as error:
            raise StepError(f"{error.what}: {error.known}") from error
        if not healed:
            raise StepError(f"there is no fault {self.fault} to heal")
        record = record_of(stage, number, self.text, name=self.name)
        return record.model_copy(update={"began_ms": began_ms})
