"""What runs in the client node: Python of ours, JSON in, JSON out; a load, until it is done or its
time is over.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from sandbox.core.errors import MachineError
from sandbox.stack.protocol import ExecResult, RunningStack, Stream

OVERTIME_S = 30
"""How long a load may overrun before it is terminated: a hanging server must not hang the run."""

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
