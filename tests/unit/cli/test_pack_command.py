"""`pack`: what it writes and where, what it refuses before that, and whose record it takes."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from sandbox.cli.common import packing
from sandbox.cli.common.packing import newest_result, pack
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.record.manifest import Manifest
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder
from unit.report.made_up_repros import repro_record
from unit.repro.pack.packing import plan_of, repro_of

TWO = """\
title: A bug
question: Is it there?
profile: mysql
steps:
  - s1: begin
  - break: server-crash
  - act: switchover
expect:
  bug: [{query: select 1, rows: 1}]
  fixed: [{query: select 1, rows: 2}]
"""


def packs(word: str, to: Path | None, versions: str | None = None, as_json: bool = False) -> int:
    """The command with published images."""
    return pack(word, versions, None, (), None if to is None else str(to), as_json, local=False)


def test_both_files_are_written_and_the_commands_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "RESULTS", tmp_path / "no-results")
    assert packs("gap-lock-deadlock", tmp_path / "out", "8.0.36") == ExitCode.OK
    compose = tmp_path / "out" / "compose.yaml"
    assert compose.stat().st_mode & 0o777 == 0o600
    data = yaml.safe_load(compose.read_text())
    assert data["services"]["mysql1"]["image"] == "mysql:8.0.36"
    assert len(data["configs"]["root-password"]["content"]) == 24
    assert "VERSIONS=8.0.36" in (tmp_path / "out" / "report.md").read_text()
    assert f"docker compose -f {compose} up --exit-code-from repro" in capsys.readouterr().out


def test_each_version_has_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(packing, "PACKS", tmp_path)
    packs("snapshot-isolation-1020", None, "10.11,11.8", as_json=True)
    written = [Path(each["compose"]).parent.name for each in json.loads(capsys.readouterr().out)]
    assert written == ["snapshot-isolation-1020-10.11", "snapshot-isolation-1020-11.8"]
    with pytest.raises(SandboxError, match="is one folder, and 2 versions are packed"):
        packs("snapshot-isolation-1020", tmp_path / "one", "10.11,11.8")
    assert not (tmp_path / "one").exists()


def test_what_cannot_be_said_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(TWO)
    with pytest.raises(SandboxError) as refused:
        packs(str(path), tmp_path / "out")
    what, known, step = refused.value.lines()
    assert what == f"{path}:6: step 2 (break: server-crash) has no place in a pack"
    assert known.startswith("a container cannot break the network")
    assert known.endswith("; neither has step 3 (act: switchover) (line 7)")
    assert step == f"try: make repro REPRO={path}"
    assert refused.value.exit_code is ExitCode.BAD_INPUT
    assert not (tmp_path / "out").exists()


def test_a_pack_is_of_one_repro() -> None:
    with pytest.raises(SandboxError, match="no REPRO was given"):
        pack(None, None, None, (), None, False, local=False)


def saved(results: Path, day: int, *records: Record) -> None:
    """A result of repros."""
    manifest = Manifest(
        kind="repro", slug="made-up", profile="mysql", command=[],
        started_utc=datetime(2026, 11, day, tzinfo=UTC), tool_commit=None,
    )  # fmt: skip
    result = ResultFolder.create(results, manifest)
    for record in records:
        result.start_run(record.cell, record.block)
        result.save(record, frozenset())


def test_the_newest_record_of_the_repro_counts_and_of_it_the_version(tmp_path: Path) -> None:
    repro = repro_of("steps: [{s1: begin}]").model_copy(update={"name": "metadata-lock"})
    plan = plan_of(repro)
    assert newest_result(repro, plan, tmp_path) is None
    version = plan.databases[0].version
    saved(tmp_path, 1, repro_record("fixed", version))
    saved(tmp_path, 2, repro_record("reproduced", "8.4.1"), repro_record("fixed", f"{version}-log"))
    found = newest_result(repro, plan, tmp_path)
    assert found is not None and found.record.repro is not None
    assert (found.record.repro.version, found.row.verdict) == (f"{version}-log", "fixed")
    assert not found.is_of_file
    saved(tmp_path, 3, repro_record("fixed", "5.7.1"), repro_record("reproduced", "8.4.1"))
    found = newest_result(repro, plan, tmp_path)
    assert found is not None and found.record.repro is not None
    assert found.record.repro.version == "8.4.1"  # of the version there is none: one that shows it
    other = repro.model_copy(update={"name": "another"})
    assert newest_result(other, plan, tmp_path) is None
