"""The command line: finds the command, runs it, and reports every failure in three lines."""

import errno
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from sandbox import __version__
from sandbox.cli.command_options import as_long_options, load
from sandbox.cli.console import as_typed
from sandbox.cli.registry import COMMANDS, guide_of
from sandbox.core import interruptions
from sandbox.core.errors import ExitCode, MachineError, SandboxError, expected

# Pydantic would read the metadata of every installed package to look for plug-ins; there are none.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

_NO_ROOM = {
    errno.ENOSPC: "no space is left",
    errno.EDQUOT: "the quota is exceeded",
    errno.EROFS: "it is read-only",
}


class Commands(TyperGroup):
    """Every file of `commands/` is a command; only the one that runs is imported."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  (Click's signature)
        """Names of all commands."""
        return COMMANDS.names()

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        """A command by its name. Raises SandboxError (exit 2) for an unknown name."""
        if ctx.resilient_parsing and cmd_name not in COMMANDS.names():  # a shell completes it
            return None
        return load(cmd_name)


app = typer.Typer(
    cls=Commands,
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"sandbox-matrix {__version__}")
        raise typer.Exit


@app.callback()
def sandbox(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Sandbox matrix for MySQL-family servers: disposable stacks, measured honestly."""


def main() -> None:
    """Runs a command; every failure ends in three lines and its exit code (docs/design.md, rule
    9).
    """
    interruptions.begin()  # a terminated runner cleans up as on Ctrl-C
    sys.exit(_run())


def _run() -> int:
    debug = bool(os.environ.get("DEBUG"))
    try:
        if sys.argv[1:] and _is_recorded(sys.argv[1]):
            sys.argv[1:] = as_long_options(sys.argv[1:])
        return int(
            app(sys.argv[1:] or ["help"], prog_name="sandbox", standalone_mode=False) or ExitCode.OK
        )
    except SandboxError as problem:
        if debug:
            raise
        return _print_error(problem)
    except KeyboardInterrupt:
        known = "what was started is shown above"
        return _print_error(
            SandboxError("interrupted", known, "try: make ps", ExitCode.INTERRUPTED)
        )
    except typer.Exit as stop:
        return stop.exit_code
    except Exception as problem:
        if debug:
            raise
        return _print_error(as_sandbox_error(problem))


def _is_recorded(word: str) -> bool:
    return word in COMMANDS.names() and guide_of(word).about.recorded


def _print_error(problem: SandboxError) -> int:
    for line in problem.lines():
        print(as_typed(line), file=sys.stderr)
    return int(problem.exit_code)


def as_sandbox_error(problem: Exception) -> SandboxError:
    """The three-line error for an exception."""
    what, known = (
        f"internal error: {type(problem).__name__}: {problem}",
        "this is a bug in the sandbox",
    )
    step = "try: the same command with DEBUG=1   (shows the traceback)"
    return (
        _usage_error(problem)
        or _unwritable(problem)
        or SandboxError(what, known, step, ExitCode.INTERNAL)
    )


def _usage_error(problem: Exception) -> SandboxError | None:
    """An error of the command line; an invalid value is reported under the name of its make
    variable.
    """
    message = getattr(problem, "format_message", None)
    if message is None:
        return None
    option = getattr(getattr(problem, "param", None), "name", None)
    of_pydantic = getattr(problem.__cause__, "errors", None)  # it validates the options
    if option and of_pydantic and (reasons := of_pydantic()[0]):
        variable = option.rstrip("_").replace("-", "_").upper()
        return SandboxError(
            f"{variable}={reasons['input']} is not valid", expected(reasons), "try: make help"
        )
    return SandboxError(message(), "options are listed by --help", "try: make help")


def _unwritable(problem: Exception) -> SandboxError | None:
    """A full or read-only disk is an environment error; what was saved before is intact."""
    if not isinstance(problem, OSError) or problem.errno not in _NO_ROOM:
        return None
    where = f" to {problem.filename}" if problem.filename else ""
    what = f"the result could not be written{where}: {_NO_ROOM[problem.errno]}"
    step = (
        "try: make snapshots   (shows what is kept; free some space, then run the same command"
        " again)"
    )
    return MachineError(what, "what was saved before is intact; a matrix resumes from there", step)
