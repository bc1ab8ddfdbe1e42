"""Progress of a measurement on standard error: in a terminal one line that moves, elsewhere one line per event."""

import os
import sys
from collections.abc import Iterable
from typing import TextIO

from sandbox.experiment.runner import Advance, MatrixEvent, MoreBlocks
from sandbox.report.matrix_view import duration
from sandbox.workloads.common.model import Event, Progress, Second


class LiveLine:
    """Prints events on standard error: in a terminal the seconds overwrite one line, elsewhere each has its own."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._open = False

    def __call__(self, event: Event) -> None:
        """Shows one event."""
        if isinstance(event, Progress):
            self._close()
            text = event.step if event.text == "begins" else f"{event.step}: {event.text}"
            print(f"bench  {text}", file=sys.stderr, flush=True)
            return
        text = second_text(event)
        if self._terminal:
            print(f"\r{fitted(text, sys.stderr)}", end="", file=sys.stderr, flush=True)
            self._open = True
        else:
            print(text, file=sys.stderr, flush=True)

    def _close(self) -> None:
        if self._open:
            print(file=sys.stderr)
            self._open = False


def fitted(text: str, stream: TextIO) -> str:
    """A line that moves, as wide as the stream's terminal less the last column, where some begin a new line."""
    try:
        width = os.get_terminal_size(stream.fileno()).columns - 1
    except (OSError, ValueError):
        width = 79
    return f"{text[:width]:<{width}}"


def second_text(event: Second) -> str:
    """One second of load in one line."""
    p95 = "-" if event.p95_ms is None else f"{event.p95_ms:.1f}"
    return (
        f"{event.phase:>8} {event.second:4d} s  threads {event.threads}  tps {event.tps:,.0f}  qps {event.qps:,.0f}  "
        f"p95 {p95} ms  conflicts/s {event.conflicts_per_s:.1f}  errors {event.errors}"
    )


_SHOWN_STEPS = ("start", "host check")
"""The steps of a run that are shown; the others take a moment."""


class MatrixLine:
    """Shows events as they come."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._open = False
        self._head = ""

    def __call__(self, event: MatrixEvent) -> None:
        """Shows one event."""
        if isinstance(event, Advance):
            self._head = _advance_text(event)
            self._moving(self._head) if self._terminal else self.line(self._head)
        elif isinstance(event, MoreBlocks):
            took = f"about {duration(event.seconds)}"
            self.line(f"inconclusive after {event.so_far} blocks: {event.more} more on the same stacks, {took}")
        elif isinstance(event, Second) and self._terminal:
            self._moving(f"{self._head.partition('  left')[0]}  {second_text(event).strip()}")
        elif isinstance(event, Progress) and event.step in _SHOWN_STEPS:
            self.line(f"{event.step}  {event.text}")

    def plan(self, lines: Iterable[str]) -> None:
        """Prints what is about to run, as PLAN=1 shows it."""
        print("\n".join(lines), file=self._stream, flush=True)

    def line(self, text: str) -> None:
        """Prints a line that stays."""
        self.close()
        print(f"matrix  {text}", file=self._stream, flush=True)

    def close(self) -> None:
        """Ends the line that is overwritten."""
        if self._open:
            print(file=self._stream)
            self._open = False

    def _moving(self, text: str) -> None:
        print(f"\r{fitted(text, self._stream)}", end="", file=self._stream, flush=True)
        self._open = True


def _advance_text(event: Advance) -> str:
    left = f"  left about {duration(event.left_s)}" if event.left_s is not None else ""
    return f"{event.done + 1}/{event.runs}  block {event.next.block}/{event.blocks}  {event.next.cell}{left}"
