"""What nobody foresaw leaves as three lines too, in make's words, with the exit code of its
kind.
"""

import errno
import re
import sys

import pytest

from sandbox.cli.commands.help import command as help_command
from sandbox.cli.main import as_sandbox_error, main
from sandbox.cli.registry import COMMANDS
from sandbox.core.errors import ExitCode, natural_order
from sandbox.core.paths import CHECKOUT


def refusal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, list[str]]:
    """Exit code and the lines on standard error of a command line."""
    monkeypatch.setattr(sys, "argv", ["sandbox", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(str(ended.value.code)), capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    ("words", "what", "known"),
    [
        (("bench", "--seconds", "abc"), "SECONDS=abc is not valid", "a whole number is expected"),
        (("smoke", "--threads=0"), "THREADS=0 is not valid", "at least 1 is expected"),
        (("bench", "--nonsense"), "No such option: --nonsense", "options are listed by --help"),
    ],
)
def test_an_option_that_cannot_be_is_three_lines(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    what: str,
    known: str,
) -> None:
    code, lines = refusal(monkeypatch, capsys, *words)
    assert code == ExitCode.BAD_INPUT and len(lines) == 3
    assert lines[0].startswith(what) and lines[1:] == [known, "try: make help"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_disk_that_takes_nothing_more_is_the_environment(number: int) -> None:
    error = as_sandbox_error(OSError(number, "no", "results/x/record.json"))
    assert error.exit_code is ExitCode.ENVIRONMENT and "results/x/record.json" in error.what
    assert "what was saved before is intact" in error.known


@pytest.mark.parametrize("problem", [KeyError("x"), OSError(errno.ENOENT, "no")])
def test_anything_else_is_a_bug(problem: Exception) -> None:
    error = as_sandbox_error(problem)
    assert error.exit_code is ExitCode.INTERNAL and error.what.startswith("internal error: ")


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    help_command()
    shown = capsys.readouterr().out
    assert not [name for name in COMMANDS.names() if f"  make {name} " not in shown]
    assert not [line for line in shown.splitlines() if len(line) > 100]


@pytest.mark.parametrize("words", [(), ("help",)])
def test_bare_sandbox_prints_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "argv", ["sandbox", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0 and "make up" in capsys.readouterr().out


def test_the_version_is_that_of_the_project(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["sandbox", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    (version,) = re.findall(
        r"^## (\d\S+) - ", (CHECKOUT / "CHANGELOG.md").read_text(), re.MULTILINE
    )[:1]
    assert capsys.readouterr().out == f"sandbox-matrix {version}\n", "the newest in the changelog"


def test_a_command_that_there_is_none_of_is_three_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, lines = refusal(monkeypatch, capsys, "benhc")
    assert code == ExitCode.BAD_INPUT
    assert lines == ["there is no command 'benhc'", "did you mean 'bench'?", "try: sandbox help"]


@pytest.mark.parametrize(
    ("words", "left"),
    [("bench -n a --nonsense", "bench --name a --nonsense"), ("down -n a --nonsense",) * 2],
)
def test_only_a_recorded_command_keeps_its_words_in_their_long_form(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    left: str,
) -> None:
    code, _ = refusal(monkeypatch, capsys, *words.split())
    assert code == ExitCode.BAD_INPUT
    assert sys.argv == ["sandbox", *left.split()]


def test_levels_are_sorted_as_numbers() -> None:
    assert sorted(["16", "1", "2", "b10", "b9"], key=natural_order) == ["1", "2", "16", "b9", "b10"]
