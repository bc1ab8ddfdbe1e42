"""restart: stops a node in order and starts it again."""

from typing import ClassVar

from pydantic import Field

from sandbox.record.repro import StepRecord
from sandbox.repro.step import ReproStep, Stage, record_of
from sandbox.repro.wanted import Length


class RestartStep(ReproStep):
    """A node is stopped in order, started again, and ready."""

    value_is: ClassVar[str] = "a node or a target, such as one-reader"
    target: str = Field(alias="value", min_length=1)
    within: Length = Field(default=120.0, gt=0)
    """Until it is ready again."""

    @property
    def text(self) -> str:
        return f"restart: {self.target}"

    def carry_out(self, stage: Stage, number: int) -> StepRecord:
        began_ms = stage.now_ms()
        nodes = stage.hit(self.target)
        for node in nodes:
            control = stage.stack.control(node)
            control.stop(self.within)
            control.start()
        stage.stack.wait_until_ready(self.within)
        record = record_of(stage, number, self.text, name=self.name, node=", ".join(nodes))
        return record.model_copy(update={"began_ms": began_ms})
