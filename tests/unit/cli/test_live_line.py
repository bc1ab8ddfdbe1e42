"""Progress of a measurement: one line a run where nobody watches, one that moves in a terminal and
is then gone.
"""

import io
import re
from itertools import groupby

import pytest

from sandbox.cli.common.matrices import MatrixLine
from sandbox.cli.common.measuring import EventLine
from sandbox.cli.console import LiveLine
from sandbox.load.common.workload import Progress, Second
from sandbox.matrix.cell import Cell, Change
from sandbox.matrix.resolved import ResolvedCell, ScheduledRun
from sandbox.matrix.runner import Advance
from unit.matrix.resolved import no_load

CHOSEN = Cell({"threads": "4"}, Change(profile="mysql", threads=4))
CELL = ResolvedCell(CHOSEN.levels, CHOSEN.change, no_load(CHOSEN), "variant1")
ADVANCE = Advance(11, 99, 9, ScheduledRun(2, "threads-4", CELL, "variant1"), 612.0)
SECOND = Second("measure", 3, 4, 1000.0, 20000.0, 14000.0, 4000.0, 7.5, 0.0, 0.0, 0)
ERASE_LINE, SHOW_CURSOR, UP = "\x1b[2K", "\x1b[?25h", "\x1b[1A"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _a_terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")


def shown_on(stream: io.StringIO) -> str:
    """What a run's events come to."""
    with MatrixLine("matrix", stream) as line:
        for event in (
            Progress("start", "variant1"),
            ADVANCE,
            Progress("prepare", "data is there"),
            SECOND,
        ):
            line(event)
    return stream.getvalue()


def shown(text: str) -> list[str]:
    """The lines that a terminal showed, one after the other; those drawn again count once."""
    plain = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", text)
    return [
        line
        for line, _ in groupby(
            part.rstrip() for part in re.split(r"[\r\n]+", plain) if part.strip()
        )
    ]


def test_elsewhere_each_run_has_one_line() -> None:
    assert shown_on(io.StringIO()).splitlines() == [
        "matrix  start  variant1",
        "matrix  12/99  block 2/9  threads-4  left about 11 min",
    ]


def test_elsewhere_each_second_of_a_bench_has_one_line() -> None:
    stream = io.StringIO()
    with EventLine("bench", stream) as line:
        for event in (
            Progress("measure", "begins"),
            SECOND,
            Progress("catch up", "replica1 waits"),
        ):
            line(event)
    first, second, third = stream.getvalue().splitlines()
    assert (first, third) == ("bench  measure", "bench  catch up: replica1 waits")
    assert second.startswith(" measure    3 s  threads 4  tps 1,000  qps 20,000  p95 7.5 ms")


def test_in_a_terminal_the_seconds_move_on_one_line() -> None:
    text = shown_on(Terminal())
    first, second, last = shown(text)
    assert (
        first == "matrix  start  variant1"
        and second == "12/99  block 2/9  threads-4  left about 11 min"
    )
    assert last.startswith("12/99  block 2/9  threads-4  measure    3 s") and "tps 1,000" in last
    assert all(len(line) <= 79 for line in shown(text))
    assert text.endswith(f"\n{SHOW_CURSOR}\r{UP}{ERASE_LINE}"), "the line that moved is gone"


@pytest.mark.parametrize("columns", [60, 132])
def test_a_line_is_as_wide_as_the_terminal_that_shows_it(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    screen = Terminal()
    with LiveLine("bench", screen) as line:
        line.move("x" * 200)
    assert shown(screen.getvalue()) == ["x" * (columns - 1)]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_behind_after_an_error(error: type[BaseException]) -> None:
    screen = Terminal()
    with pytest.raises(error), EventLine("bench", screen) as line:
        line(SECOND)
        raise error
    assert screen.getvalue().endswith(f"\n{SHOW_CURSOR}\r{UP}{ERASE_LINE}")


def test_a_terminal_that_cannot_overwrite_gets_lines_that_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert len(shown_on(Terminal()).splitlines()) == 2


def test_a_stack_that_starts_is_shown_instead_of_the_line_that_moves() -> None:
    screen = Terminal()
    with MatrixLine("matrix", screen) as line:
        line(ADVANCE)
        with line.progress() as progress:
            progress.line("a note")
    assert shown(screen.getvalue())[-1] == "matrix  a note"
