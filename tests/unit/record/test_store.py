"""A result folder holds whole files only, whenever its writer stops."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.record.manifest import Manifest
from sandbox.record.record import Record
from sandbox.record.redaction import SecretFoundError
from sandbox.record.store import ResultFolder, slug_of
from unit.record.samples import sample_record

STARTED = datetime(2025, 1, 31, 23, 59, 59, tzinfo=UTC)


def manifest() -> Manifest:
    """The manifest of a bench."""
    return Manifest(
        kind="bench",
        slug="mysql",
        profile="mysql",
        command=["sandbox", "bench"],
        started_utc=STARTED,
    )


def test_a_result_is_laid_out_as_in_the_design(tmp_path: Path) -> None:
    folder = ResultFolder.create(tmp_path, manifest())
    folder.start_run("bench", 1)
    path = folder.save(sample_record(), frozenset())
    folder.finish(STARTED)
    assert path == tmp_path / "20250131T235959Z-mysql" / "runs" / "bench.1" / "record.json"
    assert Record.model_validate_json(path.read_text()) == sample_record()
    assert (tmp_path / "latest").resolve() == folder.path
    assert [(run.run, run.status) for run in folder.manifest.runs] == [("bench.1", "ok")]


def test_latest_moves_only_at_the_end(tmp_path: Path) -> None:
    first = ResultFolder.create(tmp_path, manifest())
    first.finish(STARTED)
    second = ResultFolder.create(tmp_path, manifest())
    assert second.path.name == "20250131T235959Z-mysql-2"
    assert (tmp_path / "latest").resolve() == first.path
    assert second.manifest.ended_utc is None
    second.finish(STARTED)
    assert (tmp_path / "latest").resolve() == second.path
    assert not list(tmp_path.glob(".*"))


def test_a_record_with_a_password_is_not_written(tmp_path: Path) -> None:
    folder = ResultFolder.create(tmp_path, manifest())
    run = folder.start_run("bench", 1)
    with pytest.raises(SecretFoundError):
        folder.save(
            sample_record(reason="Access denied: Zx9Password000000000000a"),
            {"Zx9Password000000000000a"},
        )
    assert not list(run.iterdir())


def test_saving_again_replaces_the_entry(tmp_path: Path) -> None:
    folder = ResultFolder.create(tmp_path, manifest())
    folder.start_run("bench", 1)
    folder.save(sample_record(), frozenset())
    folder.save(sample_record(status="failed"), frozenset())
    assert [(run.run, run.status) for run in folder.manifest.runs] == [("bench.1", "failed")]


def test_the_manifest_never_lists_a_run_whose_record_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ResultFolder.create(tmp_path, manifest())
    for block in (1, 2):
        folder.start_run("bench", block)
        folder.save(sample_record(block=block), frozenset())

    def remove(path: Path, **_: object) -> None:
        assert [run.run for run in folder.manifest.runs] == ["bench.2"], (
            "a kill here leaves a result that can be read"
        )
        path.rename(tmp_path / "removed")

    monkeypatch.setattr(shutil, "rmtree", remove)
    folder.start_run("bench", 1)
    assert folder.records() == [sample_record(block=2)]


@given(st.text())
def test_a_slug_is_always_one_harmless_folder_name(text: str) -> None:
    slug = slug_of(text)
    assert slug and len(slug) <= 60 and "/" not in slug and not slug.startswith((".", "-"))


def test_a_slug_can_still_be_read() -> None:
    assert slug_of("galera3@11.8+haproxy-oltp_read_write") == "galera3-11.8-haproxy-oltp_read_write"
