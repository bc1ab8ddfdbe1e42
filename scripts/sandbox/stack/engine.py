"""The only access to the engine: the user's own `docker` client as a subprocess; failures are
three-line errors.

The client instead of a library, because contexts, Docker Desktop and ssh hosts then work exactly as
in the user's own `docker`; python-on-whales costs 0.39 s of import before the first progress line
and hides what we need: a Compose file on standard input, a streaming exec, separate process groups.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, TypeVar

from sandbox.core.errors import ExitCode, MachineError
from sandbox.stack.asked_ahead import start_client, taken
from sandbox.stack.protocol import ExecResult, Stream

Feed = bytes | Callable[[], bytes]
Begun = TypeVar("Begun", "Pending", "CommandStream")
ANSWER_LIMIT_S = 120.0
"""Far more than anything takes that an engine does to one node."""
_PATIENCE_S = 5.0
"""Time that a client may take to end on request before it is killed."""


class Pending:
    """A running client command in its own process group: Ctrl-C in the terminal reaches only us."""

    def __init__(
        self, argv: Sequence[str], process: "subprocess.Popen[str]", stdin: str | None
    ) -> None:
        self.argv = argv
        self._process = process
        self._stdin = stdin

    def answer(self, timeout_s: float | None = None) -> ExecResult:
        """Waits for the end. TimeoutError past ``timeout_s``; this ends the client, as does
        Ctrl-C.
        """
        try:
            stdout, stderr = self._process.communicate(self._stdin, timeout_s)
        except subprocess.TimeoutExpired as late:
            self.kill()
            raise TimeoutError(f"docker {self.argv[0]} did not end within {timeout_s} s") from late
        except BaseException:
            self.kill()
            raise
        return ExecResult(self._process.returncode, stdout, stderr)

    def answer_within(self, timeout_s: float) -> ExecResult:
        """Like `answer`, but one that comes too late is a failure like any other, with exit code
        124.
        """
        try:
            return self.answer(timeout_s)
        except TimeoutError as late:
            return ExecResult(124, "", str(late))

    def output(self, timeout_s: float | None = None) -> str:
        """Standard output. Raises SandboxError (exit 4) where the command failed."""
        answer = self.answer(timeout_s)
        if answer.code:
            raise RefusedError(self.argv, answer)
        return answer.stdout

    def kill(self) -> None:
        """Asks the client and its plugins to stop, then kills them. Harmless when repeated."""
        _end_group(self._process)


class CommandStream(Stream):
    """A running command whose output and errors come as one stream of lines, as they arrive."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def lines(self) -> Iterator[str]:
        for line in self._process.stdout or ():
            yield line.rstrip("\n")

    def text(self) -> str:
        """The output until it ends."""
        return self._process.communicate()[0]

    def send(self, line: str) -> None:
        if self._process.stdin:
            with suppress(BrokenPipeError):
                self._process.stdin.write(line + "\n")
                self._process.stdin.flush()

    def close_stdin(self) -> None:
        if self._process.stdin:
            with suppress(BrokenPipeError):
                self._process.stdin.close()

    def wait(self, timeout_s: float | None = None) -> int:
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired as late:
            raise TimeoutError(f"still running after {timeout_s} s") from late

    def kill(self) -> None:
        _end_group(self._process)


def begin_stream(
    argv: Sequence[str], stdin: bool = False, variables: Mapping[str, str] | None = None
) -> CommandStream:
    """Starts a command of this machine; ``stdin``: its input is a pipe. ``variables``: environment
    besides ours.
    """
    source = subprocess.PIPE if stdin else subprocess.DEVNULL
    environment = {**os.environ, **(variables or {})}
    return CommandStream(
        _popen(
            argv, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
        )
    )


class CommandGroup:
    """Commands that threads begin: only the main thread gets an interrupt, so every one that has
    begun is recorded.
    """

    def __init__(self) -> None:
        self._begun: list[Pending | CommandStream] = []
        self._closed = False
        self._guard = threading.Lock()

    def begin(self, begin: Callable[[], Begun]) -> Begun | None:
        """A command; None where the group was closed before."""
        with self._guard:
            if self._closed:
                return None
            self._begun.append(begun := begin())
        return begun

    def close(self, end_begun: bool = True) -> None:
        """Begins no more commands; ``end_begun``: ends those that are running."""
        with self._guard:
            self._closed = True
        for each in self._begun if end_begun else ():
            each.kill()


_KNOWN_PROBLEMS = (
    (
        ("permission denied while trying to connect",),
        "this user has no permission to access the Docker engine",
        None,
        'try: sudo usermod -aG docker "$USER"   (then log in again)',
    ),
    (
        (
            "Cannot connect to the Docker daemon",
            "error during connect",
            "Is the docker daemon running",
            "failed to connect to the docker API",
        ),
        "the Docker engine does not answer",
        None,
        "try: make doctor",
    ),
    (
        (
            "is not a docker command",
            "unknown command: docker compose",
            "unknown shorthand flag: 'p'",
        ),
        "this docker client has no Compose v2",
        "2.23.1 or newer is required",
        "try: scripts/bootstrap   (installs the plugin)",
    ),
)
"""The client's words → what is wrong, what would be right (None: the client's last line), the next
step.
"""


class RefusedError(MachineError):
    """A client command that failed, with its words and answer."""

    def __init__(self, argv: Sequence[str], answer: ExecResult) -> None:
        text = answer.stderr.strip() or answer.stdout.strip()
        last = text.rpartition("\n")[2] or f"exit code {answer.code}"
        failed = f"docker {argv[0]} failed with exit code {answer.code}"
        lines = (failed, last, "try: make doctor")
        for signs, what, known, next_step in _KNOWN_PROBLEMS:
            if any(sign in text for sign in signs):
                lines = (what, known or last, next_step)
                break
        super().__init__(*lines)
        self.argv = argv
        self.answer = answer


class Docker:
    """The engine that the user's `docker` talks to."""

    def begin(self, *argv: str, stdin: str | None = None, pass_fds: Sequence[int] = ()) -> Pending:
        """Starts a command whose output is captured."""
        if asked := taken(argv):
            return Pending(argv, asked, stdin)
        source = subprocess.DEVNULL if stdin is None else subprocess.PIPE
        pipes = {"stdin": source, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return Pending(argv, _popen(["docker", *argv], pass_fds=pass_fds, **pipes), stdin)

    def answer(
        self, *argv: str, stdin: str | None = None, timeout_s: float | None = None
    ) -> ExecResult:
        """Runs a command to its end, whatever its exit code. TimeoutError past ``timeout_s``."""
        return self.begin(*argv, stdin=stdin).answer(timeout_s)

    def ask(self, *argv: str, stdin: str | None = None, timeout_s: float | None = None) -> str:
        """Standard output of a command. Raises SandboxError (exit 4) where it fails."""
        return self.begin(*argv, stdin=stdin).output(timeout_s)

    def into(self, file: IO[bytes], *argv: str, with_errors: bool = False) -> ExecResult:
        """Runs a command to its end; its output goes to a file, byte by byte. ``with_errors``:
        standard error too.
        """
        errors = subprocess.STDOUT if with_errors else subprocess.PIPE
        process = _popen(["docker", *argv], stdin=subprocess.DEVNULL, stdout=file, stderr=errors)
        return Pending(argv, process, None).answer()

    def stream(self, *argv: str, stdin: bool = False) -> CommandStream:
        """Starts a command that is read line by line; ``stdin``: its input is a pipe."""
        return begin_stream(["docker", *argv], stdin)

    def hand_over(self, *argv: str, feed: Feed | None = None) -> int:
        """Gives the terminal (or our input and output) to a command; Ctrl-C goes to the command
        until it ends.

        ``feed``: its input instead of ours; asked for once the command has begun. Returns its exit
        code; 130 after a Ctrl-C, for which the client has 0.
        """
        interrupts: list[int] = []
        # A handler, since a child would inherit SIG_IGN.
        before = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
        source = None if feed is None else subprocess.PIPE
        try:
            process = _popen(["docker", *argv], process_group=None, stdin=source)
            if process.stdin and feed is not None:
                _feed(process, process.stdin, feed)
            code = process.wait()
            return int(ExitCode.INTERRUPTED) if interrupts else code
        finally:
            signal.signal(signal.SIGINT, before)


class PatientDocker(Docker):
    """An engine that is waited for no longer than a limit: past it, MachineError. A caller's own
    limit comes first.
    """

    def __init__(self, docker: Docker, limit_s: float = ANSWER_LIMIT_S) -> None:
        self._docker = docker
        self._limit_s = limit_s

    def begin(self, *argv: str, stdin: str | None = None, pass_fds: Sequence[int] = ()) -> Pending:
        return self._docker.begin(*argv, stdin=stdin, pass_fds=pass_fds)

    def answer(
        self, *argv: str, stdin: str | None = None, timeout_s: float | None = None
    ) -> ExecResult:
        try:
            return self._docker.answer(*argv, stdin=stdin, timeout_s=timeout_s or self._limit_s)
        except TimeoutError as late:
            if timeout_s:
                raise
            what = f"docker {argv[0]} does not end"
            known = f"the engine did not answer within {self._limit_s:g} s"
            raise MachineError(what, known, "try: make doctor") from late

    def ask(self, *argv: str, stdin: str | None = None, timeout_s: float | None = None) -> str:
        answer = self.answer(*argv, stdin=stdin, timeout_s=timeout_s)
        if answer.code:
            raise RefusedError(argv, answer)
        return answer.stdout


def _feed(process: "subprocess.Popen[str]", pipe: "IO[str]", feed: Feed) -> None:
    """Writes bytes and closes; the reader may end before it has read them all, and ends if there
    are none.
    """
    try:
        content = feed if isinstance(feed, bytes) else feed()
    except BaseException:
        process.kill()
        process.wait()
        raise
    with suppress(BrokenPipeError):
        pipe.buffer.write(content)  # type: ignore[attr-defined]
    with suppress(BrokenPipeError):
        pipe.close()


def _popen(
    argv: Sequence[str], process_group: int | None = 0, **options: object
) -> "subprocess.Popen[str]":
    try:
        return start_client(argv, process_group, **options)
    except FileNotFoundError as missing:
        if argv[0] != "docker":
            raise
        raise MachineError(
            "there is no docker client on this machine",
            "Docker Engine 20.10 or newer is required",
            "try: scripts/bootstrap   (make doctor shows what else is missing)",
        ) from missing


def _end_group(process: "subprocess.Popen[str]") -> None:
    """Ends a process that leads a group: SIGTERM first, SIGKILL when that does not help."""
    if process.poll() is not None:
        return
    for number, patience in ((signal.SIGTERM, _PATIENCE_S), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience)
            return
