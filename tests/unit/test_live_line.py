"""Progress of a matrix: one line a run where nobody watches, one that moves in a terminal."""

import fcntl
import io
import os
import pty
import struct
import termios

from sandbox.commands.common.live_line import MatrixLine, fitted
from sandbox.experiment.definition import Cell, Change
from sandbox.experiment.runner import Advance
from sandbox.experiment.schedule import ScheduledRun
from sandbox.workloads.common.model import Progress, Second

CELL = Cell({"threads": "4"}, Change(profile="mysql", threads=4))
ADVANCE = Advance(11, 99, 9, ScheduledRun(2, "threads-4", CELL, "variant1"), 612.0)
SECOND = Second("measure", 3, 4, 1000.0, 20000.0, 14000.0, 4000.0, 7.5, 0.0, 0.0, 0)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def told(stream: io.StringIO) -> str:
    """What a run's events come to."""
    line = MatrixLine(stream)
    for event in (Progress("start", "variant1"), ADVANCE, Progress("prepare", "data is there"), SECOND):
        line(event)
    line.close()
    return stream.getvalue()


def test_elsewhere_each_run_has_one_line() -> None:
    assert told(io.StringIO()).splitlines() == [
        "matrix  start  variant1",
        "matrix  12/99  block 2/9  threads-4  left about 11 min",
    ]


def test_in_a_terminal_the_seconds_move_on_one_line() -> None:
    text = told(Terminal())
    *_, last = text.splitlines()[-1].split("\r")
    assert last.startswith("12/99  block 2/9  threads-4  measure    3 s") and "tps 1,000" in last
    assert all(len(part) <= 79 for line in text.splitlines() for part in line.split("\r"))


def test_a_line_is_as_wide_as_the_terminal_that_shows_it() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal, os.fdopen(ours):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 132, 0, 0))
        assert len(fitted("x" * 200, terminal)) == len(fitted("x", terminal)) == 131
    assert len(fitted("x" * 200, io.StringIO())) == 79


def test_a_plan_is_told_as_it_is() -> None:
    stream = io.StringIO()
    MatrixLine(stream).plan(["What a proxy costs", "", "  variant1  mysql"])
    assert stream.getvalue() == "What a proxy costs\n\n  variant1  mysql\n"
