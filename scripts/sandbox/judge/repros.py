"""PURE: the verdict on a repro, what its repeats in a version say together, the exit code."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sandbox.core.errors import ExitCode
from sandbox.judge.bisect import differ
from sandbox.judge.rank_tests import Interval
from sandbox.judge.rates import rate_interval
from sandbox.record.record import Record
from sandbox.record.repro import ExpectationRecord, ReproVerdict, Side, StepRecord

_AS_EXPECTED: dict[Side, ReproVerdict] = {"bug": "reproduced", "fixed": "fixed"}


def verdict_of(
    steps: Sequence[StepRecord],
    expectations: Sequence[ExpectationRecord],
    trouble: str | None = None,
) -> tuple[ReproVerdict, str]:
    """The verdict, and in one sentence why.

    ``trouble``: why the steps ended before the last one. A step without a name that did not go as
    the file says is no verdict on the bug: what was to be shown was not set up.
    """
    failed = next((each for each in steps if each.problem and not each.name), None)
    if failed is not None:
        return "neither", f"step {failed.number} ({failed.text}): {failed.problem}"
    if trouble is not None:
        return "unknown", trouble
    bug = [each for each in expectations if each.side == "bug"]
    fixed = [each for each in expectations if each.side == "fixed"]
    is_bug = all(each.met for each in bug)
    is_fixed = all(each.met for each in fixed)
    if is_bug and is_fixed:
        return "unknown", "everything came that is expected of the bug, and of its absence"
    if is_bug:
        return "reproduced", "; ".join(each.seen for each in bug)
    if is_fixed:
        return "fixed", "; ".join(each.seen for each in fixed)
    if any(each.met is None for each in expectations):
        silent = next(each for each in expectations if each.met is None)
        return "unknown", f"{silent.text}: {silent.seen}"
    seen = [each.seen for each in expectations if not each.met]
    return "neither", "; ".join(dict.fromkeys(seen))


@dataclass(frozen=True, slots=True)
class ReproRow:
    """One repro in one version. ``count`` of ``judged`` repeats showed the bug."""

    cell: str
    repro: str
    profile: str
    version: str | None
    """Of the server, without what a distribution adds; None where none started."""
    verdict: ReproVerdict
    seen: str
    count: int
    judged: int
    interval: Interval | None
    """Of the rate, exact; None without a repeat that was judged."""
    expected: Side | None
    seconds: float | None
    """The median of the repeats, from the first step to the last expectation."""
    settings: str = ""
    """Variables beside those of the profile, as SET= took them."""

    @property
    def is_as_expected(self) -> bool | None:
        """Whether the verdict is the one that is expected; None: nothing is."""
        if self.expected is None:
            return None
        return self.verdict == _AS_EXPECTED[self.expected]


def row_of(cell: str, records: Sequence[Record]) -> ReproRow:
    """The repeats of one cell together. One that shows the bug is enough: it is there.

    ``fixed`` needs all of those that have a verdict; what came instead in another one counts more.
    """
    found = [record.repro for record in records if record.repro is not None]
    last = records[-1]
    judged = [each for each in found if each.verdict in ("reproduced", "fixed")]
    shown = [each for each in judged if each.verdict == "reproduced"]
    others = [each for each in found if each.verdict not in ("reproduced", "fixed")]
    telling = next(iter([*shown, *others, *judged]), None)
    seconds = sorted(each.seconds for each in found)
    return ReproRow(
        cell=cell,
        repro=telling.name if telling else cell.partition(".")[0],
        profile=last.profile,
        version=_short(telling.version) if telling and telling.version else None,
        verdict=telling.verdict if telling else "unknown",
        seen=telling.seen if telling else (last.reason or "nothing was carried out"),
        count=len(shown),
        judged=len(judged),
        interval=rate_interval(len(shown), len(judged)),
        expected=telling.expected if telling else None,
        seconds=seconds[len(seconds) // 2] if seconds else None,
        settings=" ".join(last.environment.inputs.assignments),
    )


def _short(version: str) -> str:
    """``10.5.23`` of ``10.5.23-MariaDB-0+deb11u1-log (Debian 11)``."""
    found = re.match(r"[\d.]+", version)
    return found[0] if found else version


def rows_of(records: Sequence[Record]) -> list[ReproRow]:
    """A row for each cell, in the order in which they were carried out."""
    cells: dict[str, list[Record]] = {}
    for record in records:
        cells.setdefault(record.cell, []).append(record)
    return [row_of(cell, of_cell) for cell, of_cell in cells.items()]


ChangeWord = Literal[
    "came", "gone", "more often", "less often", "no difference", "unclear", "only in A", "only in B"
]


@dataclass(frozen=True, slots=True)
class ReproChange:
    """A repro in one version, in two results of different times."""

    cell: str
    before: ReproRow | None
    after: ReproRow | None

    @property
    def word(self) -> ChangeWord:
        """What has become of the bug; of two rates, whether they differ (Fisher's exact test)."""
        if self.before is None or self.after is None:
            return "only in A" if self.after is None else "only in B"
        verdicts = (self.before.verdict, self.after.verdict)
        if not {*verdicts} <= {"reproduced", "fixed"}:
            return "unclear"
        if verdicts == ("fixed", "reproduced"):
            return "came"
        if verdicts == ("reproduced", "fixed"):
            return "gone"
        counts = (self.after.count, self.after.judged, self.before.count, self.before.judged)
        if not differ(*counts):
            return "no difference"
        is_more = self.after.count * self.before.judged > self.before.count * self.after.judged
        return "more often" if is_more else "less often"


def changes_between(before: Sequence[ReproRow], after: Sequence[ReproRow]) -> list[ReproChange]:
    """Every cell of either result, in the order of the first, then of the second."""
    first = {row.cell: row for row in before}
    second = {row.cell: row for row in after}
    return [ReproChange(each, first.get(each), second.get(each)) for each in {**first, **second}]


def gate_of(changes: Sequence[ReproChange]) -> ExitCode:
    """1: a bug came, or shows more often; 3: one is unclear, or both have none in common; else
    0.
    """
    words = {each.word for each in changes if each.before and each.after}
    if words & {"came", "more often"}:
        return ExitCode.FAILED
    return ExitCode.UNKNOWN if not words or "unclear" in words else ExitCode.OK


def exit_code(rows: Sequence[ReproRow]) -> ExitCode:
    """0: as expected everywhere, or reproduced where nothing is; 1: the opposite; 3: nobody can
    say.
    """
    if not rows or any(row.verdict in ("neither", "unknown") for row in rows):
        return ExitCode.UNKNOWN
    wrong = [
        row
        for row in rows
        if row.is_as_expected is False or (row.expected is None and row.verdict == "fixed")
    ]
    return ExitCode.FAILED if wrong else ExitCode.OK
