"""A source tree under git: bisected by git itself, built by a command, left as it was."""

import os
import re
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandbox.core.errors import MachineError, SandboxError, counted

Judged = Literal["good", "bad", "skip"]
_FIRST_BAD = re.compile(r"^([0-9a-f]{40}) is the first bad commit", re.MULTILINE)
_ONLY_SKIPPED = "There are only 'skip'ped commits left to test"
_LEFT = re.compile(r"^Bisecting: (\d+) revisions? left to test after this \(roughly (\d+) steps?\)",
                   re.MULTILINE)  # fmt: skip
_EXAMPLE = (
    "try: make bisect REPRO=mine.yaml OVER=commits REPO=~/server GOOD=mariadb-10.11.18 BAD=main"
    ' BUILD="cmake --build build" BINARY=build'
)


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit. ``subject``: the first line of its message."""

    sha: str
    subject: str

    @property
    def short(self) -> str:
        """The name by which it is shown, and its record is found."""
        return self.sha[:12]

    @property
    def text(self) -> str:
        """``0123456789ab (MDEV-1: a change)``."""
        return f"{self.short} ({self.subject})"


@dataclass
class SourceTree:
    """The tree at a path. It is used as it is: what was built there makes the next build short."""

    path: Path

    def refuse_no_tree(self) -> None:
        """Raises SandboxError (exit 2) for a path without a tree."""
        if not self.path.is_dir() or self._git("rev-parse", "--git-dir").returncode:
            what = f"REPO={self.path} is no source tree under git"
            raise SandboxError(what, "git finds no repository there", _EXAMPLE)

    def refuse_changed(self) -> None:
        """Raises SandboxError (exit 2) for files that were changed: a checkout would fail."""
        changed = self._said("status", "--porcelain", "--untracked-files=no").splitlines()
        if changed:
            what = f"{counted(len(changed), 'file')} of {self.path} changed since the last commit"
            step = f"try: git -C {self.path} stash"
            raise SandboxError(what, changed[0].strip(), step)

    def refuse_bisecting(self) -> None:
        """Raises SandboxError (exit 2) where somebody bisects the tree."""
        if self._is_bisecting():
            what = f"a bisection is under way in {self.path}"
            known = "its marks would be mixed with ours"
            raise SandboxError(what, known, f"try: git -C {self.path} bisect reset")

    def _is_bisecting(self) -> bool:
        log = self._said("rev-parse", "--git-path", "BISECT_LOG").strip()
        return (self.path / log).exists()

    def commit(self, word: str, variable: str) -> Commit:
        """The commit that a word means. Raises SandboxError (exit 2) for an unknown one."""
        done = self._git("log", "-1", "--format=%H%x09%s", word, "--")
        if done.returncode:
            what = f"{variable}={word} is no commit of {self.path}"
            last = done.stderr.strip().rpartition("\n")[2]
            raise SandboxError(what, last, f"try: git -C {self.path} log --oneline")
        sha, _, subject = done.stdout.strip().partition("\t")
        return Commit(sha, subject)

    def refuse_order(self, good: Commit, bad: Commit) -> None:
        """Raises SandboxError (exit 2) where no commit leads from GOOD to BAD."""
        if not self._said("rev-list", "-1", f"{good.sha}..{bad.sha}").strip():
            what = f"no commit leads from GOOD={good.short} to BAD={bad.short}"
            known = "BAD is a descendant of GOOD"
            if self._said("rev-list", "-1", f"{bad.sha}..{good.sha}").strip():
                known = "it is the other way round: BAD is the one with the bug, and the later one"
            raise SandboxError(what, known, _EXAMPLE)

    def between(self, good: Commit, bad: Commit) -> int:
        """How many commits lead from GOOD to BAD, BAD included."""
        return int(self._said("rev-list", "--count", f"{good.sha}..{bad.sha}"))

    @property
    def head(self) -> str:
        """What is checked out: a branch, else a commit."""
        branch = self._git("symbolic-ref", "--short", "-q", "HEAD").stdout.strip()
        return branch or self._said("rev-parse", "HEAD").strip()

    def check_out(self, word: str) -> None:
        """Checks a branch or a commit out. Raises MachineError."""
        self._said("checkout", "--quiet", word, "--")

    def begin(self, good: Commit, bad: Commit) -> "BisectState":
        """Begins git's bisection, and checks the first commit to try out."""
        self._said("bisect", "start")
        self._said("bisect", "bad", bad.sha)
        return self._state(self._git("bisect", "good", good.sha))

    def judge(self, word: Judged) -> "BisectState":
        """Says what the commit that is checked out turned out to be; checks the next one out."""
        return self._state(self._git("bisect", word))

    def end(self, home: str) -> None:
        """Ends git's bisection, if there is one, and checks out what was there before it."""
        if self._is_bisecting():
            self._git("bisect", "reset", home)
        if self.head != home:
            self.check_out(home)

    def build(self, command: str, log: Path) -> str | None:
        """Runs a command of the shell in the tree, its output in ``log``; why it failed, if it did.

        An interruption ends it, and whatever it has started.
        """
        with log.open("w", encoding="utf-8") as file:
            process = subprocess.Popen(
                ["sh", "-c", command], cwd=self.path, stdin=subprocess.DEVNULL, stdout=file,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                code = process.wait()
            except BaseException:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise
        if not code:
            return None
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f"exit code {code}: {lines[-1] if lines else 'it printed nothing'}"

    def _state(self, done: "subprocess.CompletedProcess[str]") -> "BisectState":
        said = f"{done.stdout}\n{done.stderr}"
        if found := _FIRST_BAD.search(said):
            return BisectState(None, self.commit(found[1], "BAD"))
        if _ONLY_SKIPPED in said:
            return BisectState(None, None)
        if done.returncode:
            what = f"git cannot bisect {self.path}"
            last = said.strip().rpartition("\n")[2]
            raise MachineError(what, last, f"try: git -C {self.path} bisect log")
        left = _LEFT.search(said)
        return BisectState(self.commit("HEAD", "HEAD"), None, int(left[2]) + 1 if left else 1)

    def _said(self, *argv: str) -> str:
        done = self._git(*argv)
        if done.returncode:
            what = f"git {argv[0]} fails in {self.path}"
            last = (done.stderr or done.stdout).strip().rpartition("\n")[2]
            raise MachineError(what, last, f"try: git -C {self.path} status")
        return done.stdout

    def _git(self, *argv: str) -> "subprocess.CompletedProcess[str]":
        # Of a hook that calls us: they would mean another tree.
        own = {key: each for key, each in os.environ.items() if not key.startswith("GIT_")}
        own |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
        return subprocess.run(
            ["git", *argv], cwd=self.path, env=own, capture_output=True, text=True, check=False
        )


@dataclass(frozen=True, slots=True)
class BisectState:
    """Where git's bisection is. Neither ``next`` nor ``first_bad``: only skipped commits are
    left.
    """

    next: Commit | None
    """The commit that is checked out, to be tried."""
    first_bad: Commit | None
    steps: int = 0
    """About so many commits are still to be tried, this one included."""


def no_tree(path: str | None) -> SandboxError:
    """The error for a search over commits that lacks what it needs."""
    what = "OVER=commits needs REPO, BUILD, BINARY, GOOD and BAD"
    return SandboxError(what, f"REPO={path or ''}", _EXAMPLE)
