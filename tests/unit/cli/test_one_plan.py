"""Every command that starts a stack, or shows one, refuses what cannot be planned alike, with
nothing started.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from sandbox.cli import registry
from sandbox.cli.main import main
from sandbox.core.errors import ExitCode
from sandbox.profile.images import Availability
from sandbox.stack import engine, planning, supply
from unit.profile.test_variables import HELP
from unit.stack.fake_docker import INFO, FakePending, answer

MATRIX = """\
title: A mistyped variable
question: Is it refused?
common: {profile: PROFILE, set: SET, threads: 1}
factors:
  rows: [1, 2]
baseline: {rows: 1}
"""
TYPING_ERROR = "innodb_bufer_pool_size=1G"
LOG = str(Path(__file__).parents[2] / "data" / "slow.log")
OF_NO_STACK = {
    "bench",
    "check",
    "clean",
    "collect",
    "compare",
    "doctor",
    "down",
    "exec",
    "export",
    "fault",
    "heal",
    "help",
    "history",
    "import",
    "list",
    "logs",
    "profiles",
    "ps",
    "query",
    "report",
    "restart",
    "shell",
    "snapshots",
    "sql",
    "start",
    "stop",
    "trial",
}
"""Commands that plan nothing: what they work on runs already, or never did."""
PLANNING = {
    "up": ("--profile",),
    "plan": ("--profile",),
    "config": ("--profile",),
    "images": ("--profile",),
    "lock": ("--profile",),
    "calibrate": ("--profile",),
    "smoke": ("--profile",),
    "matrix": (),
    "pack": ("--repro", "gap-lock-deadlock", "--profile"),
    "repro": ("--repro", "gap-lock-deadlock", "--profile"),
    "shrink": ("--repro", "gap-lock-deadlock", "--profile"),
    "bisect": ("--repro", "gap-lock-deadlock", "--good", "8.4", "--bad", "9.7", "--profile"),
    "upgrade-check": ("--log", LOG, "--to", "mysql@9.7", "--from"),
}


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, ...]]:
    """The commands that the engine got, whose client is there; it has every image, whose server has
    the variables of HELP.
    """
    commands: list[tuple[str, ...]] = []

    def begin(
        _: object, *argv: str, stdin: str | None = None, pass_fds: Sequence[int] = ()
    ) -> FakePending:
        commands.append(argv)
        if argv[0] == "info":
            return FakePending(argv, answer(str(INFO).replace("'", '"')))
        return FakePending(
            argv, answer(HELP if argv[-1] == "--help" else "sha256:" + "c" * 64 + "\n")
        )

    client = tmp_path / "client" / "docker"
    client.parent.mkdir()
    client.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(client.parent), prepend=os.pathsep)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(engine.Docker, "begin", begin)
    for module in (planning, supply):
        monkeypatch.setattr(module, "engine_availability", lambda lock, *_: Availability(lock=lock))
    return commands


def refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> list[str]:
    """The lines on standard error of a command that ends with exit code 2."""
    monkeypatch.setattr(sys, "argv", ["sandbox", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert ended.value.code == ExitCode.BAD_INPUT and not printed.out
    return printed.err.splitlines()


def matrix_file(
    folder: Path, profile: str = "mysql@9.7", assignment: str = "max_connections=5"
) -> str:
    """The path of a matrix whose cells have this profile and this variable."""
    path = folder / "mistyped.yaml"
    path.write_text(MATRIX.replace("PROFILE", profile).replace("SET", assignment))
    return str(path)


def test_every_command_is_known_to_plan_or_not_to() -> None:
    assert set(registry.COMMANDS.names()) == OF_NO_STACK | set(PLANNING)


@pytest.mark.parametrize(
    "words",
    [
        ("up", "--profile", "mysql@9.7", "--name", "a", "--set", TYPING_ERROR),
        ("plan", "--profile", "mysql@9.7", "--set", TYPING_ERROR),
        ("config", "--profile", "mysql@9.7", "--set", TYPING_ERROR),
        ("smoke", "--profile", "mysql@9.7", "--base-set", TYPING_ERROR),
        ("smoke", "--profile", "mysql@9.7", "--head-set", TYPING_ERROR),
        ("repro", "--repro", "gap-lock-deadlock", "--set", TYPING_ERROR),
        ("matrix",),
    ],
    ids=lambda words: " ".join(words[:1] + words[-2:-1]),
)
def test_a_mistyped_variable_is_three_lines_and_starts_nothing(
    words: tuple[str, ...],
    begun: list[tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    place = ""
    if words == ("matrix",):
        path = matrix_file(tmp_path, assignment=TYPING_ERROR)
        words, place = ("matrix", path), f"{path}:3: "
    what, known, step = refused(monkeypatch, capsys, *words)
    assert what.startswith(f"{place}SET: ") and what.endswith(
        " has no variable 'innodb_bufer_pool_size'"
    )
    assert known.startswith("did you mean 'innodb_buffer_pool_size'?")
    assert step.startswith("try: ")
    harmless = [argv for argv in begun if argv[0] in ("info", "image") or argv[-1] == "--help"]
    assert begun == harmless, "something was started"


@pytest.mark.parametrize("name", PLANNING)
def test_a_mistyped_term_is_three_lines_and_starts_nothing(
    name: str,
    begun: list[tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    last = matrix_file(tmp_path, profile="mysqll@9.7") if name == "matrix" else "mysqll@9.7"
    lines = refused(monkeypatch, capsys, name, *PLANNING[name], last)
    assert len(lines) == 3 and "unknown term 'mysqll@9.7'" in lines[0]
    assert not [argv for argv in begun if argv[0] != "info"]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--cpus", "0"), "CPUS=0 leaves a server no CPU"),
        (("--memory", "1x"), "MEMORY=1x is not a valid amount of memory"),
        (("--disk", "ext5:1g"), "DISK=ext5:1g is not a valid disk"),
    ],
)
@pytest.mark.parametrize("name", ["up", "plan"])
def test_a_limit_that_no_engine_takes_is_three_lines_and_starts_nothing(
    name: str,
    options: tuple[str, str],
    what: str,
    begun: list[tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = refused(monkeypatch, capsys, name, "--profile", "mysql@9.7", *options)
    assert len(lines) == 3 and lines[0] == what
    assert not [argv for argv in begun if argv[0] != "info"]
