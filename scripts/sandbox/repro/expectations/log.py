"""log: what a node has written to its log since the first step."""

import re
import time
from typing import ClassVar

from pydantic import Field, field_validator

from sandbox.repro.expectation import Expectation, Looked
from sandbox.repro.step import Stage
from sandbox.repro.wanted import Length

_LOOK_S = 0.2
_LONGEST = 200


class LogExpectation(Expectation):
    """A line of a node's log has a pattern, or none has it."""

    value_is: ClassVar[str] = "a regular expression"
    pattern: str = Field(alias="value", min_length=1)
    absent: bool = False
    within: Length = Field(default=0.0, ge=0)

    @field_validator("pattern")
    @classmethod
    def _is_pattern(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as problem:
            raise ValueError(f"it is no regular expression: {problem}") from problem
        return pattern

    @property
    def text(self) -> str:
        return f"{self.head}: {'no ' if self.absent else ''}{self.pattern}"

    def looked(self, stage: Stage) -> Looked:
        node = stage.node(self.place)
        end_s = time.monotonic() + self.within
        while True:
            lines = stage.stack.log(node, stage.began_utc).splitlines()
            found = next((line for line in lines if re.search(self.pattern, line)), None)
            if found is not None or time.monotonic() > end_s:
                break
            time.sleep(_LOOK_S)
        seen = found[:_LONGEST] if found else "no such line"
        return Looked((found is None) is self.absent, f"{node}: {seen}")
