"""What a command raises and nobody foresaw, as three lines: a wrong option, a disk that is full, a bug."""

import errno
from collections.abc import Mapping
from typing import Any

from sandbox.errors import ExitCode, SandboxError, expected

_NO_ROOM = {errno.ENOSPC: "no space is left", errno.EDQUOT: "the quota is used up", errno.EROFS: "it is read-only"}


def as_sandbox_error(problem: Exception) -> SandboxError:
    """The problem as every command tells it."""
    return _usage_error(problem) or _unwritable(problem) or _bug(problem)


def _usage_error(problem: Exception) -> SandboxError | None:
    """What the command line refuses; a value that an option cannot take, in the words of make's variables."""
    message = getattr(problem, "format_message", None)
    if message is None:
        return None
    option, reasons = getattr(getattr(problem, "param", None), "name", None), _reasons(problem.__cause__)
    if option and reasons:
        variable = option.rstrip("_").replace("-", "_").upper()
        return SandboxError(f"{variable}={reasons['input']} cannot be used", expected(reasons), "try: make help")
    return SandboxError(message(), "options are listed by --help", "try: make help")


def _reasons(cause: BaseException | None) -> Mapping[str, Any] | None:
    """What Pydantic says, who validates the options."""
    errors = getattr(cause, "errors", None)
    return errors()[0] if errors else None


def _unwritable(problem: Exception) -> SandboxError | None:
    """A disk that takes nothing more is trouble of the environment; what was written before is whole."""
    if not isinstance(problem, OSError) or problem.errno not in _NO_ROOM:
        return None
    where = f" to {problem.filename}" if problem.filename else ""
    return SandboxError(
        f"the result could not be written{where}: {_NO_ROOM[problem.errno]}",
        "what was saved before can be read; a matrix goes on from there",
        "make room (make snapshots shows what is kept); then the same command again",
        ExitCode.ENVIRONMENT,
    )


def _bug(problem: Exception) -> SandboxError:
    return SandboxError(
        f"internal error: {type(problem).__name__}: {problem}",
        "this is a bug of the sandbox",
        "again with DEBUG=1 for the traceback",
        ExitCode.INTERNAL,
    )
