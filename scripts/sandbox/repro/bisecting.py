"""Bisects a repro over the exact versions of a server, between one that is good and one that is
bad.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.judge.bisect import Bisection, differ, is_bad, repeats_needed, steps_of
from sandbox.judge.repros import ReproRow, rows_of
from sandbox.profile.alternatives import series_versions
from sandbox.profile.grammar import Term
from sandbox.profile.images import Availability
from sandbox.profile.library import Library
from sandbox.profile.versions import belongs_to, version_key
from sandbox.record.record import Record
from sandbox.repro.runner import ReproCell, ReproRunner

FIRST_REPEATS = 5
"""Of the two versions that are given, unless the file says more."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What a version turned out to be. ``bad`` None: nobody can judge it."""

    version: str
    row: ReproRow
    bad: bool | None


@dataclass
class Bisected:
    """A bisection under way, and what it has found."""

    search: Bisection
    tried: list[Tried] = field(default_factory=list)
    repeats: int = 0
    """Of each version between the two."""
    predicted_s: float = 0.0
    """How long the search would take at most, said before it began."""
    taken_s: float = 0.0


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
class Bisector:
    """Tries versions one after the other. ``cell_of``: the repro in a version; SandboxError."""

    runner: ReproRunner
    cell_of: Callable[[str], ReproCell]
    say: Callable[[str], None]
    first_repeats: int = FIRST_REPEATS

    def run(self, versions: Sequence[str]) -> Bisected:
        """The search to its end.

        Raises SandboxError: exit 2 where BAD does not show the bug, or GOOD shows it as often.
        """
        found = Bisected(Bisection(versions))
        began_s = time.monotonic()
        bad = self._measured(versions[-1], self.first_repeats, found)
        if not bad.row.count:
            raise _not_bad(versions[-1], bad.row)
        good = self._measured(versions[0], self.first_repeats, found)
        self._refuse_alike(good, bad)
        each_s = (time.monotonic() - began_s) / (2 * self.first_repeats)
        steps = steps_of(len(versions)) if len(versions) > 2 else 0
        found.repeats = repeats_needed(bad.row.count, bad.row.judged, max(1, steps))
        found.predicted_s = steps * found.repeats * each_s
        if steps:
            self.say(
                f"{len(versions) - 2} versions between; at most {steps} steps of {found.repeats}"
                f" repeats, about {found.predicted_s:.0f} s"
            )
        began_s = time.monotonic()
        self._search(found, good.row.count / max(1, good.row.judged), bad)
        found.taken_s = time.monotonic() - began_s
        return found

    def _search(self, found: Bisected, good_rate: float, bad: Tried) -> None:
        bad_rate = bad.row.count / bad.row.judged
        while (version := found.search.next()) is not None:
            try:
                tried = self._measured(version, found.repeats, found, ends=good_rate == 0)
            except SandboxError as error:
                self.say(f"{version}: left out: {error.what}: {error.known}")
                found.search.skip(version)
                continue
            if tried.bad is None or not tried.row.judged:
                self.say(f"{version}: left out: {tried.row.seen}")
                found.search.skip(version)
                continue
            bad_now = is_bad(tried.row.count, tried.row.judged, good_rate, bad_rate)
            self.say(f"{version}: {'bad' if bad_now else 'good'} ({tried.row.count} of"
                     f" {tried.row.judged})")  # fmt: skip
            found.search.note(version, bad_now)

    def _measured(self, version: str, repeats: int, found: Bisected, ends: bool = False) -> Tried:
        self.runner.repeat = repeats
        self.runner.ends_when_shown = ends
        cell = self.cell_of(version)
        self.runner.carry_out([cell])
        records: list[Record] = [
            each for each in self.runner.result.records() if each.cell == cell.name
        ]
        (row,) = rows_of(records)
        tried = Tried(version, row, bool(row.count) if row.judged else None)
        found.tried.append(tried)
        return tried

    def _refuse_alike(self, good: Tried, bad: Tried) -> None:
        if good.row.count and not differ(
            bad.row.count, bad.row.judged, good.row.count, good.row.judged
        ):
            what = f"GOOD={good.version} shows the bug as often as BAD={bad.version} does"
            known = (
                f"{good.row.count} of {good.row.judged}, and {bad.row.count} of {bad.row.judged}"
            )
            raise SandboxError(what, known, "try: the same with another GOOD=, or REPEAT=50")
        if not good.row.judged:
            what = f"GOOD={good.version} cannot be judged"
            raise SandboxError(what, good.row.seen, "try: the same with another GOOD=")


def _not_bad(version: str, row: ReproRow) -> SandboxError:
    what = f"BAD={version} does not show the bug"
    step = "try: the same with GOOD= and BAD= exchanged, or with REPEAT=50 where it is a race"
    return SandboxError(what, row.seen, step, ExitCode.BAD_INPUT)


def with_repeat(cell: ReproCell, repeat: int) -> ReproCell:
    """The cell whose file asks for so many repeats."""
    return replace(cell, repro=cell.repro.model_copy(update={"repeat": repeat}))
