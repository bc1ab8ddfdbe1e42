"""crash: a server has ended by a signal since the first step."""

import re
from typing import ClassVar

from pydantic import Field

from sandbox.repro.expectation import Expectation, Looked
from sandbox.repro.step import Stage

_SIGNAL = re.compile(r"got signal (\d+)", re.IGNORECASE)
_ANY = "any"


class CrashExpectation(Expectation):
    """A server's log says that it crashed, by which signal, and with which frames on its stack."""

    value_is: ClassVar[str] = "a signal's number, such as 11, or any"
    signal: int | str = Field(alias="value")
    frames: list[str] = Field(default_factory=list)
    """Texts that the lines after it have, in this order: names of functions."""

    @property
    def text(self) -> str:
        frames = f" in {' < '.join(self.frames)}" if self.frames else ""
        return f"{self.head}: signal {self.signal}{frames}"

    def looked(self, stage: Stage) -> Looked:
        node = stage.node(self.place)
        lines = stage.stack.log(node, stage.began_utc).splitlines()
        for number, line in enumerate(lines):
            found = _SIGNAL.search(line)
            if found is None:
                continue
            is_it = self.signal == _ANY or str(self.signal) == found[1]
            met = is_it and _has_frames(lines[number:], self.frames)
            return Looked(met, f"{node}: {line.strip()}")
        return Looked(False, f"{node} has not crashed")


def _has_frames(lines: list[str], frames: list[str]) -> bool:
    rest = iter(lines)
    return all(any(frame in line for line in rest) for frame in frames)
