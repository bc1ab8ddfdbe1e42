"""Matrix files on disk: found by name or path, and what is wrong told with file and line."""

from pathlib import Path

import pytest

from sandbox.commands.matrix_file import find_matrix, read_matrix
from sandbox.errors import SandboxError

GOOD = """\
title: T
question: Q?
common: {profile: mysql}
factors:
  commits:
    relaxed: {}
    durable: {add: durable}
  threads: [1, 4]
baseline: {commits: relaxed}
"""


def write(tmp_path: Path, text: str) -> Path:
    """A matrix file."""
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return path


def test_a_matrix_is_found_by_its_name_or_any_path(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    assert find_matrix("mine", tmp_path).name == find_matrix(str(path)).name == "mine"


@pytest.mark.parametrize(("word", "known"), [("mien", "did you mean 'mine'?"), (None, "known: mine")])
def test_a_name_that_there_is_none_of_is_refused(tmp_path: Path, word: str | None, known: str) -> None:
    write(tmp_path, GOOD)
    with pytest.raises(SandboxError) as refused:
        find_matrix(word, tmp_path)
    assert refused.value.known == known


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ("  threads: [1, 4]", "  thraeds: [1, 4]", 8, "there is no such key; at the top"),
        ("    durable: {add: durable}", "    durable:\n      colour: red", 8, "there is no such key"),
        ("{commits: relaxed}", "{commits: lax}", 1, "no level 'lax'; it has relaxed, durable"),
        ("question: Q?", "", 1, "question: Field required"),
        ("title: T", "title: T\nspeed: 3", 2, "speed: there is no such key; at the top there are title"),
        ("  threads: [1, 4]", "  threads: [1, nought]", 8, "valid integer"),
        ("title: T", "title: [", 2, "expected"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(tmp_path: Path, old: str, new: str, line: int, told: str) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(SandboxError) as refused:
        read_matrix(path)
    assert refused.value.what == f"{path}:{line} is no matrix", refused.value.known
    assert told in refused.value.known
    assert len(refused.value.lines()) == 3 and refused.value.exit_code == 2


def test_a_file_that_is_not_there_or_no_mapping_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="cannot be read"):
        read_matrix(tmp_path / "no.yaml")
    with pytest.raises(SandboxError, match=":1 is no matrix"):
        read_matrix(write(tmp_path, "- a\n"))
