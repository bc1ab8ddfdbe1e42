"""Progress on standard error: in a terminal a live table of nodes or one line that moves, elsewhere
plain lines; and commands in messages, as the user can type them.
"""

import os
import re
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Self, TextIO

from sandbox.cli.command_options import options_of, positionals_of
from sandbox.cli.registry import COMMANDS
from sandbox.core.paths import IN_CHECKOUT
from sandbox.stack.protocol import Event, ImageEvent, LogTail, NodeEvent, Note

if TYPE_CHECKING:  # Pydantic's models: what only shows progress starts without them
    from rich.live import Live
    from rich.table import Table

    from sandbox.load.common.workload import Second

_VARIABLE = re.compile(r"""([A-Z][A-Z0-9_]*)=((?:'[^']*'|"[^"]*"|[^\s'"])*)""")
_MAKE = re.compile(rf"\bmake ([a-z][a-z-]*)((?: +{_VARIABLE.pattern})*)")
_BOOTSTRAP = "scripts/bootstrap"
"""Of a checkout alone; `doctor` shows what it would do."""
_ANSWER_WIDTH = 60
_STATE_WIDTH, _SECONDS_WIDTH = 8, 7
_STYLES = {"ready": "green", "here": "green", "failed": "bold red", "stopped": "dim"}
_SETTLED = ("ready", "failed", "stopped", "here")


class _Display:
    """What is live in a terminal; thread-safe. As a context manager it ends before anything else is
    printed.
    """

    def __init__(self, command: str, stream: TextIO | None = None) -> None:
        """``command`` starts every plain line: ``up``."""
        self._command, self._stream = command, stream or sys.stderr
        self._terminal = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        """Whether a line can be overwritten there."""
        self._guard = threading.RLock()
        self._live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leaves a table in its last state, removes a line that moves; safe to call again."""
        with self._guard:
            if self._live is not None:
                self._live.stop()
                self._live = None

    def _started(self, **options: Any) -> "Live":
        from rich.console import Console
        from rich.live import Live

        live = Live(console=Console(file=self._stream, highlight=False), **options)
        live.start()
        return live


class LiveLine(_Display):
    """Lines that stay, and in a terminal one that moves below them."""

    def line(self, text: str) -> None:
        """Prints a line that stays."""
        self.close()
        print(f"{self._command}  {text}", file=self._stream, flush=True)

    def move(self, text: str) -> None:
        """Shows the line that moves, as wide as the terminal less the last column, where some begin
        a new line.
        """
        from rich.text import Text

        if self._live is None:
            self._live = self._started(
                auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
            )
        self._live.update(Text(text[: self._live.console.width - 1], no_wrap=True), refresh=True)


class ProgressDisplay(_Display):
    """Shows the events of a stack: a table of its nodes and images."""

    def __init__(self, command: str, stream: TextIO | None = None) -> None:
        super().__init__(command, stream)
        self._rows: dict[str, NodeEvent | ImageEvent] = {}
        self._since: dict[str, float] = {}

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
            if self._live is None:
                self._live = self._started(get_renderable=self._table, refresh_per_second=4)
            else:
                self._live.refresh()
        elif before is None or before.state != event.state:
            print(f"{self._command}  {plain(event)}", file=self._stream, flush=True)

    def _table(self) -> "Table":
        from rich.table import Table

        table = Table(box=None, pad_edge=False, show_header=False, expand=True)
        for width in (max(map(len, self._rows)), _STATE_WIDTH, _SECONDS_WIDTH):
            table.add_column(no_wrap=True, width=width)
        # A long answer is cut, never a name.
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        now = time.monotonic()
        for name, event in list(self._rows.items()):
            seconds = event.seconds if event.state in _SETTLED else now - self._since[name]
            table.add_row(
                name,
                event.state,
                f"{seconds:5.1f} s",
                _detail(event),
                style=_STYLES.get(event.state),
            )
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


def second_text(event: "Second") -> str:
    """One second of load in one line."""
    p95 = "-" if event.p95_ms is None else f"{event.p95_ms:.1f}"
    return (
        f"{event.phase:>8} {event.second:4d} s  threads {event.threads}  tps {event.tps:,.0f}  qps"
        f" {event.qps:,.0f}  p95 {p95} ms  conflicts/s {event.conflicts_per_s:.1f}  errors"
        f" {event.errors}"
    )


def as_typed(text: str, in_checkout: bool = IN_CHECKOUT) -> str:
    """``make bench THREADS=8 JSON=1`` → ``sandbox bench --threads 8 --json`` in all of a text,
    unless in a checkout.
    """
    return text if in_checkout else _MAKE.sub(_own, text).replace(_BOOTSTRAP, "sandbox doctor")


def _own(found: re.Match[str]) -> str:
    command, typed = found[1], found[2]
    variables = typed.rstrip(",;)")  # the sentence's own
    if command not in COMMANDS.names():
        return found[0]
    flags, positionals = options_of(command), positionals_of(command)
    words, options = ["sandbox", command], []
    for name, value in _VARIABLE.findall(variables):
        option = f"--{name.lower().replace('_', '-')}"
        if name in positionals:
            words.append(value)
        else:
            options += [option] if flags.get(name) else [option, value]
    return " ".join([*words, *options]) + typed[len(variables) :]
