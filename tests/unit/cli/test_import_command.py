"""import: the reader that takes a source, the file that it leaves, what it says."""

import io
import json
from pathlib import Path

import pytest

from sandbox.cli.common import importing
from sandbox.cli.common.importing import READERS, import_, known_here
from sandbox.core.errors import SandboxError
from sandbox.profile.reader import load_library
from sandbox.stack.engine import Docker
from sandbox.stack.planning import option_defaults


@pytest.fixture(autouse=True)
def _no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importing, "option_defaults", lambda *_: None)
    monkeypatch.setattr(importing, "HERE", tmp_path)


def test_every_reader_has_a_rank_of_its_own() -> None:
    ranks = [kind.rank for kind in READERS.every().values()]
    assert len(set(ranks)) == len(ranks)


def test_a_report_becomes_a_file_and_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.txt"
    report.write_text("A bug\n```\nselect 1;\nbegin;\n```\n")
    assert import_(str(report), None, as_json=False) == 0
    out = capsys.readouterr().out
    assert out.startswith("report.yaml  a draft from the text of a bug report\n")
    assert out.rstrip().endswith("next: make repro REPRO=report.yaml PLAN=1")
    assert (tmp_path / "report.yaml").read_text().startswith("title: A bug\n")
    with pytest.raises(SandboxError, match="is there already"):
        import_(str(report), None, as_json=False)


def test_standard_input_and_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("[mysqld]\nsync_binlog=0\nport=1\n"))
    assert import_("-", str(tmp_path / "mine.yaml"), as_json=True) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["kind"] == "option-files" and data["set"] == ["sync_binlog=0"]
    assert [each["what"] for each in data["left_out"]] == ["port=1"]


@pytest.mark.parametrize(
    ("path", "out", "what"),
    [
        (None, None, "no FROM was given"),
        ("gone.test", None, "FROM=gone.test cannot be read"),
        ("{}", None, "is of no known kind"),
        ("{}/r.txt", "mine.txt", "OUT=mine.txt is no name of a repro"),
    ],
)
def test_what_cannot_be_imported(
    tmp_path: Path, path: str | None, out: str | None, what: str
) -> None:
    (tmp_path / "r.txt").write_text("select 1;\n")
    with pytest.raises(SandboxError, match=what):
        import_(path and path.format(tmp_path), out, as_json=False)


def test_a_draft_that_is_not_valid_does_not_stay(tmp_path: Path) -> None:
    mounted = "volumes: ['./gone.sql:/docker-entrypoint-initdb.d/1.sql']"
    text = f"services:\n  db:\n    image: mysql:8.4\n    {mounted}\n"
    (tmp_path / "compose.yaml").write_text(text)
    with pytest.raises(SandboxError) as caught:
        import_(str(tmp_path / "compose.yaml"), str(tmp_path / "mine.yaml"), as_json=False)
    assert caught.value.known.endswith("gone.sql is not there")
    assert not (tmp_path / "mine.yaml").exists()


def test_without_an_engine_the_defaults_of_servers_are_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert option_defaults("mysql", Docker()) is None


def test_the_catalog_says_which_images_are_servers() -> None:
    known = known_here(load_library(), Docker())
    assert "10.11" in known.series["galera"] and "9.7" in known.series["gr"]
    assert known.repositories["mysql/mysql-server"] == "mysql"
    assert known.repositories["percona/percona-xtradb-cluster"] == "pxc"
