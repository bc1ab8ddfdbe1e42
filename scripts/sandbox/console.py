"""Progress on standard error: a live table of nodes in a terminal, else one plain line per state change."""

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Self, TextIO

from sandbox.registry import as_typed
from sandbox.stack.protocol import Event, ImageEvent, LogTail, NodeEvent, Note

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

_ANSWER_WIDTH = 60
_STATE_WIDTH, _SECONDS_WIDTH = 8, 7
_STYLES = {"ready": "green", "here": "green", "failed": "bold red", "stopped": "dim"}
_SETTLED = ("ready", "failed", "stopped", "here")


def is_terminal(stream: TextIO) -> bool:
    """Whether a line can be overwritten there."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class ProgressDisplay:
    """Shows events; thread-safe. As a context manager it ends the live table before anything else is printed."""

    def __init__(self, command: str, stream: TextIO | None = None) -> None:
        """``command`` starts every plain line: ``up``. The first line is printed at once."""
        self._command, self._stream = command, stream or sys.stderr
        self._terminal = is_terminal(self._stream)
        self._guard = threading.RLock()
        self._rows: dict[str, NodeEvent | ImageEvent] = {}
        self._since: dict[str, float] = {}
        self._live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leaves the table in its last state; safe to call again."""
        with self._guard:
            if self._live is not None:
                self._live.stop()
                self._live = None

    def __call__(self, event: Event) -> None:
        """Shows one event."""
        with self._guard:
            if isinstance(event, Note):
                self.line(event.text)
            elif isinstance(event, LogTail):
                self.close()
                self._stream.writelines(f"{event.node} | {text}\n" for text in event.lines)
                self._stream.flush()
            else:
                self._show_row(event)

    def line(self, text: str) -> None:
        """Prints a line, above the table if there is one."""
        with self._guard:
            if self._live is not None:
                self._live.console.print(as_typed(text), markup=False, highlight=False)
            else:
                print(f"{self._command}  {as_typed(text)}", file=self._stream, flush=True)

    def _show_row(self, event: NodeEvent | ImageEvent) -> None:
        name = _name(event)
        before = self._rows.get(name)
        self._rows[name] = event
        self._since[name] = time.monotonic() - event.seconds
        if self._terminal:
            self._show_table()
        elif before is None or before.state != event.state:
            print(f"{self._command}  {plain(event)}", file=self._stream, flush=True)

    def _show_table(self) -> None:
        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            console = Console(file=self._stream, highlight=False)
            self._live = Live(console=console, get_renderable=self._table, refresh_per_second=4)
            self._live.start()
        else:
            self._live.refresh()

    def _table(self) -> "Table":
        from rich.table import Table

        table = Table(box=None, pad_edge=False, show_header=False, expand=True)
        for width in (max(map(len, self._rows)), _STATE_WIDTH, _SECONDS_WIDTH):
            table.add_column(no_wrap=True, width=width)
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)  # a long answer is cut, never a name
        now = time.monotonic()
        for name, event in list(self._rows.items()):
            seconds = event.seconds if event.state in _SETTLED else now - self._since[name]
            table.add_row(name, event.state, f"{seconds:5.1f} s", _detail(event), style=_STYLES.get(event.state))
        return table


def plain(event: NodeEvent | ImageEvent) -> str:
    """One event as a line of text: ``galera1  ready  7.9 s  3,Primary,4``."""
    seconds = f"{event.seconds:.1f} s" if event.seconds else ""
    parts = (f"{_name(event):<12}", f"{event.state:<{_STATE_WIDTH}}", seconds, _detail(event))
    return "  ".join(part for part in parts if part).rstrip()


def _name(event: NodeEvent | ImageEvent) -> str:
    return event.node if isinstance(event, NodeEvent) else event.reference


def _detail(event: NodeEvent | ImageEvent) -> str:
    text = event.answer if isinstance(event, NodeEvent) else event.detail
    return text if len(text) <= _ANSWER_WIDTH else f"{text[: _ANSWER_WIDTH - 1]}…"
