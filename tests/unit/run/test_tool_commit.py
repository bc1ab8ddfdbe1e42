"""A result knows which version of this tool measured it."""

import subprocess
from pathlib import Path

from sandbox.run.tool_commit import tool_commit


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    command = ["git", "-C", str(folder), *identity, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_commit_with_a_plus_for_changed_files(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("1")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-q", "-m", "first")
    git(tmp_path, "tag", "v1")
    commit = git(tmp_path, "rev-parse", "--short=12", "HEAD")
    assert tool_commit(tmp_path) == commit, "the commit itself, whatever tags there are"
    (tmp_path / "file").write_text("2")
    assert tool_commit(tmp_path) == f"{commit}+"


def test_outside_of_git_nothing_is_known(tmp_path: Path) -> None:
    assert tool_commit(tmp_path / "none") is None
