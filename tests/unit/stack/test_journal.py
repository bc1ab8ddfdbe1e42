"""What is broken on purpose, written down: before it breaks, for whoever heals it, until it is
healed.
"""

import os
from pathlib import Path

import pytest

from sandbox.stack import journal
from sandbox.stack.journal import (
    Breakage,
    breakages,
    forget_all,
    forget_breakage,
    note_breakage,
    unreadable,
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the faults of the stack `a` are written down."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "sandbox" / "faults" / "a"


def hang(node: str = "mysql1", began_utc_s: float = 1.5, project: str = "a") -> Breakage:
    """A node that hangs."""
    return Breakage(project=project, fault="hang", node=node, began_utc_s=began_utc_s)


def test_it_comes_back_as_it_was_until_it_is_forgotten() -> None:
    given = {"file": "sbtest/t", "page": 4, "share": 0.5, "deep": True}
    noted = Breakage(
        project="a", fault="corruption", options=given, node="mysql1", before={"bytes": "00"}
    )
    note_breakage(noted)
    (found,) = breakages("a")
    assert found == noted and [type(each) for each in found.options.values()] == [
        str,
        int,
        float,
        bool,
    ]
    forget_breakage(noted)
    forget_breakage(noted)
    assert not breakages("a")


def test_it_is_in_words() -> None:
    assert hang().text == "hang on mysql1"


@pytest.mark.parametrize("times", [(3.0, 1.0, 2.0), (9.0, 10.0, 100.0)])
def test_the_oldest_comes_first_whatever_the_names_of_files(times: tuple[float, ...]) -> None:
    for began_utc_s in times:
        note_breakage(hang(began_utc_s=began_utc_s))
    assert [each.began_utc_s for each in breakages("a")] == sorted(times)


def test_faults_and_nodes_of_one_moment_are_apart() -> None:
    for each in (
        hang("mysql1"),
        hang("replica1"),
        hang("mysql1").model_copy(update={"fault": "loss"}),
    ):
        note_breakage(each)
    assert sorted(each.text for each in breakages("a")) == [
        "hang on mysql1",
        "hang on replica1",
        "loss on mysql1",
    ]


def test_every_stack_has_its_own() -> None:
    note_breakage(hang())
    note_breakage(hang(project="ab"))
    assert [each.project for each in breakages("ab")] == ["ab"]
    assert forget_all("a") == 1 and not breakages("a") and breakages("ab")


def test_what_cannot_be_read_hides_nothing_and_is_named_with_the_reason(folder: Path) -> None:
    note_breakage(hang())
    (folder / "0.json").write_text("{")
    (folder / "1.json").write_text(
        '{"project": "a", "fault": "hang", "node": "mysql1", "of_later": 1}'
    )
    (folder / "2.json").mkdir()
    assert [each.text for each in breakages("a")] == ["hang on mysql1"]
    reasons = {path.name: reason for path, reason in unreadable("a").items()}
    assert reasons["0.json"].startswith("the file: Invalid JSON")
    assert reasons["1.json"] == "of_later: Extra inputs are not permitted"
    assert reasons["2.json"] == "Is a directory"


def test_what_is_healed_while_somebody_looks_is_neither_broken_nor_unreadable(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note_breakage(hang())

    def read(path: Path) -> bytes:
        path.unlink()
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_bytes", read)
    assert journal._read("a") == ([], {})


def test_a_write_that_fails_leaves_no_half_of_a_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(OSError, match="No space left"):
        note_breakage(hang())
    assert not list(folder.iterdir())


def test_a_stack_that_is_gone_leaves_nothing(folder: Path) -> None:
    note_breakage(hang())
    (folder / "0.json").write_text("{")
    assert forget_all("a") == 2 and not folder.exists()
    assert forget_all("a") == forget_all("never") == 0
