"""A command that stays open in a node and answers one SQL statement a line."""

import queue
import threading
from collections import deque
from collections.abc import Callable

from sandbox.stack.engine import CommandStream
from sandbox.stack.protocol import ExecResult

ANSWER = "\x1e"
"""Start of an answer, to distinguish it from a warning or an error. Source: RFC 7464, JSON text
sequences.
"""
_REMEMBERED = 20
"""Last lines of a command that are kept for when it fails."""


class SqlSession:
    """A command in a node that answers lines: to start Python for each would cost a third of a
    second.

    It ends with its container, or with its input when we exit.
    """

    def __init__(self, begin: Callable[[], CommandStream]) -> None:
        """``begin`` starts the command, with a pipe for its input."""
        self._begin, self._guard = begin, threading.Lock()
        self._open: _OpenSession | None = None

    def ask(self, line: str, timeout_s: float) -> ExecResult:
        """The command's answer; if it ended instead, its exit code and last output.

        TimeoutError past ``timeout_s``: this ends the command, since a late answer would be taken
        for the next one.
        """
        with self._guard:
            known, self._open = self._open, None
            answer = known.ask(line, timeout_s) if known else None
            # Never started, or ended since: its node was restarted.
            if known is None or answer is None:
                known = _OpenSession(self._begin())
                answer = known.ask(line, timeout_s)
            if answer is None:
                return known.ended(timeout_s)
            self._open = known
            return ExecResult(0, answer, "")


class _OpenSession:
    """One running command."""

    def __init__(self, stream: CommandStream) -> None:
        self._stream = stream
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._said: deque[str] = deque(maxlen=_REMEMBERED)
        threading.Thread(target=self._read, name="SQL session", daemon=True).start()

    def ask(self, line: str, timeout_s: float) -> str | None:
        """The answer; None where the command has ended. TimeoutError, which ends the command."""
        self._stream.send(line)
        try:
            return self._answers.get(timeout=timeout_s)
        except queue.Empty:
            self._stream.kill()
            raise TimeoutError(f"no answer within {timeout_s} s") from None

    def ended(self, timeout_s: float) -> ExecResult:
        """How it ended, and its last lines that were not answers."""
        return ExecResult(self._stream.wait(timeout_s) or 1, "", "\n".join(self._said))

    def _read(self) -> None:
        for line in self._stream.lines():
            if line.startswith(ANSWER):
                self._answers.put(line.removeprefix(ANSWER))
            else:
                self._said.append(line)
        self._answers.put(None)
