"""Progress of a measurement on standard error; in a terminal, one line that is overwritten."""

import os
import sys
from typing import TextIO

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
