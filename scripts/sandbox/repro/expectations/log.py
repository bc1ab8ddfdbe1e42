"""log: what a node has written to its log since the first step."""

import re
import time
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field, field_validator

from sandbox.repro.expectation import Expectation, Looked
from sandbox.repro.step import Stage
from sandbox.repro.wanted import Length

_LOOK_S = 0.2
_LONGEST = 200
_SESSION = re.compile(r"\{([A-Za-z][\w-]*)\}")
"""``{s1}`` in a pattern; the braces of a regular expression have numbers in them."""


class LogExpectation(Expectation):
    """A line of a node's log has a pattern, or none has it.

    ``{s1}`` in it is the server's number of the connection of session s1.
    """

    value_is: ClassVar[str] = "a regular expression"
    pattern: str = Field(alias="value", min_length=1)
    absent: bool = False
    within: Length = Field(default=0.0, ge=0)

    @field_validator("pattern")
    @classmethod
    def _is_pattern(cls, pattern: str) -> str:
        try:
            re.compile(_SESSION.sub("0", pattern))
        except re.error as problem:
            raise ValueError(f"it is no regular expression: {problem}") from problem
        return pattern

    @property
    def text(self) -> str:
        return f"{self.head}: {'no ' if self.absent else ''}{self.pattern}"

    @property
    def of_sessions(self) -> list[str]:
        return _SESSION.findall(self.pattern)

    def looked(self, stage: Stage) -> Looked:
        node = stage.node(self.place)
        pattern = self._with_numbers(stage.sessions.connections())
        end_s = time.monotonic() + self.within
        while True:
            lines = stage.stack.log(node, stage.began_utc).splitlines()
            found = next((line for line in lines if re.search(pattern, line)), None)
            if found is not None or time.monotonic() > end_s:
                break
            time.sleep(_LOOK_S)
        seen = found[:_LONGEST] if found else "no such line"
        return Looked((found is None) is self.absent, f"{node}: {seen}")

    def _with_numbers(self, sessions: Mapping[int, str]) -> str:
        """The pattern with the numbers of the connections that its sessions have had."""

        def numbers_of(found: "re.Match[str]") -> str:
            numbers = [str(number) for number, name in sessions.items() if name == found[1]]
            # A session that never came to its server has no number, and no line.
            return f"(?:{'|'.join(numbers)})" if numbers else "(?!)"

        return _SESSION.sub(numbers_of, self.pattern)
