"""Programs in the client node: our Python (JSON in, JSON out), SQL on several servers at once,
loads.
"""

import hashlib
import json
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from sandbox.core.errors import MachineError
from sandbox.stack.engine import CommandStream
from sandbox.stack.protocol import ExecResult, RunningStack, StackNode, Stream

OVERTIME_S = 30
"""Time that a load may overrun before it is terminated: a hanging server must not hang the run."""

TIMED_OUT = 124
"""Exit code of `timeout` for a command that it ended."""

_SUPERVISOR = files(__package__).joinpath("client_supervisor.sh").read_text(encoding="utf-8")
"""Ends the load when this process dies, however it dies: its input, which we hold open, ends
then.
"""


def script_argv(package: str, module: str, *arguments: str) -> list[str]:
    """Command that runs one of our modules in the client node, which has none of our files; it
    contains no secret.
    """
    source = files(package).joinpath(f"{module}.py").read_text(encoding="utf-8")
    return ["python3", "-c", source, *arguments]


def ask_script(stack: RunningStack, client: str, package: str, module: str, request: Any) -> Any:
    """Runs a shipped module with ``request`` as JSON on its input; returns its output, parsed as
    JSON.

    Raises SandboxError (exit 4) when it fails or prints something else.
    """
    return answer_of(
        stack.run(client, script_argv(package, module), stdin=json.dumps(request)), client, module
    )


def answer_of(result: ExecResult, client: str, module: str) -> Any:
    """The JSON that a shipped module printed. Raises SandboxError (exit 4) when it failed or
    printed something else.
    """
    try:
        if result.code == 0:
            return json.loads(result.stdout)
    except json.JSONDecodeError:
        pass
    last = (result.stderr or result.stdout).strip().rpartition("\n")[2]
    what = f"{module} failed in node {client} (exit code {result.code})"
    raise MachineError(what, last or "it printed nothing", f"try: make logs NODE={client}")


def folder_of(contents: Mapping[str, str]) -> str:
    """Folder of shipped files in the client node, named after its contents."""
    content = json.dumps(contents, sort_keys=True).encode()
    return f"/tmp/sandbox-{hashlib.sha256(content).hexdigest()[:16]}"  # noqa: S108  (in a container of one purpose)


def ship(stack: RunningStack, client: str, contents: Mapping[str, str]) -> None:
    """Writes files (path → text) into their folder in the client node. Raises SandboxError (exit
    4).
    """
    request = {"folder": folder_of(contents), "files": dict(contents)}
    ask_script(stack, client, "sandbox.stack.in_client", "files", request)


def run_load(
    stack: RunningStack,
    client: str,
    argv: Sequence[str],
    seconds: int,
    log: Path,
    on_line: Callable[[str], None],
    logged: Callable[[str], bool] = lambda _: True,
) -> int:
    """Runs ``argv`` in the client node; each line goes to ``on_line``, and to ``log`` where
    ``logged`` says so.

    Returns its exit code: 124 when it did not end within ``seconds`` + OVERTIME_S. An exception,
    Ctrl-C included, ends the load first.
    """
    command = ["sh", "-c", _SUPERVISOR, "load", str(seconds + OVERTIME_S), *argv]
    stream = stack.stream(client, command)
    try:
        with log.open("a", encoding="utf-8") as file:
            for line in stream.lines():
                if logged(line):
                    file.write(line + "\n")
                on_line(line)
        return stream.wait(OVERTIME_S)
    finally:
        end_stream(stream, 10)


def end_stream(stream: Stream, limit_s: float) -> None:
    """Ends a command, if it is still running, by closing its input; our side of it after
    ``limit_s`` at the latest.
    """
    stream.close_stdin()
    try:
        stream.wait(limit_s)
    except TimeoutError:
        stream.kill()


Cell = str | int | float | None
Rows = tuple[tuple[Cell, ...], ...]
Account = Literal["root", "app"]
Statement = str | tuple[str, tuple[Cell, ...]]
"""Plain SQL, or SQL with ``%s`` for each of its values."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server as the client node sees it, and the account to ask as
    (``/sandbox/<account>.cnf``).
    """

    name: str
    host: str
    port: int
    account: Account
    schema: str | None = None

    @property
    def login(self) -> dict[str, object]:
        """The login with which a program in the client node connects."""
        return {
            "name": self.name,
            "host": self.host,
            "port": self.port,
            "credentials": f"/sandbox/{self.account}.cnf",
        }


@dataclass(frozen=True, slots=True)
class QueryResult:
    """One server's answer: the rows of each statement up to the first that failed, and that
    failure.
    """

    results: tuple[Rows, ...]
    error: str | None
    error_code: int | None

    def rows(self, statement: int) -> Rows:
        """Rows of a statement by its position; empty when it was not reached."""
        return self.results[statement] if statement < len(self.results) else ()


def targets_of(nodes: Iterable[StackNode]) -> list[Target]:
    """The database servers among nodes, asked as root, or as the application where there is no
    root.
    """
    return [
        Target(node.name, node.host, node.port, "root" if node.has_container else "app")
        for node in nodes
        if node.is_server and node.port is not None
    ]


def ask(
    stack: RunningStack,
    client: str,
    targets: Sequence[Target],
    statements: Sequence[Statement],
    timeout_s: float = 10.0,
) -> dict[str, QueryResult]:
    """Runs the same statements on every target, all targets at once; answers by target name.

    A failing server gives an answer with ``error``. Raises SandboxError (exit 4) when the client
    node itself fails.
    """
    request = {
        "targets": [asdict(target) for target in targets],
        "statements": [(entry, None) if isinstance(entry, str) else entry for entry in statements],
        "timeout_s": timeout_s,
    }
    argv = script_argv("sandbox.stack.in_client", "sql")
    answered = stack.ask_session(client, argv, json.dumps(request), 2 * timeout_s + 30)
    answers = answer_of(answered, client, "sql")
    return {name: _query_result(found) for name, found in answers.items()}


def _query_result(found: Mapping[str, Any]) -> QueryResult:
    results = tuple(tuple(map(tuple, rows)) for rows in found["results"])
    return QueryResult(results, found["error"], found["error_code"])


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
        self._begin = begin
        self._guard = threading.Lock()
        self._open: _OpenSession | None = None

    def ask(self, line: str, timeout_s: float) -> ExecResult:
        """The command's answer; if it ended instead, its exit code and last output.

        TimeoutError past ``timeout_s``: this ends the command, since a late answer would be taken
        for the next one.
        """
        with self._guard:
            known = self._open
            self._open = None
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
        """Its exit code, and its last lines that were not answers."""
        return ExecResult(self._stream.wait(timeout_s) or 1, "", "\n".join(self._said))

    def _read(self) -> None:
        for line in self._stream.lines():
            if line.startswith(ANSWER):
                self._answers.put(line.removeprefix(ANSWER))
            else:
                self._said.append(line)
        self._answers.put(None)
