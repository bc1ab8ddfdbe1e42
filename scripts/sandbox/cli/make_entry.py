"""From make to a command: the variables of a make command line become the long options of the
command.
"""

import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from sandbox.cli.registry import COMMANDS, guide_of
from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.stack.asked_ahead import INFO, LOCAL_IMAGES, ask_ahead

CHECKS = {"lint": "lint", "test": "test", "test-unit": "unit", "test-long": "long", "perf": "perf"}
ENVIRONMENT = ("DEBUG", "NO_COLOR")
OF_EVERY_USER = ("NAME", "USER")
FLAG_WORDS = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}

Options = Mapping[str, bool]
"""Make variable → whether its option is a flag."""


def decode(encoded: str) -> dict[str, str]:
    """Name → value, from make's MAKEOVERRIDES.

    Words are separated by blanks there; inside a word each blank and backslash is escaped with a
    backslash, and each ``$`` is doubled (``quote_for_env`` in GNU make, 3.81 to 4.4).
    """
    variables = {}
    for word in re.findall(r"(?:\\.|[^\\ \t])+", encoded, re.DOTALL):
        name, _, value = re.sub(r"\\(.)|(\$)\$", r"\1\2", word, flags=re.DOTALL).partition("=")
        variables[name.rstrip(":")] = value
    return variables


def is_on(name: str, value: str) -> bool:
    """A flag's value; empty is off.

    Raises SandboxError (exit 2) for a word that is neither yes nor no.
    """
    word = value.strip().lower() or "0"
    if word not in FLAG_WORDS:
        raise SandboxError(
            f"{name}={value} is neither yes nor no",
            f"known: {', '.join(FLAG_WORDS)}",
            f"try: {name}=1",
        )
    return FLAG_WORDS[word]


def take_environment(variables: dict[str, str]) -> None:
    """Moves DEBUG and NO_COLOR, which are not options, into the environment; a value of off removes
    them there.
    """
    for name in ENVIRONMENT:
        if name in variables:
            os.environ.pop(name, None)
            if is_on(name, variables.pop(name)):
                os.environ[name] = "1"


def refuse_unknown(variables: Iterable[str], known: Iterable[str], goals: list[str]) -> None:
    """Raises SandboxError (exit 2) for a variable that no goal of this make takes."""
    choices = {*known, *ENVIRONMENT}
    for name in variables:
        if name not in choices:
            what = f"{name} is not a variable of make {' '.join(goals)}"
            raise SandboxError(what, did_you_mean(name.upper(), choices), "try: make help")


def note_unread(command: str, options: Iterable[str], variables: Mapping[str, str]) -> None:
    """Reports which environment variables are ignored: only those on make's command line count.

    Those that systems export for every user are left out.
    """
    for name in sorted({*options} - {*variables, *OF_EVERY_USER}):
        if value := os.environ.get(name):
            text = (
                f"note: {name}={value} in the environment is ignored; try: make {command}"
                f" {name}={value}"
            )
            print(text, file=sys.stderr)


def arguments(options: Options, variables: Mapping[str, str]) -> list[str]:
    """Long options for the variables that the command takes; an empty value counts as none."""
    given = []
    for name, value in variables.items():
        option = f"--{name.replace('_', '-').lower()}"
        if options.get(name):
            given += [option] if is_on(name, value) else []
        elif name in options and value:
            given.append(f"{option}={value}")
    return given


def prepare(command: str) -> None:
    """Checks the goals and variables of this make, then puts the command's arguments into
    ``sys.argv``.

    Raises SandboxError (exit 2) for a goal that is not a command, or a variable that is not one of
    its options.
    """
    # Late, for start-up time: the engine works on its answers meanwhile.
    from sandbox.cli.command_options import options_of

    variables = decode(os.environ.pop("SANDBOX_VARIABLES", ""))
    goals = os.environ.pop("SANDBOX_GOALS", "").split() or [command]
    commands = COMMANDS.names()
    for goal in goals:
        if goal not in (*commands, *CHECKS):
            raise SandboxError(
                f"make {goal} does not exist",
                did_you_mean(goal, [*commands, *CHECKS]),
                "try: make help",
            )
    known = {goal: options_of(goal) for goal in {*goals, command} & {*commands}}
    refuse_unknown(variables, (name for goal in goals for name in known.get(goal, ())), goals)
    take_environment(variables)
    options = known.get(command, {})
    note_unread(command, options, variables)
    sys.argv = ["sandbox", command, *arguments(options, variables)]


def main() -> None:
    """Runs the command that make's target names; a refusal is three lines and exit code 2."""
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command in COMMANDS.names() and guide_of(command).about.plans:
        ask_ahead(INFO, LOCAL_IMAGES)
    try:
        prepare(command)
    except SandboxError as problem:
        print("\n".join(problem.lines()), file=sys.stderr)
        sys.exit(int(problem.exit_code))
    if command in CHECKS:  # scripts/check uses neither the variables nor this interpreter
        script = Path(__file__).parents[2] / "check"
        os.execv(script, [str(script), CHECKS[command]])  # noqa: S606  (no shell is wanted)
    # Late, for start-up time: what make refuses needs no command-line library.
    from sandbox.cli.main import main as run_command

    run_command()


if __name__ == "__main__":
    main()
