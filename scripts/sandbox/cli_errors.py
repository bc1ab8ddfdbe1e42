"""Unexpected exceptions of a command as three lines: a wrong option, a full disk, a bug."""

import errno
from collections.abc import Mapping
from typing import Any

from sandbox.errors import ExitCode, SandboxError, expected

_NO_ROOM = {errno.ENOSPC: "no space is left", errno.EDQUOT: "the quota is exceeded", errno.EROFS: "it is read-only"}


def as_sandbox_error(problem: Exception) -> SandboxError:
    """The three-line error for an exception."""
    return _usage_error(problem) or _unwritable(problem) or _bug(problem)


def _usage_error(problem: Exception) -> SandboxError | None:
    """An error of the command line; an invalid value is reported under the name of its make variable."""
    message = getattr(problem, "format_message", None)
    if message is None:
        return None
    option, reasons = getattr(getattr(problem, "param", None), "name", None), _reasons(problem.__cause__)
    if option and reasons:
        variable = option.rstrip("_").replace("-", "_").upper()
        return SandboxError(f"{variable}={reasons['input']} is not valid", expected(reasons), "try: make help")
    return SandboxError(message(), "options are listed by --help", "try: make help")


def _reasons(cause: BaseException | None) -> Mapping[str, Any] | None:
    """The first error of Pydantic, which validates the options."""
    errors = getattr(cause, "errors", None)
    return errors()[0] if errors else None


def _unwritable(problem: Exception) -> SandboxError | None:
    """A full or read-only disk is an environment error; what was saved before is intact."""
    if not isinstance(problem, OSError) or problem.errno not in _NO_ROOM:
        return None
    where = f" to {problem.filename}" if problem.filename else ""
    return SandboxError(
        f"the result could not be written{where}: {_NO_ROOM[problem.errno]}",
        "what was saved before is intact; a matrix resumes from there",
        "try: make snapshots   (shows what is kept; free some space, then run the same command again)",
        ExitCode.ENVIRONMENT,
    )


def _bug(problem: Exception) -> SandboxError:
    return SandboxError(
        f"internal error: {type(problem).__name__}: {problem}",
        "this is a bug in the sandbox",
        "try: the same command with DEBUG=1   (shows the traceback)",
        ExitCode.INTERNAL,
    )
