"""From make to a command: the variables of one make command line become the long options of the command line's own."""

import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from sandbox import registry
from sandbox.errors import SandboxError, did_you_mean

CHECKS = {"lint": "lint", "test": "test", "test-unit": "unit", "test-long": "long", "perf": "perf"}
ENVIRONMENT = ("DEBUG", "NO_COLOR")
FLAG_WORDS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}

Options = Mapping[str, bool]
"""Make variable → whether its option is a flag."""


def decode(encoded: str) -> dict[str, str]:
    """Name → value, from make's MAKEOVERRIDES.

    There, words are separated by blanks; inside a word a backslash stands before each blank and backslash, and
    each ``$`` is doubled (``quote_for_env`` in GNU make, 3.81 to 4.4).
    """
    variables = {}
    for word in re.findall(r"(?:\\.|[^\\ \t])+", encoded, re.DOTALL):
        name, _, value = re.sub(r"\\(.)|(\$)\$", r"\1\2", word, flags=re.DOTALL).partition("=")
        variables[name.rstrip(":")] = value
    return variables


def variable_of(option: str) -> str:
    """``--json`` → ``JSON``, ``--dry-run`` → ``DRY_RUN``."""
    return option.removeprefix("--").replace("-", "_").upper()


def is_on(name: str, value: str) -> bool:
    """A flag's value; empty is off.

    Raises SandboxError (exit 2) for a word that is neither yes nor no.
    """
    word = value.strip().lower() or "0"
    if word not in FLAG_WORDS:
        raise SandboxError(f"{name}={value} is neither yes nor no", f"known: {', '.join(FLAG_WORDS)}", f"try: {name}=1")
    return FLAG_WORDS[word]


def take_environment(variables: dict[str, str]) -> None:
    """Moves DEBUG and NO_COLOR, which are no options, into the environment; given as off, they leave it."""
    for name in ENVIRONMENT:
        if name in variables:
            os.environ.pop(name, None)
            if is_on(name, variables.pop(name)):
                os.environ[name] = "1"


def refuse_unknown(variables: Iterable[str], known: Iterable[str], goals: list[str]) -> None:
    """Raises SandboxError (exit 2) for a variable that no goal of this make has."""
    choices = {*known, *ENVIRONMENT}
    for name in variables:
        if name not in choices:
            raise SandboxError(
                f"{name} is not a variable of make {' '.join(goals)}",
                did_you_mean(name.upper(), choices),
                "try: make help",
            )


def note_unread(command: str, options: Iterable[str], variables: Mapping[str, str]) -> None:
    """Says which variables of the environment are ignored: make takes those of its command line alone.

    NAME is left out, since some systems export it for everybody.
    """
    for name in sorted({*options} - {*variables, "NAME"}):
        if value := os.environ.get(name):
            text = f"note: {name}={value} in the environment is ignored; try: make {command} {name}={value}"
            print(text, file=sys.stderr)


def refuse_unknown_goals(goals: Iterable[str], commands: Iterable[str]) -> None:
    """Raises SandboxError (exit 2) for a goal that is no command."""
    choices = list(commands)
    for goal in goals:
        if goal not in choices:
            raise SandboxError(f"make {goal} does not exist", did_you_mean(goal, choices), "try: make help")


def arguments(options: Options, variables: Mapping[str, str]) -> list[str]:
    """Long options for the variables that the command has; an empty value is as good as none."""
    given = []
    for name, value in variables.items():
        option = f"--{name.replace('_', '-').lower()}"
        if options.get(name):
            given += [option] if is_on(name, value) else []
        elif name in options and value:
            given.append(f"{option}={value}")
    return given


def options_of(command: str) -> Options:
    """The make variables of a command, from the command itself."""
    from typer.core import TyperOption

    return {
        variable_of(option.opts[0]): bool(option.is_flag)
        for option in registry.load(command).params
        if isinstance(option, TyperOption)
    }


def run_check(command: str) -> None:
    """Becomes scripts/check, which knows neither variables nor this interpreter."""
    script = Path(__file__).parents[1] / "check"
    os.execv(script, [str(script), CHECKS[command]])  # noqa: S606  (no shell is wanted)


def prepare(command: str | None) -> None:
    """Checks goals and variables of this make, then leaves the command's arguments in ``sys.argv``."""
    variables = decode(os.environ.pop("SANDBOX_VARIABLES", ""))
    goals = os.environ.pop("SANDBOX_GOALS", "").split() or [command or ""]
    refuse_unknown_goals(goals, [*registry.names(), *CHECKS])
    known = {goal: options_of(goal) for goal in {*goals, command or ""} & {*registry.names()}}
    refuse_unknown(variables, (name for goal in goals for name in known.get(goal, ())), goals)
    take_environment(variables)
    note_unread(command or "", known.get(command or "", ()), variables)
    sys.argv = ["sandbox", command or "", *arguments(known.get(command or "", {}), variables)]


def main() -> None:
    """Runs the command that make's target names; a refusal is three lines and exit code 2."""
    command = sys.argv[1] if len(sys.argv) > 1 else None
    try:
        prepare(command)
    except SandboxError as problem:
        print("\n".join(problem.lines()), file=sys.stderr)
        sys.exit(int(problem.exit_code))
    if command in CHECKS:
        run_check(command)
    from sandbox.cli import main as run_command

    run_command()


if __name__ == "__main__":
    main()
