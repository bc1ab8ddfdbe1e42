"""Progress: plain lines without a terminal, one per change of state; a table in one."""

import io

import pytest

from sandbox.cli.console import ProgressDisplay, plain
from sandbox.stack.protocol import ImageEvent, LogTail, NodeEvent, Note


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def test_one_plain_line_per_change_of_state() -> None:
    out = io.StringIO()
    with ProgressDisplay("up", out) as progress:
        progress.line("galera3 as 'default'")
        progress(NodeEvent("galera1", "starting"))
        progress(NodeEvent("galera1", "waiting", "ERROR 2003", 1.0))
        progress(NodeEvent("galera1", "waiting", "1,Primary,4", 2.0))
        progress(NodeEvent("galera1", "ready", "3,Primary,4", 7.94))
    assert out.getvalue().splitlines() == [
        "up  galera3 as 'default'",
        "up  galera1       starting",
        "up  galera1       waiting   1.0 s  ERROR 2003",
        "up  galera1       ready     7.9 s  3,Primary,4",
    ]


def test_the_first_line_is_out_before_anything_else_happens() -> None:
    class Flushed(io.StringIO):
        flushed = 0

        def flush(self) -> None:
            self.flushed += 1

    out = Flushed()
    ProgressDisplay("up", out).line("mysql")
    assert out.getvalue() == "up  mysql\n" and out.flushed


def test_a_failed_nodes_log_is_shown_line_by_line() -> None:
    out = io.StringIO()
    ProgressDisplay("up", out)(LogTail("gr1", ("one", "two")))
    assert out.getvalue() == "gr1 | one\ngr1 | two\n"


def test_a_terminal_gets_a_table_that_ends_with_the_block() -> None:
    screen = Screen()
    with ProgressDisplay("up", screen) as progress:
        progress(NodeEvent("galera1", "waiting", "ERROR 2003", 1.0))
        progress(Note("a note"))
        progress(ImageEvent("sandbox/mariadb:11.8-trixie", "building", "step 3/9", 2.0))
        progress(NodeEvent("galera1", "ready", "3,Primary,4", 7.9))
    shown = screen.getvalue()
    assert "a note" in shown and "step 3/9" in shown and "3,Primary,4" in shown
    assert shown.endswith(("\n", "\x1b[?25h"))


def test_in_a_narrow_terminal_the_answer_gives_way_and_the_name_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    screen = Screen()
    with ProgressDisplay("up", screen) as progress:
        progress(
            NodeEvent(
                "galera1",
                "waiting",
                "ERROR 2002 (HY000): Can't connect to server on '127.0.0.1'",
                1.0,
            )
        )
    assert "galera1  waiting" in screen.getvalue()
    assert "…" in screen.getvalue()


def test_no_colour_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Screen()
    with ProgressDisplay("up", screen) as progress:
        progress(NodeEvent("galera1", "ready", "yes", 1.0))
    assert "\x1b[32m" not in screen.getvalue()


def test_a_long_answer_is_cut() -> None:
    assert len(plain(NodeEvent("gr1", "waiting", "x" * 500, 1.0))) < 110
