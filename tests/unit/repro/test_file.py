"""Repro files: those that ship, and what is wrong in one of the user's, with its line."""

from pathlib import Path

import pytest

from sandbox.core.errors import SandboxError
from sandbox.repro.file import read_repro, repro_names
from sandbox.repro.steps.statement import StatementStep

GOOD = """\
title: T
question: Q?
profile: mysql
steps:
  - s1 @mysql1: begin
  - s1: select 1
    name: read
  - wait: 1s
expect:
  bug:
    - result: read
      rows: 2
  fixed:
    - result: read
      rows: 1
"""


def write(folder: Path, text: str) -> str:
    """A repro file."""
    path = folder / "mine.yaml"
    path.write_text(text)
    return str(path)


def test_a_file_is_read(tmp_path: Path) -> None:
    repro = read_repro(write(tmp_path, GOOD))
    assert repro.name == "mine" and repro.sessions == ["s1"]
    first, second, third = repro.steps
    assert isinstance(first, StatementStep) and (first.place, first.sql) == ("mysql1", "begin")
    assert second.name == "read" and third.text == "wait: 1s"
    assert [each.text for each in repro.expect.fixed] == ["read: rows [['1']]"]


@pytest.mark.parametrize("name", repro_names())
def test_every_repro_that_ships_can_be_read_and_says_where_it_comes_from(name: str) -> None:
    repro = read_repro(name)
    assert repro.links and repro.affected and repro.question.endswith("?")


def test_what_is_carried_out_has_an_identity(tmp_path: Path) -> None:
    known = read_repro(write(tmp_path, GOOD)).sha256
    other = read_repro(write(tmp_path, GOOD.replace("title: T", "title: U"))).sha256
    changed = read_repro(write(tmp_path, GOOD.replace("select 1", "select 2"))).sha256
    assert known == other != changed


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("title: T\n", "", 1, "title: field required"),
        ("title: T", "titel: T", 1, "there is no such key; did you mean 'title'?"),
        ("  - wait: 1s", "  - wait: soon", 8, "a length of time such as 500ms"),
        ("  - wait: 1s", "  - hang on", 8, "a step is a mapping"),
        ("  - wait: 1s", "  - 's 1': begin", 8, "is no step: one begins with a session"),
        ("    name: read", "    name: read\n    rowz: 1", 8, "there is no such key"),
        ("    name: read", "    blocks: true\n    rows: 1", 6, "has its result in a step 'ends'"),
        ("  - wait: 1s", "  - break: hagn writer", 8, "there is no fault 'hagn'"),
        ("  - wait: 1s", "  - act: swtchover", 8, "there is no action 'swtchover'"),
        ("  - wait: 1s", "  - workload: writers", 8, "a workload and how long"),
        ("  - wait: 1s", "  - until: select 1", 8, "until waits for rows"),
        ("    - result: read\n      rows: 2", "    - reslut: read", 11, "did you mean 'result'?"),
        ("    - result: read\n      rows: 2", "    - result: raed", 1, "no step is named raed"),
        ("    - result: read\n      rows: 2", "    - log: '{s3} '", 1, "no session is s3 (s1)"),
        ("  - wait: 1s", "  - cut: ''", 8, "at least 1 character"),
        ("  - wait: 1s", "  - counter: a b", 8, "'a b' is no status variable, such as Aborted"),
        ("title: T", "title: T\naffected: {mariadb: ['10.x']}", 2, "no range of versions"),
        ("title: T", "title: T\naffected: {oracle: ['<1']}", 2, "'mysql' or 'mariadb'"),
        ("title: T", "title: T\nload: {file: /no/such.sql}", 2, "/no/such.sql is not there"),
        ("title: T", "title: T\nrepeat: 0", 2, "repeat: at least 1"),
        ("title: T", "title: T\ntitle: U", 2, "the key 'title' appears twice"),
        ("title: T", "title: [", 2, "expected"),
    ],
)
def test_what_is_wrong_is_reported_with_file_and_line(
    tmp_path: Path, old: str, new: str, line: int, message: str
) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(SandboxError) as refused:
        read_repro(path)
    assert refused.value.what == f"{path}:{line} is not a valid repro", refused.value.known
    assert message in refused.value.known
    assert refused.value.exit_code == 2


def test_a_name_that_there_is_none_of_is_refused() -> None:
    with pytest.raises(SandboxError) as refused:
        read_repro("snapshot-isolation")
    assert refused.value.known.startswith("did you mean 'snapshot-isolation-1020'?")
