"""Bisects a repro over the commits of a source tree: each is built, and its server tried."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.core.errors import ExitCode, SandboxError, counted
from sandbox.repro.bisecting import FIRST_REPEATS, Tried, Trier
from sandbox.repro.predicting import Pace, StartNeeds
from sandbox.repro.runner import ReproCell, ReproRunner
from sandbox.repro.source_tree import BisectState, Commit, SourceTree


@dataclass
class FoundCommit:
    """A search under way. ``first_bad`` None: not found, since only ``skipped`` ones are left."""

    good: Commit
    bad: Commit
    first_bad: Commit | None = None
    skipped: list[Commit] = field(default_factory=list)
    """Not built, or with no verdict."""
    tried: list[Tried] = field(default_factory=list)
    repeats: int = 0
    predicted_s: float = 0.0
    """How long the search between the two ends would take, by git's own number of steps."""
    taken_s: float = 0.0

    @property
    def answer(self) -> str:
        """``The bug came with 0123456789ab (MDEV-1: a change).``"""
        left_out = ""
        if self.skipped:
            texts = ", ".join(each.short for each in self.skipped)
            left_out = f" Left out, since they were not built or cannot be judged: {texts}."
        if self.first_bad is None:
            return f"The bug came with one of the commits that were left out.{left_out}"
        return f"The bug came with {self.first_bad.text}.{left_out}"


@dataclass
class CommitBisector:
    """Tries commits as git chooses them.

    ``cell_of``: the repro in a commit, by its word; ``planned``: the same on the server that was
    built, SandboxError. ``build``: the shell's command that builds the tree; ``logs``: the folder
    for what it prints.
    """

    runner: ReproRunner
    tree: SourceTree
    build: str
    logs: Path
    cell_of: Callable[[str], ReproCell]
    planned: Callable[[ReproCell], ReproCell]
    say: Callable[[str], None]
    first_repeats: int = FIRST_REPEATS
    pace: Pace = field(default_factory=Pace)
    _builds_s: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._trier = Trier(self.runner, self.say, self.first_repeats, self.pace)

    def run(self, good: Commit, bad: Commit) -> FoundCommit:
        """The search to its end; the tree is then as it was before.

        Raises SandboxError: exit 2 where BAD does not show the bug, where GOOD shows it as often,
        and where one of the two is not built.
        """
        home = self._home()
        found = FoundCommit(good, bad, tried=self._trier.tried)
        try:
            state = self._ends(found)
            began_s = time.monotonic()
            while state.next is not None:
                state = self._step(found, state.next)
            found.first_bad = state.first_bad
            found.taken_s = time.monotonic() - began_s
        finally:
            self.tree.end(home)
        return found

    def _home(self) -> str:
        """What was checked out before the search; also before one that was killed."""
        part = self.runner.result.manifest.repro
        if part is not None and part.home is not None:
            self.tree.end(part.home)
            home = part.home
        else:
            home = self.tree.head
        self.tree.refuse_bisecting()
        self.runner.result.note_repro(home=home)
        return home

    def _ends(self, found: FoundCommit) -> BisectState:
        commits = {each.short: each for each in (found.good, found.bad)}

        def built(word: str) -> ReproCell:
            cell = self.cell_of(word)
            if self._trier.knows(cell, at_end=True):
                return cell
            self.tree.check_out(commits[word].sha)
            failure = self._built(commits[word])
            if failure is not None:
                what = f"{commits[word].text} is not built"
                raise SandboxError(what, failure, f"try: less {self._log_of(commits[word])}")
            return self.planned(cell)

        count = self.tree.between(found.good, found.bad)
        self._trier.ends(found.good.short, found.bad.short, built, count.bit_length())
        state = self.tree.begin(found.good, found.bad)
        found.repeats = self._trier.repeats
        found.predicted_s = self._left_s(state)
        if state.next is not None:
            self.say(
                f"{counted(count - 1, 'commit')} between; about {counted(state.steps, 'step')} of"
                f" {found.repeats} repeats, about {found.predicted_s:.0f} s"
            )
        return state

    def _step(self, found: FoundCommit, commit: Commit) -> BisectState:
        bad, seen = self._tried(commit)
        if bad is None:
            found.skipped.append(commit)
            self.say(f"{commit.text}: left out: {seen}")
            return self.tree.judge("skip")
        state = self.tree.judge("bad" if bad else "good")
        left = f"; about {self._left_s(state):.0f} s left" if state.next else ""
        self.say(f"{commit.text}: {'bad' if bad else 'good'} ({seen}){left}")
        return state

    def _tried(self, commit: Commit) -> tuple[bool | None, str]:
        """Whether a commit is bad, and what was seen; None: it is not built, or nobody can judge
        it.
        """
        cell = self.cell_of(commit.short)
        if not self._trier.knows(cell, at_end=False):
            failure = self._known_cause(commit) or self._built(commit)
            if failure is not None:
                return None, failure
            try:
                cell = self.planned(cell)
            except SandboxError as error:  # what was built is no server, say
                if error.exit_code is not ExitCode.BAD_INPUT:
                    raise
                return None, f"{error.what}: {error.known}"
        bad = self._trier.is_bad(commit.short, cell)
        row = self._trier.tried[-1].row
        return bad, row.seen if bad is None else f"{row.count} of {row.judged}"

    def _built(self, commit: Commit) -> str | None:
        """Builds what is checked out; why it failed, if it did."""
        self.say(f"{commit.text}: building")
        began_s = time.monotonic()
        failure = self.tree.build(self.build, self._log_of(commit))
        if failure is not None:
            self._failed_of(commit).write_text(failure, encoding="utf-8")
        else:
            self._builds_s.append(time.monotonic() - began_s)
        return failure

    def _known_cause(self, commit: Commit) -> str | None:
        """Why a commit was not built before the search was resumed; None: it did not fail."""
        path = self._failed_of(commit)
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def _log_of(self, commit: Commit) -> Path:
        self.logs.mkdir(exist_ok=True)
        return self.logs / f"{commit.short}.log"

    def _failed_of(self, commit: Commit) -> Path:
        return self.logs / f"{commit.short}.failed"

    def _left_s(self, state: BisectState) -> float:
        """The first build is the whole tree; those after it are of what differs."""
        if state.next is None:
            return 0.0
        later = self._builds_s[1:] or self._builds_s
        build_s = sum(later) / len(later) if later else 0.0
        trier = self._trier
        half_s = (trier.good_s(StartNeeds(image=True)) + trier.bad_s(StartNeeds(image=True))) / 2
        return state.steps * (build_s + half_s)
