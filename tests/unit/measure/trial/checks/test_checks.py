"""Every check passes, fails, does not know, or does not apply, and says what was seen; a crashed
one does not know.
"""

from typing import Any

import pytest

from sandbox.measure.trial.check import CHECKS, Evidence, judge_all
from sandbox.measure.trial.checks import lost
from sandbox.record.consistency import ConsistencyRecord, LogRead, RowDifference
from sandbox.record.trial import BackwardsReads, LedgerCounts, OpCount, ReadExample, StaleReads

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
NONE = OpCount(count=0, examples=())
SOME = OpCount(count=7, examples=(3, 4, 5, 6, 7, 8, 9))
ONE = OpCount(count=1, examples=(3,))


ALIKE = ConsistencyRecord(
    reference="db1",
    servers=["db1", "db2"],
    compared=["db1", "db2"],
    rows=4400,
    tables=2,
    logs={"db1": LogRead(transactions=99), "db2": LogRead(transactions=99)},
)


def stale(count: int = 0, reads: int = 900) -> StaleReads:
    age = 1200.4 if count else None
    return StaleReads(
        reads=reads, stale=count, above_1s=min(count, 1), longest_age_ms=age, examples=()
    )


def counts(**changed: Any) -> LedgerCounts:
    """Of a trial without a flaw."""
    given: dict[str, Any] = {
        "acked": 3400,
        "failed": 12,
        "unknown": 3,
        "rows": {"db1": 3400, "db2": 3400},
        "writer": "db1",
        "lost": NONE,
        "lost_on_readers": {"db2": NONE},
        "phantom": NONE,
        "duplicate": NONE,
        "recovered": NONE,
        "unknown_absent": NONE,
        "unlisted": NONE,
        "divergent": NONE,
        "missing_on": {"db1": NONE, "db2": NONE},
        "split_brain": NONE,
        "stale": {"writer": stale(), "reader": stale()},
        "non_monotonic": BackwardsReads(count=0, examples=()),
    }
    return LedgerCounts(**{**given, **changed})


def evidence(ledger: LedgerCounts | None = None, **changed: Any) -> Evidence:
    """Of a trial without a flaw, whose writer was elected."""
    given: dict[str, Any] = {
        "ledger": ledger or counts(),
        "writer": "db1",
        "transactions": {"db1": f"{UUID}:1-99", "db2": f"{UUID}:1-99"},
        "elected": True,
        "actions": [("promote", "db2 promoted", False)],
        "consistency": [ALIKE],
    }
    return Evidence(**{**given, **changed})


def judged(name: str, given: Evidence) -> tuple[str, str]:
    """Verdict and detail of one check."""
    (record,) = judge_all(given, [name])
    assert record.name == name
    return record.verdict, record.detail


def test_the_checks_are_there() -> None:
    assert {*CHECKS.names()} >= {
        "actions_done",
        "connections_allowed",
        "divergence",
        "duplicate",
        "lost",
        "non_monotonic",
        "phantom",
        "same_rows",
        "same_transactions",
        "split_brain",
        "stale_reads",
    }


def test_without_a_flaw_all_pass() -> None:
    assert {record.name: record.verdict for record in judge_all(evidence())} == dict.fromkeys(
        CHECKS.names(), "pass"
    )


@pytest.mark.parametrize(
    "name",
    sorted(
        {*CHECKS.names()}
        - {"actions_done", "connections_allowed", "same_rows", "same_transactions"}
    ),
)
def test_without_a_ledger_nothing_is_known(name: str) -> None:
    nothing = Evidence(None, unread={"db1": "Error(2013)"})
    assert judged(name, nothing) == ("unknown", "db1: Error(2013)")
    assert judged(name, Evidence(None)) == (
        "unknown",
        "the prober's log or the writer's rows could not be read",
    )


@pytest.mark.parametrize(
    ("name", "part"), [("lost", "lost"), ("phantom", "phantom"), ("duplicate", "duplicate")]
)
def test_what_could_not_be_read_is_unknown(name: str, part: str) -> None:
    given = evidence(counts(**{part: None}), unread={"db1": "Error(2013)"})
    assert judged(name, given) == ("unknown", "db1: Error(2013)")


def test_lost() -> None:
    assert judged("lost", evidence()) == ("pass", "all 3,400 acknowledged writes are on every node")
    verdict, detail = judged("lost", evidence(counts(lost=SOME)))
    assert verdict == "fail"
    assert detail == "7 of 3,400 acknowledged writes are not on the writer: op 3, 4, 5, 6, 7, …"


def test_lost_on_a_reader_counts_once_it_has_caught_up() -> None:
    ledger = counts(lost_on_readers={"db2": ONE})
    assert judged("lost", evidence(ledger)) == (
        "fail", "acknowledged, on the writer, but not on every reader: db2 lacks 1: op 3",
    )  # fmt: skip
    behind = {"db2": "its newest row is 8, not 9"}
    assert judged("lost", evidence(ledger, behind=behind)) == (
        "unknown",
        "all 3,400 acknowledged writes are on the writer; db2 has not caught up and lacks 1",
    )
    out = judged("lost", evidence(ledger, behind=behind, idle=["db2"]))
    assert out == (
        "pass",
        "all 3,400 acknowledged writes are on the writer and its readers; out of the group: db2",
    )
    assert judged("lost", evidence(behind=behind))[0] == "pass", "it has every acknowledged one"
    assert judged("lost", evidence(counts(lost=ONE), behind=behind))[0] == "fail", (
        "the writer lacks it"
    )


def test_a_node_that_was_not_read_may_lack_a_write() -> None:
    ledger = counts(lost_on_readers={"db2": SOME})
    found = judged("lost", evidence(ledger, behind={"db2": "apart"}, unread={"db3": "Error(2013)"}))
    assert found == (
        "unknown", "all 3,400 acknowledged writes are on the writer; "
        "db2 has not caught up and lacks 7; db3 was not read (Error(2013))",
    )  # fmt: skip
    assert judged("lost", evidence(ledger, unread={"db3": "gone"}))[0] == "fail", (
        "db2 had caught up"
    )
    assert judged("lost", evidence(counts(lost=ONE), unread={"db3": "gone"}))[0] == "fail", (
        "the writer lacks it"
    )


@pytest.mark.parametrize("name", ["phantom", "duplicate"])
def test_a_node_that_was_not_read_may_have_what_the_others_have_not(name: str) -> None:
    gone = {"db2": "Error(2013)"}
    assert judged(name, evidence(unread=gone)) == (
        "unknown",
        "none on the nodes that were read; db2: Error(2013)",
    )
    assert judged(name, evidence(counts(**{name: ONE}), unread=gone))[0] == "fail"


def test_phantom() -> None:
    assert judged("phantom", evidence()) == ("pass", "none of 12 refused writes is there")
    assert judged("phantom", evidence(counts(phantom=ONE))) == (
        "fail",
        "1 refused writes are there: op 3",
    )


def test_duplicate() -> None:
    assert judged("duplicate", evidence()) == ("pass", "every row is there once")
    assert judged("duplicate", evidence(counts(duplicate=ONE))) == (
        "fail",
        "1 writes are there more than once: op 3",
    )


def test_divergence_of_rows() -> None:
    assert judged("divergence", evidence()) == ("pass", "the same ledger rows on 2 nodes")
    differing = counts(divergent=ONE, missing_on={"db1": NONE, "db2": ONE})
    assert judged("divergence", evidence(differing)) == (
        "fail", "1 rows differ between nodes (db2 lacks 1): op 3",
    )  # fmt: skip
    behind = judged("divergence", evidence(differing, behind={"db2": "its newest row is 8, not 9"}))
    assert behind == ("unknown", "not caught up when read: db2: its newest row is 8, not 9")


def test_to_be_behind_explains_nothing_that_the_only_writer_lacks() -> None:
    behind = {"db2": "its newest row is 12, not 9"}
    apart = counts(divergent=SOME, missing_on={"db1": SOME, "db2": ONE})
    found = judged("divergence", evidence(apart, behind=behind))
    assert found == (
        "fail",
        "7 rows differ between nodes (db1 lacks 7; db2 lacks 1): op 3, 4, 5, 6, 7, …",
    )
    errant = {"db1": f"{UUID}:1-99", "db2": f"{UUID}:1-90:101"}
    late = counts(divergent=ONE, missing_on={"db1": NONE, "db2": ONE})
    assert judged("divergence", evidence(late, behind=behind, transactions=errant)) == (
        "fail", f"some behind, but transactions that the writer does not have: db2: {UUID}:101",
    )  # fmt: skip
    assert (
        judged("divergence", evidence(apart, behind=behind, single_writer=False))[0] == "unknown"
    ), "any is one"


def test_divergence_needs_two_nodes_and_the_rows_of_all() -> None:
    assert judged("divergence", evidence(counts(divergent=None), unread={"db2": "gone"})) == (
        "unknown",
        "db2: gone",
    )
    assert judged("divergence", evidence(unread={"db3": "gone"})) == ("unknown", "db3: gone")
    alone = counts(divergent=None, rows={"db1": 3400})
    assert judged("divergence", evidence(alone)) == ("skipped", "there is one node")
    assert (
        judged("divergence", evidence(counts(divergent=ONE), unread={"db3": "gone"}))[0] == "fail"
    )


@pytest.mark.parametrize(
    ("own", "writers", "verdict", "extra"),
    [
        (f"{UUID}:1-99", f"{UUID}:1-120", "pass", ""),  # the writer is read last
        (f"{UUID}:1-99:101", f"{UUID}:1-100", "fail", f"{UUID}:101"),
        ("0-2-50", "0-1-49", "fail", "0-2-50"),
        ("0-1-49", "0-1-50", "pass", ""),
        (None, f"{UUID}:1-99", "pass", ""),
        (f"{UUID}:1-99", None, "pass", ""),
    ],
)
def test_errant_transactions_are_a_divergence(
    own: str | None, writers: str | None, verdict: str, extra: str
) -> None:
    found = judged("divergence", evidence(transactions={"db1": writers, "db2": own}))
    assert found[0] == verdict
    assert (
        not extra
        or found[1]
        == f"the same rows, but transactions that the writer does not have: db2: {extra}"
    )


def test_split_brain() -> None:
    assert judged("split_brain", evidence())[0] == "pass"
    verdict, detail = judged("split_brain", evidence(counts(split_brain=SOME)))
    assert verdict == "fail" and detail.startswith(
        "7 writes were acknowledged by another node after an election"
    )
    nobody = evidence(counts(split_brain=None), elected=False)
    assert judged("split_brain", nobody) == ("skipped", "no other writer was elected")
    hidden = evidence(counts(split_brain=None), unread={"db1": "Error(2013)"})
    assert judged("split_brain", hidden) == ("unknown", "db1: Error(2013)")
    verdict, detail = judged("split_brain", evidence(counts(split_brain=None)))
    assert verdict == "unknown" and detail.endswith(
        "after the election is on no node that was read"
    )
    assert judged("split_brain", evidence(single_writer=False))[0] == "skipped"


def test_stale_reads_fail_at_the_writer_only() -> None:
    assert judged("stale_reads", evidence()) == (
        "pass", "writer: none of 900 reads was stale; readers: none of 900 reads was stale",
    )  # fmt: skip
    verdict, detail = judged(
        "stale_reads", evidence(counts(stale={"writer": stale(), "reader": stale(12)}))
    )
    assert verdict == "pass"
    assert detail.endswith(
        "readers: 12 of 900 reads were stale, the oldest by 1,200 ms, 1 by more than 1 s"
    )
    assert (
        judged("stale_reads", evidence(counts(stale={"writer": stale(1), "reader": stale()})))[0]
        == "fail"
    )


@pytest.mark.parametrize("found", [{}, {"writer": stale(reads=0)}])
def test_reads_that_nobody_answered_show_nothing(found: dict[str, StaleReads]) -> None:
    assert judged("stale_reads", evidence(counts(stale=found))) == (
        "unknown",
        "no read at the writer was answered",
    )


def test_non_monotonic() -> None:
    back = BackwardsReads(
        count=2, examples=(ReadExample(op=3, node="db2"), ReadExample(op=4, node="db2"))
    )
    assert judged("non_monotonic", evidence())[0] == "pass"
    verdict, detail = judged("non_monotonic", evidence(counts(non_monotonic=back)))
    assert verdict == "fail" and detail.endswith("shown before: 3 on db2, 4 on db2")


def test_rows_and_transactions_of_all_servers() -> None:
    assert judged("same_rows", evidence())[0] == "pass"
    other = RowDifference(
        table="sbtest.sbtest1", key={"id": "5"}, rows={"db1": {"id": "5"}, "db2": None}
    )
    differs = evidence(consistency=[ALIKE.model_copy(update={"differences": [other]})])
    verdict, detail = judged("same_rows", differs)
    assert (verdict, detail[-12:]) == ("fail", " no such row")
    assert judged("same_transactions", evidence(consistency=()))[0] == "skipped"


def test_actions_done() -> None:
    assert judged("actions_done", evidence()) == ("pass", "promote: db2 promoted")
    assert judged("actions_done", evidence(actions=())) == ("skipped", "the schedule has no action")
    mixed = [
        ("promote", "the old writer answers: it would be a second one", True),
        ("rejoin", "rejoined: db1", False),
    ]
    assert judged("actions_done", evidence(actions=mixed)) == (
        "fail", "promote: the old writer answers: it would be a second one",
    )  # fmt: skip


def test_a_check_that_crashes_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(given: Evidence) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(lost, "judge", crash)
    crashed = "the check crashed: ZeroDivisionError: by zero"
    assert judged("lost", evidence()) == ("unknown", crashed)
    others = {record.name: record.verdict for record in judge_all(evidence())}
    assert others.pop("lost") == "unknown"
    assert others == dict.fromkeys({*CHECKS.names()} - {"lost"}, "pass"), "all others are judged"


@pytest.mark.parametrize(
    ("given", "verdict", "detail"),
    [
        ({}, "pass", "no connection was refused for want of max_connections"),
        (
            {"refused_by": {"db1": 0}},
            "pass",
            "no connection was refused for want of max_connections",
        ),
        ({"refused": 1200}, "unknown", ": 1,200 operations of the prober got error 1040"),
        ({"refused_by": {"db1": 3, "db2": 0}}, "unknown", ": db1: 3 refused"),
        (
            {"refused": 2, "refused_by": {"db1": 3}},
            "unknown",
            ": db1: 3 refused; 2 operations of the prober got ",
        ),
    ],
)
def test_a_server_that_ran_out_of_connections_spoils_the_errors(
    given: dict[str, Any], verdict: str, detail: str
) -> None:
    found = judged("connections_allowed", evidence(**given))
    assert found[0] == verdict and detail in found[1]
