"""workload: a load for a time, to its end or beside the steps that follow."""

import re
from typing import ClassVar

from pydantic import Field, model_validator

from sandbox.core.errors import SandboxError
from sandbox.load.common.registry import resolve_workload
from sandbox.measure.trial.schedule import seconds
from sandbox.record.repro import StepRecord
from sandbox.repro.step import AskedStep, Stage, StepError, record_of


class WorkloadStep(AskedStep):
    """A workload runs for a time, through the entry point of its place (the default one)."""

    value_is: ClassVar[str] = "a workload and how long: writers for 10s"
    not_in_pack: ClassVar[str | None] = "a workload is a program of this tool"
    shape: ClassVar["re.Pattern[str]"] = re.compile(r"(?P<workload>\S+)\s+for\s+(?P<length>.+)")
    threads: int = Field(default=4, ge=1)
    beside: bool = False
    """Whether the next step begins at once; the load ends with its time, or with the repro."""

    @model_validator(mode="after")
    def _is_known(self) -> "WorkloadStep":
        if seconds(self.parts["length"]) < 1:
            raise ValueError("a workload runs for whole seconds")
        try:
            resolve_workload(self.parts["workload"], self.options)
        except SandboxError as error:
            raise ValueError(f"{error.what}; {error.known}") from error
        return self

    def carry_out(self, stage: Stage, number: int) -> StepRecord:
        began_ms = stage.now_ms()
        workload = resolve_workload(self.parts["workload"], self.options)
        length_s = round(seconds(self.parts["length"]))
        try:
            came = stage.load(workload, self.place, self.threads, length_s, self.beside)
        except SandboxError as error:
            raise StepError(f"{error.what}: {error.known}") from error
        record = record_of(stage, number, self.text, name=self.name)
        return record.model_copy(
            update={"began_ms": began_ms, "problem": came.failure, "per_s": came.per_s}
        )
