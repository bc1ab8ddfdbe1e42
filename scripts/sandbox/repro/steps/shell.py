"""shell: a line for the shell of a node."""

from typing import ClassVar

from pydantic import Field

from sandbox.record.repro import StepRecord
from sandbox.repro.step import ReproStep, Stage, record_of
from sandbox.repro.wanted import Length

_CLIENT = "client1"


class ShellStep(ReproStep):
    """A line for `sh` in the client, or at another place, with an exit code."""

    value_is: ClassVar[str] = "a line for the shell"
    not_in_pack: ClassVar[str | None] = (
        "its line is for the client of a stack, or for another container"
    )
    line: str = Field(alias="value", min_length=1)
    exit: int = 0
    within: Length = Field(default=60.0, gt=0)

    @property
    def text(self) -> str:
        return f"{self.head}: {' '.join(self.line.split())}"

    def carry_out(self, stage: Stage, number: int) -> StepRecord:
        began_ms = stage.now_ms()
        node = stage.node(self.place or _CLIENT)
        try:
            done = stage.stack.run(node, ["sh", "-c", self.line], timeout_s=self.within)
        except TimeoutError:
            record = record_of(stage, number, self.text, name=self.name, node=node)
            problem = f"not ended after {self.within:g} s"
            changes = {"began_ms": began_ms, "ended_ms": None, "problem": problem}
            return record.model_copy(update=changes)
        rows = [[[line] for line in done.stdout.splitlines()]]
        record = record_of(stage, number, self.text, name=self.name, node=node, rows=rows)
        differs = f"exit code {done.code}: {done.last_error}" if done.code != self.exit else None
        return record.model_copy(update={"began_ms": began_ms, "problem": differs})
