"""collect as a user types it: what is refused before anything is asked, what is printed."""

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.cli.common import collecting, running
from sandbox.cli.main import main
from sandbox.collect.archive import read_archive
from sandbox.collect.collect import CollectedEvidence
from sandbox.core.errors import ExitCode
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import running_stack

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """The engine of every command, with a stack whose nodes answer nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = FakeDocker()
    made.on("cat /sandbox/passwords", answer("S3cretPassword\n"))
    made.on("^inspect .*json [.]}}", answer("{}"))
    made.on("^compose version", answer("Docker Compose version v2.26.1\n"))
    made.on("^logs", answer("the password is S3cretPassword\n"))
    made.on("^run", answer("docker: refused by the engine\n"))
    running_stack(made, "mysql+replica1")
    monkeypatch.setattr(running, "Docker", lambda: made)
    monkeypatch.delenv("DEBUG", raising=False)
    return made


def typed(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """A command line; its exit code."""
    monkeypatch.setattr("sys.argv", ["sandbox", "collect", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(str(ended.value.code or 0))


@pytest.mark.parametrize(
    ("words", "what", "known"),
    [
        (["--nodes", "mysql1,replica7"], "no node 'replica7'", "replica1"),
        (["--out", "evidence.zip"], "neither a folder nor an archive", ".tar.zst"),
        (["--out", "/no/where/a.tar.zst"], "cannot be written", "/no/where"),
        (["--name", "other"], "no stack 'other'", "default"),
    ],
)
def test_what_cannot_be_meant_is_three_lines(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch, capsys: Printed,
    words: list[str], what: str, known: str,
) -> None:  # fmt: skip
    assert typed(monkeypatch, *words) == ExitCode.BAD_INPUT
    lines = capsys.readouterr().err.splitlines()[-3:]
    assert what in lines[0] and known in lines[1] and lines[2].startswith("try: ")
    assert not docker.called("run")


def test_it_prints_where_it_is_what_is_in_it_and_what_is_not(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch, capsys: Printed, tmp_path: Path
) -> None:
    out = tmp_path / "mine.tar.zst"
    assert typed(monkeypatch, "--out", str(out)) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith(str(out))
    assert "mysql1, replica1, client1: docker: refused by the engine" in " ".join(
        printed.out.split()
    )
    assert "collect  mysql1: 2 files, 1 could not be had, " in printed.err
    found = dict(read_archive(out))
    assert found["mine/mysql1/log.txt"] == b"the password is ********\n"
    assert b"S3cretPassword" not in b"".join(found.values())
    assert {"mine/README.txt", "mine/compose.yaml", "mine/plan.txt", "mine/versions.txt"} & {*found}


def test_a_folder_gets_an_archive_of_the_stacks_name(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch, capsys: Printed, tmp_path: Path
) -> None:
    assert typed(monkeypatch, "--out", str(tmp_path), "--json") == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert Path(data["archive"]).parent == tmp_path
    assert data["archive"].endswith("-evidence-default.tar.zst")
    assert data["files"]["replica1/log.txt"] > 0 and data["missing"]["replica1"]


def test_many_files_with_one_reason_are_a_line() -> None:
    missing = {f"mysql1/{name}": "it is frozen" for name in "abcd"} | {"mysql1/e": "no answer"}
    made = CollectedEvidence(
        Path("a.tar.zst"), 1_234_567, 2.0, ("mysql1",), {"x": 340_000}, missing
    )
    lines = list(collecting._lines(made))
    assert lines[0] == "a.tar.zst   1.2 MB, 2.0 s"
    assert lines[-2:] == ["  mysql1/a and 3 more: it is frozen", "  mysql1/e: no answer"]
    assert "340 KB" in lines[3]
