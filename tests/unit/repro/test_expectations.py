"""The expectations of a repro on a stage that answers from a script."""

from collections.abc import Mapping
from typing import Any

import pytest

from sandbox.record.consistency import (
    ConsistencyRecord,
    RowDifference,
    TransactionDifference,
)
from sandbox.record.repro import StepRecord
from sandbox.repro.expectation import Expectation, Looked, expectation_of
from sandbox.repro.expectations import rows_differ, transactions_differ
from sandbox.stack.server_status import ServerStatus
from unit.repro.fake_stage import FakeStage


def looked(stage: FakeStage, keys: Mapping[str, Any]) -> Looked:
    expectation = expectation_of(keys)
    assert isinstance(expectation, Expectation)
    return expectation.look(stage.as_stage)


def after(**given: Any) -> FakeStage:
    """A stage on which a step named `it` came to something."""
    stage = FakeStage()
    given = {"ended_ms": 300.0, **given}
    stage.steps.append(StepRecord(number=1, text="s1: x", name="it", began_ms=100.0, **given))
    return stage


@pytest.mark.parametrize(
    ("came", "keys", "met", "seen"),
    [
        ({}, {}, True, "it: ok"),
        (
            {"error_code": 1020, "error": "changed"},
            {"error": 1020},
            True,
            "it: error 1020: changed",
        ),
        ({"error_code": 1020, "error": "changed"}, {}, False, "it: error 1020: changed"),
        ({"rows": [[["1"]]]}, {"rows": 2}, False, "it: (1)"),
        ({"ended_ms": None, "waited_for": "s2"}, {}, False, "it has not ended, it waits for s2"),
        ({"blocked": True, "waited_for": "s2"}, {"blocked": True}, True, "it waited for s2"),
        ({"blocked": False}, {"blocked": True}, False, "it did not wait"),
    ],
)
def test_the_result_of_a_step(
    came: dict[str, Any], keys: dict[str, Any], met: bool, seen: str
) -> None:
    assert looked(after(**came), {"result": "it", **keys}) == Looked(met, seen)


def test_a_step_that_was_not_reached_says_nothing() -> None:
    for word in ("result", "hang"):
        assert looked(FakeStage(), {word: "it"}) == Looked(None, "it was not reached")


def test_a_query_is_asked_until_its_time_is_over() -> None:
    answers = [{"rows": [[["0"]]]}, {"rows": [[["1"]]]}]
    keys = {"query @replica1": "select n", "rows": 1}
    assert looked(FakeStage({"select n": answers}), keys) == Looked(False, "replica1: (0)")
    found = looked(FakeStage({"select n": answers}), {**keys, "within": "2s"})
    assert found == Looked(True, "replica1: (1)")


def test_a_server_that_does_not_answer_is_unknown() -> None:
    stage = FakeStage({"select n": None})
    found = looked(stage, {"query": "select n", "rows": 1})
    assert found.met is None and stage.sessions.closed == ["query@mysql1"]


def test_a_place_that_there_is_none_of_is_unknown() -> None:
    for keys in (
        {"query @mysql9": "select 1", "rows": 1},
        {"explain @mysql9": "select 1", "contains": "x"},
        {"state @mysql9": "out"},
        {"log @mysql9": "x"},
        {"crash @mysql9": "any"},
    ):
        assert looked(FakeStage(), keys) == Looked(None, "@mysql9: there is no such place")


def test_an_explain_contains_a_text() -> None:
    stage = FakeStage({"EXPLAIN select 1": {"rows": [[["1", None, "Using index"]]]}})
    assert looked(stage, {"explain": "select 1", "contains": "Using index"}).met
    assert not looked(stage, {"explain": "select 1", "contains": "filesort"}).met


@pytest.mark.parametrize(
    ("word", "reason", "keys", "met"),
    [
        ("evicted", "", {"state": "out"}, True),
        ("synced", "", {"state": "well"}, True),
        ("synced", "", {"state": "out"}, False),
        ("stopped", "error 1032: no row", {"state": ["stopped", "error"], "matches": "1032"}, True),
        ("stopped", "error 1062: twice", {"state": "stopped", "matches": "1032"}, False),
    ],
)
def test_the_state_of_a_server(word: str, reason: str, keys: dict[str, Any], met: bool) -> None:
    stage = FakeStage()
    stage.stack.states = {"mysql1": ServerStatus(word, reason)}
    assert looked(stage, keys).met is met


def test_a_line_of_a_log() -> None:
    stage = FakeStage()
    stage.stack.logs = {"mysql1": "first\nInconsistent by consensus\n"}
    assert looked(stage, {"log": "Inconsistent"}) == Looked(
        True, "mysql1: Inconsistent by consensus"
    )
    assert looked(stage, {"log": "Inconsistent", "absent": True}).met is False
    assert looked(stage, {"log @replica1": "x", "absent": True}).met is True


def test_a_line_of_a_log_about_the_connection_of_a_session() -> None:
    stage = FakeStage()
    stage.stack.logs = {"mysql1": "Aborted connection 7 to db: 'repro'\n"}
    assert looked(stage, {"log": "connection {s2} to"}).met is True
    assert looked(stage, {"log": "connection {s1} to"}).met is False
    assert looked(stage, {"log": "connection [0-9]{1} to"}).met is True


CRASH = """\
2026-11-29T00:00:00Z UTC - mysqld got signal 11 ;
 #0 0x1 row_search_mvcc at row0sel.cc:4
 #1 0x2 ha_innobase::index_read
"""


@pytest.mark.parametrize(
    ("keys", "met"),
    [
        ({"crash": 11}, True),
        ({"crash": "any"}, True),
        ({"crash": 6}, False),
        ({"crash": 11, "frames": ["row_search_mvcc", "index_read"]}, True),
        ({"crash": 11, "frames": ["index_read", "row_search_mvcc"]}, False),
    ],
)
def test_a_crash_by_a_signal_with_its_frames(keys: dict[str, Any], met: bool) -> None:
    stage = FakeStage()
    stage.stack.logs = {"mysql1": CRASH}
    assert looked(stage, keys).met is met
    assert looked(FakeStage(), keys) == Looked(False, "mysql1 has not crashed")


def test_a_hang_and_what_it_waits_for() -> None:
    stage = after(ended_ms=None, waited_for="s2 (metadata lock EXCLUSIVE of repro.t)")
    assert looked(stage, {"hang": "it"}).met is True
    assert looked(stage, {"hang": "it", "waits_for": "metadata lock"}).met is True
    assert looked(stage, {"hang": "it", "waits_for": "row lock"}).met is False
    assert looked(after(), {"hang": "it"}) == Looked(False, "it ended after 200 ms")


def test_a_time_and_its_ratio_to_another_one() -> None:
    stage = after()
    reference = StepRecord(number=2, text="s1: y", name="other", began_ms=0, ended_ms=50)
    stage.steps.append(reference)
    assert looked(stage, {"time": "it", "at_most": "1s"}).met is True
    assert looked(stage, {"time": "it", "at_least": "1s"}) == Looked(False, "it took 200 ms")
    found = looked(stage, {"time": "it", "against": "other", "at_least": 3})
    assert found == Looked(True, "it took 200 ms, 4.00 times other")
    assert looked(stage, {"time": "it", "against": "none", "at_least": 3}).met is None


ROW = RowDifference(table="repro.t", key={"id": "1"}, rows={"db1": {"id": "1"}, "db2": None})
GTID = TransactionDifference(gtid="0-1-7", contents={"db1": ["INSERT"], "db2": ["DELETE"]})


def compared(**given: Any) -> ConsistencyRecord:
    about = {"reference": "db1", "servers": ["db1", "db2"], "compared": ["db1", "db2"], **given}
    return ConsistencyRecord(**about)


@pytest.mark.parametrize(
    ("record", "met"),
    [
        (compared(), False),
        (compared(differences=[ROW]), True),
        (compared(unread={"db3": "it follows nobody"}), None),
    ],
)
def test_rows_that_differ_between_servers(
    record: ConsistencyRecord, met: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def answered(*given: Any, **_: Any) -> list[ConsistencyRecord]:
        asked.append(given[2])
        return [record]

    monkeypatch.setattr(rows_differ, "compare_stack", answered)
    assert looked(FakeStage(), {"rows-differ": "t"}).met is met
    looked(FakeStage(), {"rows-differ": "shop.t"})
    looked(FakeStage(), {"rows-differ": "any"})
    assert asked == [["repro.t", "t"], ["shop.t"], []]


@pytest.mark.parametrize(("word", "met"), [("any", True), ("-7$", True), ("-8$", False)])
def test_a_gtid_that_stands_for_two_transactions(
    word: str, met: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [compared(transactions=[GTID])]
    monkeypatch.setattr(transactions_differ, "compare_stack", lambda *_: found)
    assert looked(FakeStage(), {"transactions-differ": word}).met is met


def test_one_server_alone_differs_from_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_differ, "compare_stack", lambda *_, **__: [])
    assert looked(FakeStage(), {"rows-differ": "t"}) == Looked(None, "there is one server")


def test_the_throughput_of_a_load_against_another_ones() -> None:
    stage = after(per_s=50.0)
    stage.steps.append(
        StepRecord(number=2, text="workload", name="base", began_ms=0, ended_ms=9, per_s=100.0)
    )
    keys = {"throughput": "it", "against": "base"}
    assert looked(stage, {**keys, "at_most": 0.6}).met is True
    assert looked(stage, {**keys, "at_least": 0.6}).met is False
    assert looked(stage, {"throughput": "it", "at_least": 40}).seen == "it had 50.0 transactions/s"
    assert looked(after(), {"throughput": "it", "at_least": 40}).met is None
    with pytest.raises(ValueError, match="at_least, at_most, or both"):
        expectation_of({"throughput": "it"})
