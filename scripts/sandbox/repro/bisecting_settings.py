"""Bisects a repro over two configurations: which of the variables that differ make the
difference.
"""

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sandbox.core.errors import ExitCode, SandboxError, counted
from sandbox.repro.bisecting import FIRST_REPEATS, Tried, Trier
from sandbox.repro.ddmin import ddmin
from sandbox.repro.predicting import Pace, StartNeeds
from sandbox.repro.runner import ReproCell, ReproRunner
from sandbox.repro.settings import Configuration, SettingDifference, between, differences

GOOD, BAD = "good", "bad"


@dataclass
class FoundSettings:
    """A search under way. ``left``: the fewest differences so far with which the bug shows."""

    all_of_them: Sequence[SettingDifference]
    left: list[SettingDifference] = field(default_factory=list)
    tried: list[Tried] = field(default_factory=list)
    repeats: int = 0
    predicted_s: float = 0.0
    """How long the tries between the two ends would take if one variable alone made it."""
    taken_s: float = 0.0

    @property
    def answer(self) -> str:
        """``It is innodb_snapshot_isolation=ON, with GOOD OFF.``"""
        texts = [each.text for each in self.left]
        if len(texts) == 1:
            return f"The difference is {texts[0]}."
        return f"The difference is {len(texts)} variables together: {'; '.join(texts)}."


@dataclass
class SettingsBisector:
    """Tries configurations between the two.

    ``cell_of``: the repro with the assignments of a try, by its word; SandboxError.
    """

    runner: ReproRunner
    cell_of: Callable[[str, Sequence[str]], ReproCell]
    say: Callable[[str], None]
    first_repeats: int = FIRST_REPEATS
    pace: Pace = field(default_factory=Pace)

    def __post_init__(self) -> None:
        self._trier = Trier(self.runner, self.say, self.first_repeats, self.pace)

    def run(self, good: Configuration, bad: Configuration) -> FoundSettings:
        """The search to its end.

        Raises SandboxError: exit 2 for configurations that are alike, where BAD does not show the
        bug, and where GOOD shows it as often.
        """
        parts = differences(good, bad)
        found = FoundSettings(parts, list(parts), self._trier.tried)
        ends = {GOOD: between(good, parts, []), BAD: between(good, parts, parts)}
        self._trier.ends(GOOD, BAD, lambda word: self.cell_of(word, ends[word]), _most(parts))
        found.repeats = self._trier.repeats
        found.predicted_s = self._predicted_s(parts)
        if len(parts) > 1:
            self.say(
                f"{counted(len(parts), 'variable')} differ; tries of {found.repeats} repeats, about"
                f" {found.predicted_s:.0f} s if one alone makes the difference"
            )
        began_s = time.monotonic()
        known = {frozenset[str](): False, frozenset(each.variable for each in parts): True}

        def shows(kept: Sequence[SettingDifference]) -> bool:
            names = frozenset(each.variable for each in kept)
            if names not in known:
                known[names] = self._shows(kept, between(good, parts, kept))
            return known[names]

        found.left = ddmin(parts, shows)
        found.taken_s = time.monotonic() - began_s
        return found

    def _shows(self, kept: Sequence[SettingDifference], assignments: Sequence[str]) -> bool:
        """Whether the bug shows with some differences as BAD has them. Where nobody can say, such
        as of a server that does not start with them, it does not.
        """
        said = ", ".join(each.variable for each in kept)
        try:
            bad = self._trier.is_bad(said, self.cell_of(word_of(assignments), assignments))
        except SandboxError as error:
            if error.exit_code is not ExitCode.BAD_INPUT:
                raise
            self.say(f"{said}: nobody can say: {error.what}: {error.known}")
            return False
        row = self._trier.tried[-1].row
        if bad is None:
            self.say(f"{said}: nobody can say: {row.seen}")
            return False
        self.say(f"{said}: {'bad' if bad else 'good'} ({row.count} of {row.judged})")
        return bad

    def _predicted_s(self, parts: Sequence[SettingDifference]) -> float:
        """For one variable alone each halving tries the first half, and then the other one."""
        halvings = math.log2(len(parts)) if len(parts) > 1 else 0.0
        good_s = self._trier.good_s(StartNeeds())
        bad_s = self._trier.bad_s(StartNeeds())
        return halvings * (bad_s + 0.5 * good_s)


def _most(parts: Sequence[SettingDifference]) -> int:
    """About so many tries there are, each of which may miss a bug that is a race."""
    return max(1, 2 * len(parts))


def word_of(assignments: Sequence[str]) -> str:
    """A name for a configuration, the same whenever it is tried."""
    return f"try-{hashlib.sha256(' '.join(assignments).encode()).hexdigest()[:8]}"
