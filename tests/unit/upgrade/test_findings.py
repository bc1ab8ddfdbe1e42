"""Findings: of what pt-upgrade reported and of what the servers said afterwards."""

from typing import Any

import pytest

from sandbox.record.upgrade import UpgradeFinding
from sandbox.upgrade.findings import (
    UpgradeEvidence,
    findings_of,
    is_slower,
    rows_again,
    unjudged_of,
)
from sandbox.upgrade.plans import plan_of
from sandbox.upgrade.pt_upgrade import DifferenceKind, PtDifference, PtReport
from sandbox.upgrade.refusals import Refusal
from sandbox.upgrade.replay import replay_of
from sandbox.upgrade.sql_text import fingerprint
from unit.upgrade.logged import logged

QUERY = "select a from t where b = 1"
KEY = fingerprint(QUERY)
SYNTAX = Refusal(1064, "You have an error in your SQL syntax")
NO_TABLE = Refusal(1146, "Table 'library.t' doesn't exist")


def evidence(*differences: PtDifference, query: str = QUERY, **more: Any) -> UpgradeEvidence:
    replay = replay_of(logged(query, query.replace("1", "2")))
    return UpgradeEvidence(replay, PtReport(differences, {}), **more)


def differs(kind: DifferenceKind, old: str, new: str, **more: Any) -> PtDifference:
    return PtDifference(kind, 2, old, new, **more)


def only(found: list[UpgradeFinding]) -> UpgradeFinding:
    (finding,) = found
    return finding


def test_an_error_on_the_newer_server_matters_and_one_that_is_gone_does_not() -> None:
    new = only(findings_of(evidence(differs("error", "no error", "Out of range"))))
    assert (new.kind, new.matters, new.on_to, new.count) == ("error", True, "Out of range", 2)
    old = only(findings_of(evidence(differs("error", "Out of range", "no error"))))
    assert (old.matters, old.note) == (False, "the newer server takes it")


def test_a_refused_statement_is_one_finding_whatever_pt_upgrade_says_of_it() -> None:
    refused = {KEY: (None, SYNTAX)}
    found = only(findings_of(evidence(differs("error", "no error", "syntax"), refusals=refused)))
    assert (found.kind, found.matters, found.on_from) == ("refused", True, "taken")


def test_syntax_is_judged_without_data_too() -> None:
    found = evidence(
        differs("failed", NO_TABLE.text, SYNTAX.text), refusals={KEY: (NO_TABLE, SYNTAX)}
    )
    assert only(findings_of(found)).kind == "refused"
    assert unjudged_of(found) == []


def test_without_its_table_a_query_is_not_judged() -> None:
    found = evidence(
        differs("failed", NO_TABLE.text, NO_TABLE.text), refusals={KEY: (NO_TABLE, NO_TABLE)}
    )
    assert findings_of(found) == []
    (unjudged,) = unjudged_of(found)
    assert (unjudged.query, unjudged.count, unjudged.needs_data) == (QUERY, 2, True)


def test_what_pt_upgrade_could_not_print_is_not_judged() -> None:
    (unjudged,) = unjudged_of(evidence(lost=frozenset([2, 99])))
    assert (unjudged.query, unjudged.needs_data) == (QUERY, False)
    without = evidence(lost=frozenset([2]), refusals={KEY: (NO_TABLE, NO_TABLE)})
    assert unjudged_of(without)[0].needs_data


def test_an_error_of_the_application_is_the_same_on_both() -> None:
    found = evidence(differs("failed", "Duplicate entry '1'", "Duplicate entry '1'"))
    assert findings_of(found) == [] and unjudged_of(found) == []


@pytest.mark.parametrize(
    ("again", "kind", "matters"),
    [
        ("other rows", "rows", True),
        ("another order", "order", True),
        ("by itself", "rows", False),
        ("unknown", "rows", True),
    ],
)
def test_rows_are_asked_for_again(again: Any, kind: str, matters: bool) -> None:
    found = only(findings_of(evidence(differs("rows", "a", "b"), again={KEY: again})))
    assert (found.kind, found.matters) == (kind, matters)


@pytest.mark.parametrize("query", ["select @@version_comment limit 1", "select version(), 1"])
def test_what_a_client_asks_when_it_connects_does_not_matter(query: str) -> None:
    found = only(findings_of(evidence(differs("rows", "a", "b"), query=query)))
    assert (found.matters, found.note) == (False, "it asks what the server is")


def test_rows_that_pt_upgrade_does_not_compare_are_a_finding_too() -> None:
    query = "with x as (select 1) select * from x"
    again: Any = {fingerprint(query): "other rows"}
    found = only(findings_of(evidence(query=query, again=again)))
    assert (found.kind, found.query) == ("rows", query)


@pytest.mark.parametrize(
    ("old", "new", "code", "matters"),
    [
        ("no warning", "Warning 1265: cut", 1265, True),
        ("no warning", "Note 1051: unknown", 1051, False),
        ("no warning", "Warning 1287: deprecated", 1287, False),
        ("Warning 1265: cut", "no warning", 1265, False),
    ],
)
def test_warnings(old: str, new: str, code: int, matters: bool) -> None:
    assert only(findings_of(evidence(differs("warning", old, new, code=code)))).matters is matters


def test_a_time_counts_where_its_repeats_confirm_it() -> None:
    slow = differs("time", "0.1 ms", "9.0 ms", times_s=(0.0001, 0.009))
    confirmed = only(findings_of(evidence(slow, times_ms={KEY: (1.0, 12.0)})))
    assert confirmed.matters and confirmed.note == "fastest of several: 1.00 and 12.00 ms"
    chance = only(findings_of(evidence(slow, times_ms={KEY: (0.2, 0.3)})))
    assert not chance.matters
    write = differs("time", "10.0 ms", "1300.0 ms", times_s=(0.01, 1.3))
    assert only(findings_of(evidence(write, query="delete from t where a = 1"))).matters


def test_times_that_are_close_or_tiny_are_alike() -> None:
    assert is_slower(5, 10)
    assert not is_slower(5, 9.9)
    assert not is_slower(0.1, 5)


def test_a_plan_matters_where_a_key_is_no_longer_used() -> None:
    def plan(access: str, key: str | None, extra: str = "") -> Any:
        row: list[Any] = [1, "SIMPLE", "t", access, "b", key, "4", None, 5, extra]
        return plan_of([row], "mariadb")

    by_key, whole = plan("ref", "b"), plan("ALL", None, "Using where")
    worse = only(findings_of(evidence(plans={KEY: (by_key, whole)})))
    assert (worse.kind, worse.matters) == ("plan", True)
    assert (worse.on_from, worse.on_to) == ("t: ref by b", "t: ALL")
    better = only(findings_of(evidence(plans={KEY: (whole, by_key)})))
    assert not better.matters
    assert findings_of(evidence(plans={KEY: (by_key, by_key)})) == []
    pushed = plan("ref", "b", "Using index condition; Using where")
    assert findings_of(evidence(plans={KEY: (by_key, pushed)})) == []
    sorted_now = plan("ref", "b", "Using where; Using filesort")
    assert not only(findings_of(evidence(plans={KEY: (by_key, sorted_now)}))).matters


@pytest.mark.parametrize(
    ("old", "again", "new", "said"),
    [
        ([[1], [2]], [[1], [2]], [[1], [2]], "same"),
        ([[1], [2]], [[1], [2]], [[2], [1]], "another order"),
        ([[1], [2]], [[1], [2]], [[1], [1]], "other rows"),
        ([[1]], [[2]], [[3]], "by itself"),
        ([[1]], None, [[1]], "unknown"),
    ],
)
def test_rows_once_more(old: Any, again: Any, new: Any, said: str) -> None:
    assert rows_again(old, again, new) == said
