"""What nobody foresaw leaves as three lines too, in make's words, with the exit code of its kind."""

import errno
import sys

import pytest

from sandbox.cli import app, main
from sandbox.cli_errors import as_told
from sandbox.commands import guide
from sandbox.errors import ExitCode, natural_order


def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[str]]:
    """Exit code and the lines on standard error of a command line."""
    monkeypatch.setattr(sys, "argv", ["sandbox", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(str(ended.value.code)), capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    ("words", "what", "known"),
    [
        (("bench", "--seconds", "abc"), "SECONDS=abc cannot be used", "a whole number is expected"),
        (("smoke", "--threads=0"), "THREADS=0 cannot be used", "at least 1 is expected"),
        (("bench", "--nonsense"), "No such option: --nonsense", "options are listed by --help"),
    ],
)
def test_an_option_that_cannot_be_is_three_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], what: str, known: str
) -> None:
    code, lines = told(monkeypatch, capsys, *words)
    assert code == ExitCode.BAD_INPUT and len(lines) == 3
    assert lines[0].startswith(what) and lines[1:] == [known, "try: make help"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_disk_that_takes_nothing_more_is_the_environment(number: int) -> None:
    error = as_told(OSError(number, "no", "results/x/record.json"))
    assert error.exit_code is ExitCode.ENVIRONMENT and "results/x/record.json" in error.what
    assert "what was saved before can be read" in error.known


@pytest.mark.parametrize("problem", [KeyError("x"), OSError(errno.ENOENT, "no")])
def test_anything_else_is_a_bug(problem: Exception) -> None:
    error = as_told(problem)
    assert error.exit_code is ExitCode.INTERNAL and error.what.startswith("internal error: ")


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    guide.show(app)
    shown = capsys.readouterr().out
    names = {command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands}
    assert {name for name in names if f"  make {name} " not in shown} == {"help"}


def test_levels_are_sorted_as_numbers() -> None:
    assert sorted(["16", "1", "2", "b10", "b9"], key=natural_order) == ["1", "2", "16", "b9", "b10"]
