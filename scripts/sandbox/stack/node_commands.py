"""Commands that keep running in a node: one whose lines are read as they arrive, and one that answers lines.

The latter because starting Python there costs a third of a second.
"""

import queue
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from sandbox.stack.engine import end_group
from sandbox.stack.protocol import ExecResult

ANSWER = "\x1e"
"""Start of an answer, to distinguish it from a warning or an error. Source: RFC 7464, JSON text sequences."""
_REMEMBERED = 20


class ExecStream:
    """A command running in a node."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def lines(self) -> Iterator[str]:
        """Lines as they arrive, standard output and error in one, without line ends; ends with the command."""
        assert self._process.stdout is not None  # noqa: S101  (opened as a pipe by Docker.stream)
        for line in self._process.stdout:
            yield line.rstrip("\n")

    def send(self, line: str) -> None:
        """Sends a line of input to the command; lost where the command has ended."""
        if self._process.stdin:
            with suppress(BrokenPipeError):
                self._process.stdin.write(line + "\n")
                self._process.stdin.flush()

    def close_stdin(self) -> None:
        """Ends the command's input; harmless when repeated."""
        if self._process.stdin:
            with suppress(BrokenPipeError):
                self._process.stdin.close()

    def wait(self, timeout_s: float) -> int:
        """Exit code of the command; TimeoutError when it is still running after ``timeout_s``."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired as late:
            raise TimeoutError(f"still running after {timeout_s} s") from late

    def kill(self) -> None:
        """Ends our side of the connection; the caller must end what runs in the node. Harmless when repeated."""
        end_group(self._process)


class SqlSessions:
    """The SQL sessions of one stack, by command. Each ends with its container, or with its input when we exit."""

    def __init__(self, begin: Callable[[str, Sequence[str]], "subprocess.Popen[str]"]) -> None:
        """``begin`` starts a command in a node, with one pipe for its input and one for its output and errors."""
        self._begin = begin
        self._open: dict[tuple[str, ...], _SqlSession] = {}
        self._guard = threading.Lock()
        self._guards: dict[tuple[str, ...], threading.Lock] = {}
        """One per command: several nodes can be asked at once."""

    def ask(self, node: str, argv: Sequence[str], line: str, timeout_s: float) -> ExecResult:
        """The command's answer; if it ended instead, its exit code and last output.

        TimeoutError past ``timeout_s``: this ends the command, since a late answer would be taken for the next one.
        """
        key = (node, *argv)
        with self._guard:
            guard = self._guards.setdefault(key, threading.Lock())
        with guard:
            known = self._open.pop(key, None)
            answer = known.ask(line, timeout_s) if known else None
            if known is None or answer is None:  # never started, or ended since: its node was restarted
                known = _SqlSession(self._begin(node, argv))
                answer = known.ask(line, timeout_s)
            if answer is None:
                return known.ended(timeout_s)
            self._open[key] = known
            return ExecResult(0, answer, "")


class _SqlSession:
    """One running command."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._said: deque[str] = deque(maxlen=_REMEMBERED)
        reading = (process, self._answers, self._said)
        threading.Thread(target=_read, args=reading, name="SQL session", daemon=True).start()

    def ask(self, line: str, timeout_s: float) -> str | None:
        """The answer; None where the command has ended. TimeoutError, which ends the command."""
        try:
            if self._process.stdin:
                self._process.stdin.write(line + "\n")
                self._process.stdin.flush()
            return self._answers.get(timeout=timeout_s)
        except BrokenPipeError:
            return None
        except queue.Empty:
            end_group(self._process)
            raise TimeoutError(f"no answer within {timeout_s} s") from None

    def ended(self, timeout_s: float) -> ExecResult:
        """How it ended, and its last lines that were not answers."""
        return ExecResult(self._process.wait(timeout_s) or 1, "", "\n".join(self._said))


def _read(process: "subprocess.Popen[str]", answers: "queue.SimpleQueue[str | None]", said: "deque[str]") -> None:
    for line in process.stdout or ():
        if line.startswith(ANSWER):
            answers.put(line.removeprefix(ANSWER).rstrip("\n"))
        else:
            said.append(line.rstrip("\n"))
    answers.put(None)
