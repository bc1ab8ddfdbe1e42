"""The search over commits of a real repository, whose servers are made up."""

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sandbox.core.errors import SandboxError
from sandbox.record.manifest import ReprosPart
from sandbox.repro.bisecting_commits import CommitBisector, FoundCommit
from sandbox.repro.runner import ReproCell, ReproRunner
from sandbox.repro.source_tree import SourceTree
from unit.repro.test_bisecting import MadeUpCell, MadeUpRunner

AUTHOR = {
    f"GIT_{who}_{what}": text
    for who in ("AUTHOR", "COMMITTER")
    for what, text in (("NAME", "Somebody"), ("EMAIL", "somebody@example.org"))
}
BUILD = 'test ! -e broken && cp source out 2>/dev/null || { echo "source is broken"; exit 2; }'


def git(repo: Path, *argv: str) -> str:
    done = subprocess.run(
        ["git", *argv], cwd=repo, capture_output=True, text=True, check=True,
        env={**os.environ, **AUTHOR, "GIT_CONFIG_GLOBAL": "/dev/null"},
    )  # fmt: skip
    return done.stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Sixteen commits on the branch main: the bug comes with the eleventh; 7 and 12 do not
    build.
    """
    path = tmp_path / "server"
    path.mkdir()
    git(path, "init", "--quiet", "--initial-branch=main")
    for number in range(1, 17):
        (path / "source").write_text(f"{number} {'bug' if number >= 11 else 'fine'}\n")
        broken = path / "broken"
        broken.unlink(missing_ok=True)
        if number in (7, 12):
            broken.touch()
        git(path, "add", "--all")
        git(path, "commit", "--quiet", "--message", f"MDEV-{number}: a change")
        git(path, "tag", f"c{number}")
    (path / ".git" / "info" / "exclude").write_text("out\n")
    return path


class Builds(MadeUpRunner):
    """Carries out by what the build has left in the tree."""

    def __init__(self, repo: Path, part: ReprosPart | None = None) -> None:
        super().__init__({})
        self.rates: dict[str, float | None] = {}
        self.repo = repo
        self.part = part or ReprosPart(key="k")
        self.built: list[str] = []

    @property
    def result(self) -> Any:
        return SimpleNamespace(
            manifest=SimpleNamespace(repro=self.part), note_repro=self._note_repro
        )

    def _note_repro(self, **changes: object) -> None:
        self.part = self.part.model_copy(update=changes)

    def planned(self, cell: ReproCell) -> ReproCell:
        text = (self.repo / "out").read_text()
        self.built.append(text.split()[0])
        self.rates[cell.name] = 1.0 if "bug" in text else 0.0
        return cell


def bisector(builds: Builds, logs: Path, said: list[str], build: str = BUILD) -> CommitBisector:
    return CommitBisector(
        cast("ReproRunner", builds),
        SourceTree(builds.repo),
        build,
        logs,
        lambda commit: cast("ReproCell", MadeUpCell(commit)),
        builds.planned,
        said.append,
    )


def searched(
    builds: Builds, logs: Path, good: str = "c1", bad: str = "c16", build: str = BUILD
) -> tuple[FoundCommit, list[str]]:
    said: list[str] = []
    search = bisector(builds, logs, said, build)
    return search.run(search.tree.commit(good, "GOOD"), search.tree.commit(bad, "BAD")), said


def test_the_commit_with_which_the_bug_came_is_found(repo: Path, tmp_path: Path) -> None:
    builds = Builds(repo)
    found, said = searched(builds, tmp_path / "logs")
    assert found.first_bad is not None
    assert found.first_bad.subject == "MDEV-11: a change"
    assert builds.built[:2] == ["16", "1"], "BAD first, then GOOD"
    assert len(builds.built) <= 2 + 6
    assert any(line.startswith("14 commits between; about ") for line in said)


def test_the_tree_is_afterwards_as_it_was(repo: Path, tmp_path: Path) -> None:
    searched(Builds(repo), tmp_path / "logs")
    assert git(repo, "symbolic-ref", "--short", "HEAD") == "main"
    assert not (repo / ".git" / "BISECT_LOG").exists()
    with pytest.raises(SandboxError):
        searched(Builds(repo), tmp_path / "logs", "c1", "c5")
    assert git(repo, "symbolic-ref", "--short", "HEAD") == "main"


def test_a_commit_that_does_not_build_is_left_out(repo: Path, tmp_path: Path) -> None:
    found, said = searched(Builds(repo), tmp_path / "logs", "c10", "c13")
    assert found.first_bad is not None and found.first_bad.subject == "MDEV-11: a change"
    found, said = searched(Builds(repo), tmp_path / "more", "c6", "c16")
    assert found.first_bad is not None and found.first_bad.subject == "MDEV-11: a change"
    left_out = [line for line in said if ": left out: " in line]
    assert all(line.endswith("exit code 2: source is broken") for line in left_out)


def test_where_only_left_out_ones_are_left_it_says_so(repo: Path, tmp_path: Path) -> None:
    git(repo, "rm", "--quiet", "-r", "--ignore-unmatch", "broken")
    build = 'case $(cat source) in 1[01]*) echo "no compiler"; exit 1;; esac; cp source out'
    found, _ = searched(Builds(repo), tmp_path / "logs", "c9", "c12", build)
    assert found.first_bad is None
    assert found.answer.startswith("The bug came with one of the commits that were left out.")


def test_what_was_tried_before_it_was_killed_is_not_built_again(repo: Path, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    builds = Builds(repo)
    search = bisector(builds, logs, [])
    step = search._step
    steps: list[str] = []

    def killed(found: FoundCommit, commit: Any) -> Any:
        if len(steps) == 2:
            raise SystemExit  # as SIGKILL: the tree is not put back
        steps.append(commit.short)
        return step(found, commit)

    search._step = killed  # type: ignore[method-assign]
    search.tree.end = lambda home: None  # type: ignore[method-assign]
    good, bad = search.tree.commit("c1", "GOOD"), search.tree.commit("c16", "BAD")
    with pytest.raises(SystemExit):
        search.run(good, bad)
    assert (repo / ".git" / "BISECT_LOG").exists()
    built = list(builds.built)
    found, _ = searched(builds, logs)
    assert found.first_bad is not None and found.first_bad.subject == "MDEV-11: a change"
    assert builds.built[: len(built)] == built
    assert len(set(builds.built)) == len(builds.built), "none is built twice"
    assert git(repo, "symbolic-ref", "--short", "HEAD") == "main"


@pytest.mark.parametrize(
    ("good", "bad", "text"),
    [("c16", "c1", "it is the other way round"), ("c3", "c3", "BAD is a descendant of GOOD")],
)
def test_ends_in_the_wrong_order_are_refused(repo: Path, good: str, bad: str, text: str) -> None:
    tree = SourceTree(repo)
    with pytest.raises(SandboxError) as refused:
        tree.refuse_order(tree.commit(good, "GOOD"), tree.commit(bad, "BAD"))
    assert text in refused.value.known


def test_a_tree_that_somebody_works_in_is_refused(repo: Path, tmp_path: Path) -> None:
    tree = SourceTree(repo)
    tree.refuse_no_tree()
    tree.refuse_changed()
    with pytest.raises(SandboxError, match="is no source tree under git"):
        SourceTree(tmp_path / "nowhere").refuse_no_tree()
    with pytest.raises(SandboxError, match="GOOD=c99 is no commit"):
        tree.commit("c99", "GOOD")
    (repo / "source").write_text("mine\n")
    with pytest.raises(SandboxError, match=r"1 file of .* changed since the last commit"):
        tree.refuse_changed()
    git(repo, "checkout", "--quiet", "source")
    git(repo, "bisect", "start")
    with pytest.raises(SandboxError, match="a bisection is under way"):
        tree.refuse_bisecting()
