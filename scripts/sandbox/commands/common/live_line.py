"""Progress of a measurement on standard error; in a terminal, one line that is overwritten."""

import shutil
import sys

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
            print(f"\r{fitted(text)}", end="", file=sys.stderr, flush=True)
            self._open = True
        else:
            print(text, file=sys.stderr, flush=True)

    def _close(self) -> None:
        if self._open:
            print(file=sys.stderr)
            self._open = False


def fitted(text: str) -> str:
    """A line to overwrite, as wide as the terminal minus its last column, where some terminals wrap."""
    width = shutil.get_terminal_size((99, 24)).columns - 1
    return f"{text[:width]:<{width}}"


def second_text(event: Second) -> str:
    """One second of load in one line."""
    p95 = "-" if event.p95_ms is None else f"{event.p95_ms:.1f}"
    return (
        f"{event.phase:>8} {event.second:4d} s  threads {event.threads}  tps {event.tps:,.0f}  qps {event.qps:,.0f}  "
        f"p95 {p95} ms  conflicts/s {event.conflicts_per_s:.1f}  errors {event.errors}"
    )
