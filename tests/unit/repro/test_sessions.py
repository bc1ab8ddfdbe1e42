"""The sessions of a repro from this side, with a program that a test answers for."""

import json
import queue
import time
from collections.abc import Iterator
from typing import Any, cast

from sandbox.repro.sessions import Sessions
from sandbox.stack.protocol import RunningStack

STARTS_S = 0.4
"""The program answers nothing before."""


class FakeProgram:
    """The stream of a program that takes a while to start, and whose clock began at 0 then."""

    def __init__(self) -> None:
        self._began_ns = time.monotonic_ns() + int(STARTS_S * 1e9)
        self._requests: queue.Queue[dict[str, Any]] = queue.Queue()

    def send(self, line: str) -> None:
        self._requests.put(json.loads(line))

    def lines(self) -> Iterator[str]:
        time.sleep(STARTS_S)
        while True:
            request = self._requests.get()
            us = (time.monotonic_ns() - self._began_ns) // 1000
            yield json.dumps({"clock": request["clock"], "us": us})


class FakeStack:
    """A stack whose client starts that program."""

    def stream(self, _node: str, _argv: object) -> FakeProgram:
        return FakeProgram()


def test_the_clock_is_read_when_the_program_has_started() -> None:
    sessions = Sessions(cast("RunningStack", FakeStack()), "client1")
    before_ns = time.monotonic_ns()
    sessions.start()
    began_ns = sessions.our_ns(0)
    assert abs(began_ns - before_ns - STARTS_S * 1e9) < STARTS_S * 1e9 / 4
