"""From make's variables to the options of one command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.cli.command_options import as_long_options, options_of, variable_of
from sandbox.cli.make_entry import arguments, decode, is_on, prepare
from sandbox.core.errors import ExitCode, SandboxError

ROOT = Path(__file__).resolve().parents[3]
OPTIONS = {"PROFILE": False, "SET": False, "DRY_RUN": True}


def test_decode_undoes_what_make_encodes() -> None:
    encoded = "A=1 SET=a=1\\ b='x\\\ty' CNF=c\\\\d$$e SECONDS:=30 VIA="
    assert decode(encoded) == {
        "A": "1",
        "SET": "a=1 b='x\ty'",
        "CNF": "c\\d$e",
        "SECONDS": "30",
        "VIA": "",
    }


def test_values_become_one_word_each() -> None:
    given = arguments(OPTIONS, {"PROFILE": "--help", "SET": "a=1 b=2", "DRY_RUN": "yes"})
    assert given == ["--profile=--help", "--set=a=1 b=2", "--dry-run"]


def test_empty_values_and_flags_that_are_off_are_left_out() -> None:
    assert arguments(OPTIONS, {"PROFILE": "", "DRY_RUN": "0"}) == []


def test_variables_of_another_goal_are_left_out() -> None:
    assert arguments(OPTIONS, {"THREADS": "8"}) == []


@pytest.mark.parametrize(
    ("word", "meaning"), [("1", True), ("YES", True), ("on", True), ("", False), ("No", False)]
)
def test_flag_words(word: str, meaning: bool) -> None:
    assert is_on("JSON", word) is meaning


def test_a_flag_that_is_no_flag_word_is_refused() -> None:
    with pytest.raises(SandboxError, match="JSON=2 is neither yes nor no"):
        is_on("JSON", "2")


def test_variable_names_follow_from_options() -> None:
    assert variable_of("--dry-run") == "DRY_RUN"
    assert options_of("up")["PROFILE"] is False
    assert options_of("profiles")["JSON"] is True


def prepared(
    monkeypatch: pytest.MonkeyPatch, command: str, variables: str, goals: str = ""
) -> list[str]:
    """The arguments that ``prepare`` leaves for the command line."""
    monkeypatch.setattr(sys, "argv", ["untouched"])
    monkeypatch.setenv("SANDBOX_VARIABLES", variables)
    monkeypatch.setenv("SANDBOX_GOALS", goals or command)
    prepare(command)
    return sys.argv[1:]


def test_a_command_gets_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    assert prepared(monkeypatch, "plan", "PROFILE=mysql JSON=1") == [
        "plan",
        "--profile=mysql",
        "--json",
    ]
    assert "SANDBOX_VARIABLES" not in os.environ


def test_each_goal_gets_its_own_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    assert prepared(monkeypatch, "ps", "PROFILE=mysql NAME=a", "up ps") == ["ps", "--name=a"]


def test_debug_and_no_color_go_into_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG", "0")
    monkeypatch.setenv("NO_COLOR", "1")
    assert prepared(monkeypatch, "ps", "DEBUG=1 NO_COLOR=0") == ["ps"]
    assert os.environ["DEBUG"] == "1"
    assert "NO_COLOR" not in os.environ


def test_what_is_ignored_of_the_environment_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {
        "BLOCKS": "3",
        "SEED": "7",
        "NAME": "laptop",
        "USER": "root",
        "ROWS": "9",
    }.items():
        monkeypatch.setenv(name, value)
    prepared(monkeypatch, "matrix", "SEED=8")
    assert capsys.readouterr().err == (
        "note: BLOCKS=3 in the environment is ignored; try: make matrix BLOCKS=3\n"
    ), "SEED was given, NAME is everybody's, ROWS is of other commands"


REFUSALS = {
    "mistyped": (
        "plan",
        "PROFLE=a",
        "plan",
        "PROFLE is not a variable of make plan",
        "did you mean 'PROFILE'?",
    ),
    "in small letters": (
        "plan",
        "profile=a",
        "plan",
        "profile is not a variable",
        "did you mean 'PROFILE'?",
    ),
    "of another command": (
        "ps",
        "NAME=a THREADS=8",
        "ps",
        "THREADS is not a variable of make ps",
        "known: ",
    ),
    "of a check": (
        "lint",
        "PROFILE=a",
        "lint",
        "PROFILE is not a variable of make lint",
        "known: DEBUG, NO_COLOR",
    ),
    "an unknown goal": ("", "", "upp", "make upp does not exist", "did you mean 'up'?"),
    "an unknown goal after a known one": (
        "up",
        "",
        "up donw",
        "make donw does not exist",
        "did you mean 'down'?",
    ),
}


@pytest.mark.parametrize(
    ("command", "variables", "goals", "what", "known"), REFUSALS.values(), ids=REFUSALS
)
def test_refusals(
    monkeypatch: pytest.MonkeyPatch, command: str, variables: str, goals: str, what: str, known: str
) -> None:
    with pytest.raises(SandboxError) as refusal:
        prepared(monkeypatch, command, variables, goals)
    assert refusal.value.what.startswith(what)
    assert refusal.value.known.startswith(known)
    assert refusal.value.exit_code == ExitCode.BAD_INPUT


def test_a_name_that_is_in_every_environment_counts_on_the_command_line_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("USER", "root")
    assert prepared(monkeypatch, "sql", "EXECUTE=select\\ 1") == ["sql", "--execute=select 1"]
    assert prepared(monkeypatch, "sql", "USER=sbtest SKIP_COLUMN_NAMES=1 FORMAT=json") == [
        "sql", "--user=sbtest", "--skip-column-names", "--format=json",
    ]  # fmt: skip
    assert capsys.readouterr().err == ""


def test_a_refusal_is_three_lines_and_exit_code_2() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sandbox.cli.make_entry", "plan"],
        env={
            "SANDBOX_VARIABLES": "PROFLE=a",
            "SANDBOX_GOALS": "plan",
            "PYTHONPATH": str(ROOT / "scripts"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 3)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("bench", "bench"),
        ("matrix quick", "matrix --matrix quick"),
        ("matrix --new quick --only a=1", "matrix --new --matrix quick --only a=1"),
        ("matrix --seed 7 quick --plan", "matrix --seed 7 --matrix quick --plan"),
        ("bench -n a --threads=8 --json", "bench --name a --threads=8 --json"),
        ("matrix quick more", "matrix --matrix quick more"),
        ("matrix -h", "matrix -h"),
    ],
)
def test_a_record_keeps_long_options(words: str, options: str) -> None:
    assert as_long_options(words.split()) == options.split()
