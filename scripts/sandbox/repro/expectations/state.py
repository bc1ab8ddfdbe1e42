"""state: what has become of a server."""

import re
import time
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from sandbox.repro.expectation import Expectation, Looked
from sandbox.repro.step import Stage
from sandbox.repro.wanted import Length
from sandbox.stack.server_status import OUT_OF_SERVICE, WELL

_LOOK_S = 0.2
OUT = "out"
"""Of its group, whichever way."""
IN_SERVICE = "well"


def _words_of(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class StateExpectation(Expectation):
    """A server is in one of some states, as `make ps` names them; ``out``: of its cluster."""

    value_is: ClassVar[str] = "a state as make ps shows it, out, or well"
    states: Annotated[list[str], BeforeValidator(_words_of)] = Field(alias="value", min_length=1)
    matches: str | None = None
    """A regular expression that the reason has, such as an error code."""
    within: Length = Field(default=0.0, ge=0)

    @property
    def text(self) -> str:
        reason = f", {self.matches}" if self.matches else ""
        return f"{self.head}: {' or '.join(self.states)}{reason}"

    def looked(self, stage: Stage) -> Looked:
        node = stage.node(self.place)
        end_s = time.monotonic() + self.within
        while True:
            status = stage.stack.server_states().get(node)
            if status is None:
                return Looked(None, f"{node} is no server")
            found = self._is_one(status.word) and self._has_reason(status.reason)
            if found or time.monotonic() > end_s:
                reason = f" ({status.reason})" if status.reason else ""
                return Looked(found, f"{node} {status.word}{reason}")
            time.sleep(_LOOK_S)

    def _is_one(self, word: str) -> bool:
        named = {OUT: OUT_OF_SERVICE, IN_SERVICE: WELL}
        return any(word == each or word in named.get(each, ()) for each in self.states)

    def _has_reason(self, reason: str) -> bool:
        return self.matches is None or re.search(self.matches, reason) is not None
