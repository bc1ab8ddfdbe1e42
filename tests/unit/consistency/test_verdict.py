"""The verdicts on servers that were compared, and the servers that belong together."""

from typing import Any

import pytest

from sandbox.consistency.binary_log import LogContents, Origin
from sandbox.consistency.oracle import keys_of, transaction_differences, unread_logs, with_origins
from sandbox.consistency.sets import sets_of
from sandbox.consistency.verdict import checks_of, on_rows, on_transactions
from sandbox.record.consistency import (
    ConsistencyRecord,
    LogRead,
    RowDifference,
    TransactionDifference,
)
from sandbox.report.consistency import answer, consistency_document
from sandbox.report.render import terminal
from sandbox.stack.protocol import StackNode


def record(**given: Any) -> ConsistencyRecord:
    about = {
        "reference": "db1",
        "servers": ["db1", "db2"],
        "compared": ["db1", "db2"],
        "rows": 1200,
        "tables": 3,
        **given,
    }
    return ConsistencyRecord(**about)


ROW = RowDifference(
    table="shop.t",
    key={"id": "17"},
    rows={"db1": None, "db2": {"id": "17", "v": None}},
)


def test_equal_rows_pass_and_what_was_compared_is_said() -> None:
    assert on_rows([record()]) == ("pass", "1,200 rows in 3 tables are the same on db1, db2")


def test_a_difference_names_table_key_and_both_rows() -> None:
    verdict, text = on_rows([record(differences=[ROW], more=4)])
    assert verdict == "fail"
    assert text == "5 differences: shop.t id=17: db1 no such row, db2 id=17 v=NULL, …"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"problem": "writes go on"}, "writes go on"),
        ({"unread": {"db3": "it follows nobody"}}, "not compared: db3: it follows nobody"),
        ({"unread_tables": {"shop.t": "error 1412"}}, "not compared: shop.t: error 1412"),
    ],
)
def test_what_was_not_compared_is_unknown(given: dict[str, Any], said: str) -> None:
    verdict, text = on_rows([record(**given)])
    assert verdict == "unknown"
    assert text.endswith(said)


def test_the_worst_set_decides() -> None:
    assert on_rows([record(), record(differences=[ROW]), record(problem="x")])[0] == "fail"


def test_one_server_alone_has_no_verdict() -> None:
    alone = ConsistencyRecord(reference="db1", servers=["db1"], compared=["db1"])
    assert checks_of([alone]) == []
    assert on_rows([alone])[0] == "skipped"


def test_gtids_with_other_contents_fail_and_unread_logs_are_no_pass() -> None:
    different = TransactionDifference(gtid="0-1-5", contents={"db1": ["INSERT"], "db2": []})
    assert on_transactions([record(transactions=[different])])[0] == "fail"
    assert on_transactions([record()]) == ("skipped", "the binary logs were not read")
    logs = {"db1": LogRead(transactions=5), "db2": LogRead(transactions=6)}
    verdict, text = on_transactions([record(logs=logs)])
    assert (verdict, text[-6:]) == ("pass", "db2 6)")
    assert on_transactions([record(logs_skipped="off")]) == ("skipped", "off")


def test_rows_are_looked_for_by_the_place_of_their_key_in_the_table() -> None:
    wide = RowDifference(
        table="shop.t", key={"b": "2"}, rows={"db1": {"a": "1", "b": "2"}, "db2": None}
    )
    (keys,) = keys_of([wide]).values()
    assert (keys.places, keys.keys) == ((2,), frozenset({("2",)}))
    origin = Origin("0-1-5", 1, "2026-11-30 01:00:00", "delete")
    logs = {"db1": LogContents(), "db2": LogContents(origins={(("shop", "t"), ("2",)): origin})}
    written = with_origins(wide, logs).written
    assert written["db1"] is None
    assert written["db2"] is not None and written["db2"].gtid == "0-1-5"


def test_contents_of_a_gtid_are_those_of_each_server() -> None:
    one = LogContents(digests={"0-1-5": "x"}, lines={"0-1-5": ["INSERT"]})
    other = LogContents(digests={"0-1-5": "y"}, lines={"0-1-5": []})
    (found,) = transaction_differences({"db1": one, "db2": other})
    assert found.contents == {"db1": ["INSERT"], "db2": []}


def test_a_reason_that_several_servers_have_is_said_once() -> None:
    off = (LogRead(why_not="its binary log is off"), LogContents())
    assert unread_logs({"db1": off, "db2": off}) == "db1, db2: its binary log is off"
    read = (LogRead(transactions=3), LogContents())
    assert unread_logs({"db1": off, "db2": read, "db3": read}) is None


def server(name: str, kind: Any = "database", **given: Any) -> StackNode:
    about = {"topology": "single", "group_index": 0, "family": "mysql", **given}
    return StackNode(name=name, term="t", component="c", kind=kind, host=name, port=3306, **about)


def test_all_members_of_a_cluster_are_held_and_a_replica_follows() -> None:
    nodes = [server(name, topology="galera") for name in ("g1", "g2")]
    nodes.append(server("r1", "replica"))
    (found,) = sets_of(nodes, {"g1": "writer", "g2": "writer", "r1": "reader"})
    assert found.writers == ("g1", "g2")
    assert [each.name for each in found.servers] == ["g1", "g2", "r1"]
    assert found.reference == "g1"


def test_a_server_out_of_its_group_is_named_and_not_compared() -> None:
    nodes = [server("m1"), server("r1", "replica")]
    (found,) = sets_of(nodes, {"m1": "stale", "r1": "writer"})
    assert found.out == {"m1": "out of its group (stale)"}
    assert found.writers == ("r1",)
    (without,) = sets_of(nodes, {})
    assert without.writers == () and without.reference == "m1"


def test_independent_servers_are_sets_of_their_own() -> None:
    nodes = [server("m1"), server("m2"), server("r1", "replica")]
    first, second = sets_of(nodes, {"m1": "writer", "m2": "writer", "r1": "reader"})
    assert [each.name for each in first.servers] == ["m1", "r1"]
    assert [each.name for each in second.servers] == ["m2"]


def test_what_is_printed_names_key_rows_and_who_wrote_them() -> None:
    whole = record(differences=[ROW], logs={"db1": LogRead(why_not="its binary log is off")})
    text = "\n".join(terminal.lines(consistency_document("default", [whole])))
    for word in ("shop.t", "id=17", "no such row", "v=NULL", "its binary log is off"):
        assert word in text
    assert "1 difference" in answer(whole)
