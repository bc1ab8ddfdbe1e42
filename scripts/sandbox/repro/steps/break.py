"""break: injects a fault on the nodes that a target means now."""
# ruff: noqa: N999  (named after its word in a file)

import re
from typing import ClassVar

from pydantic import model_validator

from sandbox.core.errors import SandboxError
from sandbox.failure.fault import FaultRequest, fault_named
from sandbox.measure.trial.schedule import seconds
from sandbox.record.repro import StepRecord
from sandbox.repro.step import AskedStep, Stage, StepError, record_of


class BreakStep(AskedStep):
    """A fault on a target (the writer), healed after a time, by a step `heal`, or in the end."""

    value_is: ClassVar[str] = "a fault, its target and how long: partition one-reader for 10s"
    not_in_pack: ClassVar[str | None] = (
        "a container cannot break the network, the disk or the process of another one"
    )
    shape: ClassVar["re.Pattern[str]"] = re.compile(
        r"(?P<fault>[a-z][a-z-]*)(?:\s+(?!for\s)(?P<target>[\w-]+))?(?:\s+for\s+(?P<length>.+))?"
    )

    @model_validator(mode="after")
    def _is_known(self) -> "BreakStep":
        if self.parts["length"]:
            seconds(self.parts["length"])
        try:
            fault_named(self.parts["fault"], self.options)
        except SandboxError as error:
            raise ValueError(f"{error.what}; {error.known}") from error
        return self

    def carry_out(self, stage: Stage, number: int) -> StepRecord:
        began_ms = stage.now_ms()
        parts = self.parts
        nodes = stage.hit(parts["target"] or "writer")
        length_s = seconds(parts["length"]) if parts["length"] else None
        try:
            missing = stage.inject(FaultRequest(parts["fault"], self.options, nodes), length_s)
        except SandboxError as error:
            raise StepError(f"{error.what}: {error.known}") from error
        record = record_of(stage, number, self.text, name=self.name, node=", ".join(nodes))
        problem = "; ".join(f"not in effect on {node}: {why}" for node, why in missing.items())
        return record.model_copy(update={"began_ms": began_ms, "problem": problem or None})
