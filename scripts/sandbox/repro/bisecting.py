"""Bisects a repro over the exact versions of a server, between one that is good and one that is
bad.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sandbox.core.errors import ExitCode, SandboxError, counted
from sandbox.judge.bisect import (
    Bisection,
    differ,
    expected_cost,
    expected_repeats,
    is_bad,
    repeats_needed,
    steps_of,
)
from sandbox.judge.repros import ReproRow, rows_of
from sandbox.profile.alternatives import series_versions
from sandbox.profile.grammar import Term
from sandbox.profile.images import Availability
from sandbox.profile.library import Library
from sandbox.profile.versions import belongs_to, version_key
from sandbox.record.manifest import StartPart
from sandbox.repro.predicting import Pace, StartNeeds
from sandbox.repro.runner import ReproCell, ReproRunner

FIRST_REPEATS = 5
"""Of the two ends that are given, unless the file says more."""
ALIKE = 3
"""Repeats of a variant that end at the same step without a verdict are enough: it cannot be
judged.
"""


@dataclass(frozen=True, slots=True)
class Tried:
    """What a variant of a repro turned out to be. ``bad`` None: nobody can judge it."""

    word: str
    row: ReproRow
    bad: bool | None


@dataclass
class Trier:
    """Carries a repro out in variants of its stack, each as often as it takes to judge it."""

    runner: ReproRunner
    say: Callable[[str], None]
    first_repeats: int = FIRST_REPEATS
    pace: Pace = field(default_factory=Pace)
    tried: list[Tried] = field(default_factory=list)
    repeats: int = 0
    """Of each variant between the two ends."""
    good_rate: float = 0.0
    bad_rate: float = 1.0

    def __post_init__(self) -> None:
        self._earlier = list(self.pace.starts)

    def ends(self, good: str, bad: str, cell_of: Callable[[str], ReproCell], steps: int) -> None:
        """Measures BAD and GOOD; ``steps``: how many variants are tried after them, at most.

        Raises SandboxError (exit 2) where BAD does not show the bug, or GOOD shows it as often.
        """
        at_bad = self._measured(bad, cell_of(bad), self.first_repeats)
        if not at_bad.row.count:
            raise _not_bad(bad, at_bad.row)
        at_good = self._measured(good, cell_of(good), self.first_repeats)
        _refuse_alike(at_good, at_bad)
        self.good_rate = at_good.row.count / at_good.row.judged
        self.bad_rate = at_bad.row.count / at_bad.row.judged
        self.repeats = repeats_needed(at_bad.row.count, at_bad.row.judged, max(1, steps))

    def is_bad(self, word: str, cell: ReproCell) -> bool | None:
        """Whether a variant is as BAD is; None: nobody can judge it."""
        ends = self.good_rate == 0
        tried = self._measured(word, cell, self.repeats, ends)
        if tried.bad is None:
            return None
        return is_bad(tried.row.count, tried.row.judged, self.good_rate, self.bad_rate)

    def knows(self, cell: ReproCell, at_end: bool) -> bool:
        """Whether a variant is over, so that it needs no stack; ``at_end``: of BAD or GOOD."""
        self.runner.repeat = self.first_repeats if at_end else self.repeats
        self.runner.ends_when_shown = not at_end and self.good_rate == 0
        self.runner.enough = ALIKE if self.runner.ends_when_shown else None
        return not self.runner.is_open(cell)

    def good_s(self, needs: StartNeeds) -> float:
        """Seconds that a variant takes which turns out to be good."""
        return self.pace.try_s(self.repeats, needs)

    def bad_s(self, needs: StartNeeds) -> float:
        """The same of one that is bad: where GOOD never shows the bug, once is enough."""
        repeats = float(self.repeats)
        if self.good_rate == 0:
            repeats = expected_repeats(self.bad_rate, self.repeats)
        return self.pace.try_s(repeats, needs)

    def _measured(self, word: str, cell: ReproCell, repeats: int, ends: bool = False) -> Tried:
        runner = self.runner
        runner.repeat = repeats
        runner.ends_when_shown = ends
        runner.enough = ALIKE if ends else None
        made_before = runner.done
        began_s = time.monotonic()
        records = runner.carry_out([cell])
        took_s = time.monotonic() - began_s
        self.pace.repeat_s = runner.repeat_s
        self.pace.starts = [*self._earlier, *runner.starts]
        if runner.done - made_before == len(records):  # none of them was known
            self.pace.note(took_s, len(records), self._start_of(cell))
        (row,) = rows_of(records)
        tried = Tried(word, row, bool(row.count) if row.judged else None)
        self.tried.append(tried)
        return tried

    def _start_of(self, cell: ReproCell) -> StartPart | None:
        started = (each for each in reversed(self.runner.starts) if each.cell == cell.name)
        return next(started, None)


def _refuse_alike(good: Tried, bad: Tried) -> None:
    if not good.row.judged:
        what = f"GOOD={good.word} cannot be judged"
        raise SandboxError(what, good.row.seen, "try: the same with another GOOD=")
    if good.row.count and not differ(
        bad.row.count, bad.row.judged, good.row.count, good.row.judged
    ):
        what = f"GOOD={good.word} shows the bug as often as BAD={bad.word} does"
        known = f"{good.row.count} of {good.row.judged}, and {bad.row.count} of {bad.row.judged}"
        raise SandboxError(what, known, "try: the same with another GOOD=, or REPEAT=50")


def _not_bad(word: str, row: ReproRow) -> SandboxError:
    what = f"BAD={word} does not show the bug"
    step = "try: the same with GOOD= and BAD= exchanged, or with REPEAT=50 where it is a race"
    return SandboxError(what, row.seen, step, ExitCode.BAD_INPUT)


def versions_between(
    term: Term, good: str, bad: str, library: Library, available: Availability
) -> list[str]:
    """Exact versions from GOOD to BAD that are here, published where a registry is reached, or
    built; both included, as they were typed.
    """
    key = library.components.get(term.name).spec.image or term.name
    image = library.catalog.image(key)
    found = set[str]()
    for series in image.series:
        versions = series_versions(library.catalog, key, series, available)
        found |= {*versions.here, *versions.buildable}
        if versions.published and available.registry():
            found |= {*versions.published}
    low, high = sorted((good, bad), key=version_key)
    inner = [
        each
        for each in found
        if version_key(low) < version_key(each) < version_key(high)
        and not belongs_to(each, low)
        and not belongs_to(each, high)
    ]
    ordered = [low, *sorted(inner, key=version_key), high]
    return ordered if ordered[0] == good else ordered[::-1]


@dataclass
class Bisected:
    """A bisection under way, and what it has found."""

    search: Bisection
    tried: list[Tried] = field(default_factory=list)
    repeats: int = 0
    """Of each version between the two ends."""
    predicted_s: float = 0.0
    """How long the search between them would take, the mean over all places at which it might end;
    said before it began.
    """
    taken_s: float = 0.0

    @property
    def good(self) -> str:
        """The last version without the bug."""
        return self.search.good

    @property
    def bad(self) -> str:
        """The first one with it."""
        return self.search.bad

    @property
    def answer(self) -> str:
        """``The bug is in 11.8, and not in 10.11.``"""
        text = f"The bug is in {self.bad}, and not in {self.good}."
        if self.search.skipped:
            skipped = ", ".join(self.search.skipped)
            text += f" Left out, since nobody can judge them: {skipped}."
        return text


def no_needs(_: str) -> StartNeeds:
    """Of versions whose images and first starts are all here."""
    return StartNeeds()


@dataclass
class Bisector:
    """Tries versions one after the other. ``cell_of``: the repro in a version; SandboxError.

    ``needs``: what the stack of a version needs before it starts; ``pace``: as known before.
    """

    runner: ReproRunner
    cell_of: Callable[[str], ReproCell]
    say: Callable[[str], None]
    first_repeats: int = FIRST_REPEATS
    needs: Callable[[str], StartNeeds] = no_needs
    pace: Pace = field(default_factory=Pace)

    def __post_init__(self) -> None:
        self._trier = Trier(self.runner, self.say, self.first_repeats, self.pace)

    def run(self, versions: Sequence[str]) -> Bisected:
        """The search to its end.

        Raises SandboxError: exit 2 where BAD does not show the bug, or GOOD shows it as often.
        """
        trier = self._trier
        found = Bisected(Bisection(versions), trier.tried)
        steps = steps_of(len(versions)) if len(versions) > 2 else 0
        trier.ends(versions[0], versions[-1], self.cell_of, steps)
        found.repeats = trier.repeats
        needed = {each: self.needs(each) for each in found.search.between}
        found.predicted_s = self._left_s(found.search, needed)
        if steps:
            between = counted(len(versions) - 2, "version")
            self.say(
                f"{between} between; at most {counted(steps, 'step')} of {found.repeats} repeats,"
                f" about {found.predicted_s:.0f} s"
            )
        began_s = time.monotonic()
        self._search(found, needed)
        found.taken_s = time.monotonic() - began_s
        return found

    def _left_s(self, search: Bisection, needed: dict[str, StartNeeds]) -> float:
        trier = self._trier
        return expected_cost(
            search.between,
            lambda version: trier.good_s(needed[version]),
            lambda version: trier.bad_s(needed[version]),
        )

    def _search(self, found: Bisected, needed: dict[str, StartNeeds]) -> None:
        while (version := found.search.next()) is not None:
            try:
                bad = self._trier.is_bad(version, self.cell_of(version))
            except SandboxError as error:
                self.say(f"{version}: left out: {error.what}: {error.known}")
                found.search.skip(version)
                continue
            row = found.tried[-1].row
            if bad is None:
                self.say(f"{version}: left out: {row.seen}")
                found.search.skip(version)
                continue
            found.search.note(version, bad)
            left = ""
            if found.search.between:
                left = f"; about {self._left_s(found.search, needed):.0f} s left"
            word = "bad" if bad else "good"
            self.say(f"{version}: {word} ({row.count} of {row.judged}){left}")
