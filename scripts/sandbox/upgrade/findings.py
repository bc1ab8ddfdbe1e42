"""PURE: what pt-upgrade reported and what the servers answered afterwards, as findings."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from sandbox.record.upgrade import FindingKind, Unjudged, UpgradeFinding
from sandbox.upgrade.plans import QueryPlan, differs_for_the_worse, text_of
from sandbox.upgrade.pt_upgrade import NO_ERROR, DifferenceKind, PtDifference, PtReport
from sandbox.upgrade.refusals import Refusal, misses_data, refused_finding
from sandbox.upgrade.replay import DistinctQuery, Replay
from sandbox.upgrade.sql_text import kind_of, words

RowsAgain = Literal["other rows", "another order", "same", "by itself", "unknown"]
"""What a query comes to that is asked again after the load; ``by itself``: it differs on one and
the same server.
"""
_DEPRECATED = (1287, 1681)
"""Codes of warnings that what works today may not work in a later version."""
_NO_DATA = re.compile(
    r"doesn't exist|Unknown database|No database selected|Unknown table", re.IGNORECASE
)
_OF_SERVER = ("VERSION", "CONNECTION_ID")
"""Functions whose result is the server's own."""
_LONGEST = 300
"""Of what a server said, in a finding."""
SLOWER_RATIO = 2.0
SLOWER_MS = 5.0
"""A query is slower where the fastest of its repeats takes at least so many times as long, and so
much longer.
"""
SLOWER_WRITE_S = 1.0
"""Of a write, which is not repeated."""


@dataclass(frozen=True)
class UpgradeEvidence:
    """What is known of each distinct query, by fingerprint; on the older server, on the newer."""

    replay: Replay
    report: PtReport
    refusals: Mapping[str, tuple[Refusal | None, Refusal | None]] = field(default_factory=dict)
    plans: Mapping[str, tuple[QueryPlan, QueryPlan]] = field(default_factory=dict)
    again: Mapping[str, RowsAgain] = field(default_factory=dict)
    times_ms: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The fastest of its repeats."""
    lost: Collection[int] = ()
    """Numbers of statements of which pt-upgrade could not print what it found."""

    @property
    def queries(self) -> Mapping[str, DistinctQuery]:
        """By fingerprint."""
        return self.replay.distinct

    def differing(self, *kinds: DifferenceKind) -> dict[str, PtDifference]:
        """The first difference of a kind of each distinct query that has one."""
        found: dict[str, PtDifference] = {}
        for each in self.report.differences:
            key = self.replay.fingerprints.get(each.number)
            if each.kind in kinds and key is not None:
                found.setdefault(key, each)
        return found

    @cached_property
    def failed(self) -> Mapping[str, PtDifference]:
        """Those that fail on both servers."""
        return self.differing("failed")

    @cached_property
    def lost_queries(self) -> frozenset[str]:
        """Fingerprints of those of which the report is lost."""
        known = self.replay.fingerprints
        return frozenset(known[number] for number in self.lost if number in known)

    def example(self, difference: PtDifference) -> str:
        """The statement of the log that showed it."""
        return self.replay.by_number[difference.number].text


def findings_of(evidence: UpgradeEvidence) -> list[UpgradeFinding]:
    """Every finding, those that matter first."""
    found = [
        *_refused(evidence),
        *_errors(evidence),
        *_rows(evidence),
        *_warnings(evidence),
        *_times(evidence),
        *_plans(evidence),
    ]
    return sorted(found, key=lambda each: not each.matters)


def unjudged_of(evidence: UpgradeEvidence) -> list[Unjudged]:
    """Queries that fail on both servers for want of data, or of which the report is lost."""
    refused = {each.query for each in _refused(evidence)}
    found = []
    for key, query in evidence.queries.items():
        why = _why_not_judged(evidence, key)
        if why is not None and query.text not in refused:
            text, needs_data = why
            found.append(
                Unjudged(why=_cut(text), query=query.text, count=query.count, needs_data=needs_data)
            )
    return found


def _why_not_judged(evidence: UpgradeEvidence, key: str) -> tuple[str, bool] | None:
    """Why, and whether it is for want of data."""
    failed = evidence.failed.get(key)
    if failed is not None and _NO_DATA.search(failed.on_from):
        return failed.on_from, True
    if key not in evidence.lost_queries:
        return None
    old, new = evidence.refusals.get(key, (None, None))
    if old is not None and misses_data(old) and misses_data(new):
        return old.text, True
    return "pt-upgrade could not print what it found of it", False


def _refused(evidence: UpgradeEvidence) -> list[UpgradeFinding]:
    queries = evidence.queries
    found = []
    for key, (old, new) in evidence.refusals.items():
        finding = refused_finding(queries[key], old, new)
        if finding is not None:
            found.append(finding)
    return found


def _errors(evidence: UpgradeEvidence) -> list[UpgradeFinding]:
    """Errors on one server alone, of statements that both servers take."""
    refused = {each.query for each in _refused(evidence)}
    found = []
    for key, difference in evidence.differing("error").items():
        query = evidence.queries[key]
        if query.text in refused:
            continue
        fails_on_new = difference.on_to != NO_ERROR
        note = None if fails_on_new else "the newer server takes it"
        found.append(_finding("error", fails_on_new, query, difference, note))
    return found


def _rows(evidence: UpgradeEvidence) -> list[UpgradeFinding]:
    said: dict[RowsAgain, tuple[FindingKind, bool, str]] = {
        "other rows": ("rows", True, "asked again: other rows"),
        "another order": ("order", True, "the same rows in another order: it has no ORDER BY that"
                          " says which"),
        "same": ("rows", True, "asked again after the load: the same rows"),
        "by itself": ("rows", False, "it differs by itself, on one and the same server"),
        "unknown": ("rows", True, "could not be asked again"),
    }  # fmt: skip
    found = []
    queries = evidence.queries
    seen = evidence.differing("rows")
    for key, difference in seen.items():
        kind, matters, note = said[evidence.again.get(key, "unknown")]
        if _asks_for_the_server(evidence.example(difference)):
            matters, note = False, "it asks what the server is"
        found.append(_finding(kind, matters, queries[key], difference, note))
    for key, again in evidence.again.items():
        if key not in seen and again in ("other rows", "another order"):
            kind, matters, note = said[again]
            found.append(
                UpgradeFinding(
                    kind=kind, matters=matters, on_from="rows", on_to=again,
                    query=queries[key].text, count=queries[key].count, note=note,
                )
            )  # fmt: skip
    return found


def _asks_for_the_server(sql: str) -> bool:
    """Whether it reads a variable, the version or the number of its connection, as clients do when
    they connect.
    """
    found = words(sql)
    return any(each.startswith("@@") or each in _OF_SERVER for each in found)


def _warnings(evidence: UpgradeEvidence) -> list[UpgradeFinding]:
    found = []
    for key, difference in evidence.differing("warning").items():
        is_new = difference.on_to != "no warning"
        is_note = difference.on_to.startswith("Note ") or difference.code in _DEPRECATED
        note = None
        if difference.code in _DEPRECATED:
            note = "works, and may not in a later version"
        elif not is_new:
            note = "the newer server says nothing"
        matters = is_new and not is_note
        found.append(_finding("warning", matters, evidence.queries[key], difference, note))
    return found


def _times(evidence: UpgradeEvidence) -> list[UpgradeFinding]:
    """pt-upgrade compares one execution each, and reports ten times the time and more: reads are
    timed again.
    """
    found = []
    for key, difference in evidence.differing("time").items():
        query = evidence.queries[key]
        old_s, new_s = difference.times_s or (0.0, 0.0)
        fastest = evidence.times_ms.get(key)
        if fastest is None:
            slower = new_s - old_s >= SLOWER_WRITE_S
            note = "once; a write is not repeated" if kind_of(query.text) != "read" else "once"
        else:
            slower = is_slower(*fastest)
            note = f"fastest of several: {fastest[0]:.2f} and {fastest[1]:.2f} ms"
        found.append(_finding("time", slower, query, difference, note))
    return found


def is_slower(old_ms: float, new_ms: float) -> bool:
    """Whether the times of a query differ by a ratio and an amount that matter."""
    return new_ms >= SLOWER_RATIO * old_ms and new_ms - old_ms >= SLOWER_MS


def _plans(evidence: UpgradeEvidence) -> list[UpgradeFinding]:
    queries = evidence.queries
    found = []
    for key, (old, new) in evidence.plans.items():
        if old == new:
            continue
        worse = differs_for_the_worse(old, new)
        found.append(
            UpgradeFinding(
                kind="plan", matters=worse, on_from=_cut(text_of(old)), on_to=_cut(text_of(new)),
                query=queries[key].text, count=queries[key].count,
                note="a table that was read by a key is read whole" if worse else None,
            )
        )  # fmt: skip
    return found


def _finding(
    kind: FindingKind,
    matters: bool,
    query: DistinctQuery,
    difference: PtDifference,
    note: str | None,
) -> UpgradeFinding:
    return UpgradeFinding(
        kind=kind,
        matters=matters,
        on_from=_cut(difference.on_from),
        on_to=_cut(difference.on_to),
        query=query.text,
        count=query.count,
        note=note,
    )


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


Rows = Sequence[Sequence[object]]


def rows_again(old: Rows | None, old_again: Rows | None, new: Rows | None) -> RowsAgain:
    """What rows of the older server, of it once more, and of the newer one say; None: an error."""
    if old is None or old_again is None or new is None:
        return "unknown"
    first = [tuple(map(str, row)) for row in old]
    second = [tuple(map(str, row)) for row in new]
    if [tuple(map(str, row)) for row in old_again] != first:
        return "by itself"
    if first == second:
        return "same"
    return "another order" if sorted(first) == sorted(second) else "other rows"
