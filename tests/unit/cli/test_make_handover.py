"""What make hands over: real make, the real Makefile and launcher, and a runner that records what
arrives.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.cli.make_entry import CHECKS, decode
from sandbox.cli.registry import COMMANDS, guide_of

ROOT = Path(__file__).resolve().parents[3]
RECORDER = """#!/bin/sh
[ "$1 $2 $3" = '-I -m sandbox.cli.make_entry' ] || exit 1
shift 3
printf '%s\\0' "$*" "$SANDBOX_VARIABLES" "$SANDBOX_GOALS" "$(env)" >>'{folder}/calls'
"""
BOOTSTRAP = """#!/bin/sh
echo "$*" >>'{folder}/bootstraps'
exit {status}
"""


@dataclass(frozen=True)
class Call:
    """One start of the runner: the command that the launcher named, and what came in its
    environment.
    """

    command: str
    encoded: str
    goals: str
    environment: str

    @property
    def variables(self) -> dict[str, str]:
        """What make was given on its command line."""
        return decode(self.encoded)


@dataclass(frozen=True)
class Checkout:
    """A folder with the real Makefile and launcher, and recorders in place of bootstrap and
    Python.
    """

    folder: Path

    def make(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs make with these words and these variables in its environment."""
        return subprocess.run(
            ["make", *words],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)} | environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def calls(self, *words: str, **environment: str) -> list[Call]:
        """What the runner saw of one make that must succeed."""
        log = self.folder / "calls"
        log.unlink(missing_ok=True)
        done = self.make(*words, **environment)
        assert done.returncode == 0, done.stderr
        fields = log.read_bytes().decode().split("\0")[:-1]
        return [Call(*fields[start : start + 4]) for start in range(0, len(fields), 4)]

    def bootstraps(self) -> list[str]:
        """The arguments of every start of bootstrap so far."""
        return (self.folder / "bootstraps").read_text().splitlines()


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    folder = tmp_path_factory.mktemp("check out")  # a blank in the path, as people have it
    shutil.copy(ROOT / "Makefile", folder)
    commands = folder / "scripts" / "sandbox" / "cli" / "commands"
    commands.mkdir(parents=True)
    for path in (ROOT / "scripts" / "sandbox" / "cli" / "commands").glob("*.py"):
        shutil.copy(path, commands)
    shutil.copy(ROOT / "scripts" / "launch", folder / "scripts")
    executable(folder / "scripts" / "bootstrap", BOOTSTRAP.format(folder=folder, status=0))
    executable(folder / ".venv" / "bin" / "python", RECORDER.format(folder=folder))
    return Checkout(folder)


VALUES = {
    "a command after a semicolon": "a;rm -rf x;touch x",
    "a command substitution": "$(touch x)",
    "make's own shell function": "$(shell touch x)",
    "the same in braces": "${shell touch x}",
    "backquotes": "`touch x`",
    "a pipe and an ampersand": "a | touch x & touch x",
    "both quotes": 'it\'s "quoted"',
    "an unclosed quote": "'",
    "a trailing backslash": "a\\",
    "backslashes and blanks": "a\\ b\\\\  c\td ",
    "a doubled dollar": "a$$b",
    "a shell variable": "$HOME ${HOME} $1 $@",
    "a comment sign": "a#b # c",
    "a glob and a tilde": "~ * [a] {b,c}",
    "a line break": "a\ntouch x\n\tb",
    "an equals sign": "a=1 b='x y'",
    "a leading dash": "--profile=x",
    "a pattern sign": "%",
    "letters beyond ASCII": "größer 数",
    "nothing": "",
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_value_arrives_as_typed_and_nothing_of_it_runs(checkout: Checkout, value: str) -> None:
    (call,) = checkout.calls("up", f"PROFILE={value}", "NAME=a")
    assert call.variables == {"PROFILE": value, "NAME": "a"}
    assert not (checkout.folder / "x").exists()


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    value=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
)
def test_any_value_arrives_but_for_leading_blanks(checkout: Checkout, value: str) -> None:
    (call,) = checkout.calls("up", f"SET={value}")
    assert call.variables["SET"].lstrip() == value.lstrip()
    assert value.endswith(call.variables["SET"])


@pytest.mark.parametrize(
    "name", ["name", "commands", "checks", "SANDBOX_VARIABLES", "SHELL", ".SHELLFLAGS", "SECONDS"]
)
def test_no_name_of_a_variable_is_special(checkout: Checkout, name: str) -> None:
    (call,) = checkout.calls("up", f"{name}=$(shell touch x)")
    assert call.variables == {name: "$(shell touch x)"}
    assert not (checkout.folder / "x").exists()


def test_variables_count_only_on_the_command_line(checkout: Checkout) -> None:
    (call,) = checkout.calls("up", "PROFILE=mysql", NAME="laptop", DEBUG="1")
    assert call.variables == {"PROFILE": "mysql"}
    assert "DEBUG=1" in call.environment.splitlines()


def test_a_command_inherits_nothing_of_make(checkout: Checkout) -> None:
    (call,) = checkout.calls("-k", "bench", "SECONDS=30", "NAME=a", "DEBUG=1")
    names = {line.partition("=")[0] for line in call.environment.splitlines()}
    assert (
        not {"SECONDS", "NAME", "DEBUG", "MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL"}
        & names
    )


def test_without_a_goal_there_is_help(checkout: Checkout) -> None:
    assert [call.command for call in checkout.calls()] == ["help"]


def test_goals_run_in_order_and_know_each_other(checkout: Checkout) -> None:
    calls = checkout.calls("-j4", "up", "bench", "PROFILE=mysql")
    assert [call.command for call in calls] == ["up", "bench"]
    assert {call.goals for call in calls} == {"up bench"}


def test_an_unknown_goal_reaches_the_runner_and_no_shell(checkout: Checkout) -> None:
    (call,) = checkout.calls("upp;touch x")
    assert call.command == ""
    assert call.goals == "upp;touch x"
    assert not (checkout.folder / "x").exists()


def test_every_target_is_a_command_and_every_command_a_target(checkout: Checkout) -> None:
    targets = sorted({*COMMANDS.names(), *CHECKS})
    assert [call.command for call in checkout.calls(*targets)] == targets
    database = checkout.make("-pn", "help").stdout
    (phony,) = re.findall(r"^\.PHONY: (.*)$", database, re.M)
    assert sorted(phony.split()) == targets


@pytest.mark.parametrize(
    "goal", ["query", "compare", "history", "export", "report", "help", "list", "mistyped"]
)
def test_what_needs_no_engine_asks_for_none(checkout: Checkout, goal: str) -> None:
    checkout.calls(goal)
    assert checkout.bootstraps()[-1] == "python"


@pytest.mark.parametrize("goal", ["up", "images", "bench", "sql", "matrix", "down"])
def test_everything_else_is_made_ready_first(checkout: Checkout, goal: str) -> None:
    checkout.calls(goal)
    assert checkout.bootstraps()[-1] == ""


def test_the_launcher_and_python_read_the_same_in_every_command(checkout: Checkout) -> None:
    names = COMMANDS.names()
    checkout.calls(*names)
    wanted = ["" if guide_of(name).about.needs_engine else "python" for name in names]
    assert checkout.bootstraps()[-len(names) :] == wanted


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("ABOUT = About(group='results', needs_engine=False)", "python"),
        ("ABOUT = About(\n    group='results',\n    needs_engine=False,\n)", "python"),
        ("ABOUT = About(group='results', needs_engine=True)", ""),
        ("ABOUT = About(group='results')\nOTHER = About(needs_engine=False)", ""),
        ("NOT_ABOUT = About(needs_engine=False)", ""),
    ],
)
def test_a_command_says_itself_whether_it_needs_an_engine(
    checkout: Checkout, said: str, wanted: str
) -> None:
    file = checkout.folder / "scripts/sandbox/cli/commands/made_up.py"
    file.write_text(f'"""made-up: a word."""\n\n{said}\n')
    try:
        (call,) = checkout.calls("made-up")
    finally:
        file.unlink()
    assert call.command == "made-up"
    assert checkout.bootstraps()[-1] == wanted


def test_unit_tests_need_no_engine(checkout: Checkout) -> None:
    checkout.calls("test-unit")
    assert checkout.bootstraps()[-2:] == ["python", "tests"]


def test_checks_get_their_own_packages_too(checkout: Checkout) -> None:
    goals = ["test", "test-long", "lint", "perf"]
    checkout.calls(*goals)
    assert checkout.bootstraps()[-2 * len(goals) :] == ["", "tests"] * len(goals)


def test_nothing_starts_on_a_machine_that_is_not_ready(checkout: Checkout) -> None:
    script = checkout.folder / "scripts" / "bootstrap"
    executable(script, BOOTSTRAP.format(folder=checkout.folder, status=4))
    (checkout.folder / "calls").unlink(missing_ok=True)
    try:
        done = checkout.make("up")
    finally:
        executable(script, BOOTSTRAP.format(folder=checkout.folder, status=0))
    assert done.returncode == 2
    assert not (checkout.folder / "calls").exists()
