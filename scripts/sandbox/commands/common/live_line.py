"""Progress of a measurement on standard error: in a terminal one line that moves, elsewhere lines that stay."""

import sys
from typing import TYPE_CHECKING, Self, TextIO

from sandbox.console import ProgressDisplay, is_terminal
from sandbox.experiment.runner import Advance, MatrixEvent, MoreBlocks
from sandbox.report.text import duration
from sandbox.workloads.common.model import Event, Progress, Second

if TYPE_CHECKING:
    from rich.live import Live

_SHOWN_STEPS = ("start", "host check")
"""The steps of a matrix's runs that are shown; the others take a moment."""


class LiveLine:
    """Lines that stay, and in a terminal one that moves below them; as a context manager it removes that one."""

    def __init__(self, command: str, stream: TextIO | None = None) -> None:
        self._command, self._stream = command, stream or sys.stderr
        self._terminal = is_terminal(self._stream)
        self._live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def line(self, text: str) -> None:
        """Prints a line that stays."""
        self.close()
        print(f"{self._command}  {text}", file=self._stream, flush=True)

    def move(self, text: str) -> None:
        """Shows the line that moves, as wide as the terminal less the last column, where some begin a new line."""
        from rich.text import Text

        live = self._live = self._live or self._started()
        live.update(Text(text[: live.console.width - 1], no_wrap=True), refresh=True)

    def close(self) -> None:
        """Removes the line that moves."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _started(self) -> "Live":
        from rich.console import Console
        from rich.live import Live

        console = Console(file=self._stream, highlight=False)
        live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False)
        live.start()
        return live


class BenchLine(LiveLine):
    """The events of a bench: in a terminal the seconds move, elsewhere each has its own line."""

    def __call__(self, event: Event) -> None:
        """Shows one event."""
        if isinstance(event, Progress):
            self.line(event.step if event.text == "begins" else f"{event.step}: {event.text}")
        elif self._terminal:
            self.move(second_text(event))
        else:
            print(second_text(event), file=self._stream, flush=True)


class MatrixLine(LiveLine):
    """The events of a matrix: in a terminal runs and seconds move, elsewhere each run has its own line."""

    _head = ""

    def __call__(self, event: MatrixEvent) -> None:
        """Shows one event."""
        if isinstance(event, Advance):
            left = f"  left about {duration(event.left_s)}" if event.left_s is not None else ""
            self._head = f"{event.done + 1}/{event.runs}  block {event.next.block}/{event.blocks}  {event.next.cell}"
            show = self.move if self._terminal else self.line
            show(self._head + left)
        elif isinstance(event, MoreBlocks):
            took = f"about {duration(event.seconds)}"
            self.line(f"inconclusive after {event.so_far} blocks: {event.more} more on the same stacks, {took}")
        elif isinstance(event, Second) and self._terminal:
            self.move(f"{self._head}  {second_text(event).strip()}")
        elif isinstance(event, Progress) and event.step in _SHOWN_STEPS:
            self.line(f"{event.step}  {event.text}")

    def progress(self) -> ProgressDisplay:
        """Shows a stack that starts, instead of the line that moves."""
        self.close()
        return ProgressDisplay(self._command, self._stream)


def second_text(event: Second) -> str:
    """One second of load in one line."""
    p95 = "-" if event.p95_ms is None else f"{event.p95_ms:.1f}"
    return (
        f"{event.phase:>8} {event.second:4d} s  threads {event.threads}  tps {event.tps:,.0f}  qps {event.qps:,.0f}  "
        f"p95 {p95} ms  conflicts/s {event.conflicts_per_s:.1f}  errors {event.errors}"
    )
