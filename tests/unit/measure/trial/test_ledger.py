"""The ledger's verdicts: plain examples with known answers, and what must hold for any sets."""

import time
from collections.abc import Iterable, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.measure.trial.columns import ACKED, FAILED, UNKNOWN
from sandbox.measure.trial.ledger import Ledger, NodeRows, rows_of, split_brain
from sandbox.measure.trial.prober_log import ProberLog
from sandbox.record.trial import LedgerCounts, OpCount, ReadExample
from unit.measure.trial.made_logs import compact, line, log_of, read, seen, steady, write

S = 1_000_000


def found(ops: np.ndarray | None) -> list[int] | None:
    """A set of ops as a list."""
    return None if ops is None else ops.tolist()


def rows(*ops: int, host: str = "db1", more: Mapping[int, int] | None = None) -> NodeRows:
    """A node's rows, all taken by one host."""
    return rows_of(compact({host: ops}, more))


def ledger(present: Mapping[str, NodeRows], writer: str | None = "db1") -> Ledger:
    """Ops 1 to 5 acknowledged, 6 and 7 failed, 8 and 9 unknown, 10 without an outcome."""
    lines = [
        *steady(0, 50),
        *write(6, 50, 3, "failed", code="1213"),
        *write(7, 60, 3, "failed", code="1290"),
    ]
    lines += [
        *write(8, 70, 2000, "unknown", code="timeout"),
        *write(9, 80, 5, "unknown", code="2013"),
    ]
    return Ledger(log_of([*lines, *write(10, 90, took=None)]), present, writer)


def test_nothing_is_wrong_with_what_was_promised() -> None:
    judged = ledger({"db1": rows(1, 2, 3, 4, 5), "db2": rows(1, 2, 3, 4, 5)})
    counts = judged.counts()
    none = OpCount(count=0, examples=())
    assert (
        counts.lost
        == counts.phantom
        == counts.duplicate
        == counts.recovered
        == counts.unlisted
        == none
    )
    assert counts.divergent == none and counts.missing_on == {"db1": none, "db2": none}
    assert counts.lost_on_readers == {"db2": none}
    assert (
        counts.unknown_absent == OpCount(count=3, examples=(8, 9, 10))
        and counts.split_brain is None
    )
    assert (counts.acked, counts.failed, counts.unknown, counts.rows) == (
        5,
        2,
        3,
        {"db1": 5, "db2": 5},
    )


def test_each_verdict_has_its_set() -> None:
    judged = ledger(
        {
            "db1": rows(1, 2, 4, 6, 8, 77, more={4: 2}),
            "db2": rows(1, 2, 3, 4, 7, 9, more={4: 3, 1: 2}),
        }
    )
    assert found(judged.lost()) == [3, 5]
    assert found(judged.lost_on("db2")) == [5] and judged.lost_on("db3") is None
    assert found(judged.phantom()) == [6, 7]
    assert found(judged.duplicate()) == [1, 4]
    assert found(judged.recovered()) == [8] and found(judged.unknown_absent()) == [9, 10]
    assert found(judged.unlisted()) == [77]
    assert found(judged.missing_on("db1")) == [3, 7, 9] and found(judged.missing_on("db2")) == [
        6,
        8,
        77,
    ]
    assert found(judged.divergent()) == [1, 3, 4, 6, 7, 8, 9, 77]
    counts = judged.counts()
    assert counts.lost == OpCount(count=2, examples=(3, 5)) and counts.rows == {"db1": 7, "db2": 9}
    assert (
        counts.lost_on_readers == {"db2": OpCount(count=1, examples=(5,))}
        and counts.writer == "db1"
    )
    assert LedgerCounts.model_validate_json(counts.model_dump_json()) == counts


def test_a_row_of_another_host_diverges() -> None:
    judged = ledger(
        {"db1": rows(1, 2, 3, 4, 5), "db2": rows_of(compact({"db1": [1, 2, 3, 5], "db2": [4]}))}
    )
    assert found(judged.divergent()) == [4] and found(judged.missing_on("db2")) == []


def test_without_the_writer_only_what_does_not_need_it_is_judged() -> None:
    for writer in (None, "db1"):
        counts = ledger({"db2": rows(1, 2, 3, 4, 6, more={1: 2})}, writer).counts()
        assert counts.lost is None and counts.recovered is None and counts.unknown_absent is None
        assert counts.divergent is None and counts.missing_on == {
            "db2": OpCount(count=0, examples=())
        }
        assert counts.lost_on_readers == {"db2": OpCount(count=1, examples=(5,))}
        assert counts.phantom == OpCount(count=1, examples=(6,))
        assert counts.duplicate == OpCount(count=1, examples=(1,))


def test_without_any_node_nothing_is_judged() -> None:
    counts = ledger({}).counts()
    verdicts = (
        counts.lost,
        counts.phantom,
        counts.duplicate,
        counts.recovered,
        counts.unlisted,
        counts.divergent,
    )
    assert (
        set(verdicts) == {None}
        and not counts.missing_on
        and not counts.lost_on_readers
        and not counts.rows
    )


def test_at_most_twenty_examples() -> None:
    counts = Ledger(log_of(steady(0, 1000)), {"db1": rows()}, "db1").counts()
    assert counts.lost == OpCount(count=100, examples=tuple(range(1, 21)))


def test_a_split_brain_is_what_the_old_writer_took_after_the_election() -> None:
    """Op n is sent 10 ms × (n − 1) + 1 ms after the start: 12 too early for an election at 100 ms ±
    20, 13 not.

    The new writer has 16, and took 17 itself; 18 is only on the old one, 19 only on the new one.
    """
    old = rows_of(compact({"db1": [*range(1, 17), 18], "db2": [17]}))
    new = rows_of(compact({"db1": [*range(1, 12), 16], "db2": [17, 19]}))
    judged = Ledger(
        log_of([*steady(0, 190), *write(20, 190, 3, "unknown")]), {"db1": old, "db2": new}, "db2"
    )
    split = split_brain(judged, [(100_000, "db2")], 20_000)
    assert found(split) == [13, 14, 15, 18]
    assert found(split_brain(judged, [(100_000, "db2")], 21_000)) == [14, 15, 18]
    assert judged.counts(split).split_brain == OpCount(count=4, examples=(13, 14, 15, 18))


@pytest.mark.parametrize(("again_us", "last"), [(211_000, 20), (211_001, 21)])
def test_a_split_brain_ends_as_the_old_writer_is_elected_again(again_us: int, last: int) -> None:
    """Op 21 is sent at 201 ms, and db1 elected again 10 ms later, ± 10 ms."""
    judged = Ledger(
        log_of(steady(0, 300)), {"db1": rows(*range(1, 31)), "db2": rows(*range(1, 11))}, "db2"
    )
    assert found(split_brain(judged, [(95_000, "db2"), (again_us, "db1")], 10_000)) == [
        *range(12, last + 1)
    ]


def apart(writer: str, **present: Iterable[int]) -> list[int] | None:
    """db1 acknowledged ops 11 to 30 apart from db2, elected at 95 ms; a node's rows after 10 as
    each test has them.
    """
    nodes = {node: rows(*range(1, 11), *ops) for node, ops in present.items()}
    return found(
        split_brain(Ledger(log_of(steady(0, 300)), nodes, writer), [(95_000, "db2")], 10_000)
    )


def test_a_split_brain_stays_where_the_old_writer_leads_again() -> None:
    assert (
        apart("db2", db1=range(11, 31), db2=())
        == apart("db1", db1=range(11, 31), db2=())
        == [*range(12, 31)]
    )
    assert apart("db1", db1=range(11, 31), db2=range(11, 31)) == [], "one history"
    assert apart("db1", db1=(), db2=range(11, 31)) == apart("db2", db2=range(11, 31)) == []
    assert apart("db2", db2=(), db3=range(11, 31)) == [*range(12, 31)], (
        "a third node has them from the old writer"
    )


def test_a_split_brain_is_unknown_where_what_was_acknowledged_is_gone() -> None:
    assert apart("db2", db1=(), db2=()) is None, "db1 was filled from db2"
    assert apart("db2", db1=(20,), db2=()) == [20]
    assert apart("db2", db2=()) is None and apart("db1", db1=()) is None


def test_every_election_may_split() -> None:
    """db2 is the writer from 95 ms on, db3 from 205 ms: op 15 is db2's own, and 21 is db3's before
    it was seen.
    """
    nodes = {
        "db1": rows_of(compact({"db1": range(1, 11)})),
        "db2": rows_of(compact({"db1": range(1, 11), "db2": [*range(11, 21), 25]})),
        "db3": rows_of(
            compact(
                {"db1": range(1, 11), "db2": range(11, 15), "db3": [*range(21, 25), *range(26, 31)]}
            )
        ),
    }
    judged = Ledger(log_of(steady(0, 300)), nodes, "db3")
    assert found(split_brain(judged, [(95_000, "db2"), (205_000, "db3")], 10_000)) == [25]
    without = Ledger(judged.log, {"db1": nodes["db1"], "db3": nodes["db3"]}, "db3")
    assert split_brain(without, [(95_000, "db2"), (205_000, "db3")], 10_000) is None


def test_stale_reads_by_stream_and_age() -> None:
    lines = [
        read(0), read(10, "db2", stale="1:5000,2:1000001"), read(20, "db3", stale="3:1000000"),
        read(30, "db1", "writer", stale="4:250"), read(40, "db1", "writer"),
        read(50, "-", "writer", outcome="failed", code="2013"),
    ]  # fmt: skip
    stale = Ledger(log_of(lines), {}, None).counts().stale
    reader, writer = stale["reader"], stale["writer"]
    assert (reader.reads, reader.stale, reader.above_1s, reader.longest_age_ms) == (
        3,
        2,
        1,
        1000.001,
    )
    assert (writer.reads, writer.stale, writer.above_1s, writer.longest_age_ms) == (2, 1, 0, 0.25)
    assert reader.examples == (
        ReadExample(op=2, node="db2", age_ms=1000.001),
        ReadExample(op=3, node="db3", age_ms=1000),
        ReadExample(op=1, node="db2", age_ms=5),
    )


def test_in_a_cluster_of_writers_a_node_must_show_what_it_took_itself() -> None:
    """db1 took op 1, db2 took op 2, and op 3 is nowhere; db2 answers all reads."""
    lines = [
        seen("db1", 0),
        seen("db2", 0),
        read(50, "db2", "writer", stale="1:7"),
        read(60, "db2", "writer", stale="2:8"),
        read(70, "db2", "writer", stale="1:9,2:9"),
        read(80, "db2", "writer", stale="3:4"),
        read(90, "db2", "writer"),
    ]
    both = rows_of({"hosts": {"db1": ["1"], "db2": ["2"]}, "more_than_once": {}})
    judged = Ledger(log_of(lines), {"db1": both, "db2": both}, "db1")
    for at_once, missed in (
        (False, {"writer": (5, 4), "reader": (0, 0)}),
        (True, {"writer": (4, 3), "reader": (1, 1)}),
    ):
        found = judged.counts(writers_at_once=at_once).stale
        assert {stream: (each.reads, each.stale) for stream, each in found.items()} == missed


def test_a_read_at_the_writer_that_a_replica_answered_is_the_readers() -> None:
    """db1 crashes at 100 ms, the client tries db2, which is promoted at 200 ms; db9 is not
    observed.
    """
    lines = [
        seen("db1", 0),
        seen("db2", 0, read_only=1),
        seen("db1", 100, read_only=None),
        seen("db2", 200),
        read(50, "db1", "writer", stale="1:7"),
        read(150, "db2", "writer", stale="2:8,3:9"),
        read(160, "db2", "writer"),
        read(199, "db2", "writer"),
        read(250, "db2", "writer", stale="4:10"),
        read(260, "db9", "writer"),
        read(270, "db2", stale="5:11"),
        read(280, "-", "writer", outcome="failed", code="2013"),
    ]
    found = Ledger(log_of(lines), {}, None).counts().stale
    assert (found["writer"].reads, found["writer"].stale) == (
        4,
        2,
    ), "sent 1 ms after it was due: at 200 it writes"
    assert (found["reader"].reads, found["reader"].stale) == (3, 2)
    assert {each.op for each in found["reader"].examples} == {2, 3, 5}


def test_reads_that_went_backwards() -> None:
    counts = Ledger(
        log_of([read(0), read(10, "db2", backwards="3,7"), read(20, "db1", backwards="3")]),
        {},
        None,
    )
    judged = counts.counts().non_monotonic
    assert judged.count == 2
    assert judged.examples == tuple(
        ReadExample(op=op, node=node) for op, node in ((3, "db2"), (7, "db2"), (3, "db1"))
    )


def test_rows_come_as_ranges_by_host() -> None:
    given_rows = rows_of(
        '{"hosts": {"db1": ["1-500", "502-900"], "db2": ["501", "17"]}, "more_than_once":'
        ' {"17": 2}}'
    )
    assert found(given_rows.ops) == list(range(1, 901)) and given_rows.count == 901
    assert found(given_rows.by_host["db2"]) == [17, 501] and given_rows.more_than_once == {17: 2}
    empty = rows_of({"hosts": {}, "more_than_once": {}, "gtid": "0-1-5"})
    assert found(empty.ops) == [] and empty.count == 0


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "[]",
        "{",
        '{"hosts": {}}',
        '{"hosts": {"a": ["x"]}, "more_than_once": {}}',
        '{"hosts": {"a": ["5-3"]}, "more_than_once": {}}',
        '{"hosts": {"a": ["1-2-3"]}, "more_than_once": {}}',
        '{"hosts": {"a": [7]}, "more_than_once": {}}',
        '{"hosts": {"a": ["1"]}, "more_than_once": {"2": 2}}',
        '{"hosts": {"a": ["1"]}, "more_than_once": {"1": 1}}',
        '{"hosts": [], "more_than_once": {}}',
        f'{{"hosts": {{"a": ["{2**64}"]}}, "more_than_once": {{}}}}',
    ],
)
def test_rows_of_another_form_are_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="not the rows of a ledger"):
        rows_of(bad)


def scattered(ops: int) -> tuple[ProberLog, Mapping[str, NodeRows]]:
    """Rows on three nodes that took the writes in turn, so that no range is longer than one row."""
    lines = [line("i", op, "pooled", op * 10_000) for op in range(1, ops + 1)]
    lines += [
        line("o", op, op * 10_000, op * 10_000 + 3000, "acked", "-", 1) for op in range(1, ops + 1)
    ]
    text = compact({f"db{host}": range(host, ops + 1, 3) for host in (1, 2, 3)}, {17: 2})
    return log_of(lines), {node: rows_of(text) for node in ("db1", "db2", "db3")}


def timed(log: ProberLog, rows: Mapping[str, NodeRows]) -> tuple[LedgerCounts, float]:
    """The counts, and the processor time that they took, in s: the least of three."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        ledger = Ledger(log, rows, "db1")
        counts = ledger.counts(split_brain(ledger, [(5e8, "db1")], 1e5))
        times.append(time.process_time() - begin)
    return counts, min(times)


def test_the_time_to_judge_a_ledger_grows_as_its_rows_do() -> None:
    """100,000 rows on each of three nodes take about 0.4 s of one core; no limit in seconds holds
    on every machine.
    """
    _, few_s = timed(*scattered(10_000))
    counts, many_s = timed(*scattered(100_000))
    assert many_s < 30 * few_s, f"ten times the rows took {many_s / few_s:.0f} times as long"
    assert (
        counts.rows == dict.fromkeys(("db1", "db2", "db3"), 100_001)
        and counts.duplicate is not None
    )
    assert counts.lost == OpCount(count=0, examples=()) and counts.duplicate.examples == (17,)


op_sets = st.sets(st.integers(1, 60))


@given(st.dictionaries(st.sampled_from(["db1", "db2", "db3"]), op_sets))
def test_compact_rows_hold_what_was_put_in(by_host: dict[str, set[int]]) -> None:
    read_back = rows_of(compact(by_host))
    assert {host: set(ops.tolist()) for host, ops in read_back.by_host.items()} == by_host
    assert found(read_back.ops) == sorted(set().union(*by_host.values()))


outcomes = st.lists(st.sampled_from(["acked", "failed", "unknown"]), max_size=60)


def judged_of(given_outcomes: Iterable[str], nodes: Mapping[str, set[int]]) -> Ledger:
    """A ledger whose ops from 1 on have these outcomes."""
    lines = [
        each
        for op, outcome in enumerate(given_outcomes, 1)
        for each in write(op, 10 * op, outcome=outcome)
    ]
    return Ledger(log_of(lines), {node: rows(*ops) for node, ops in nodes.items()}, "db1")


@given(outcomes, op_sets, op_sets)
def test_every_write_is_in_one_set_of_its_outcome(
    given_outcomes: list[str], on_db1: set[int], on_db2: set[int]
) -> None:
    """An acknowledged one is present or lost, a failed one absent or phantom, an unknown one
    recovered or absent.
    """
    judged = judged_of(given_outcomes, {"db1": on_db1, "db2": on_db2})
    sets = {outcome: set(judged.written(outcome).tolist()) for outcome in (ACKED, FAILED, UNKNOWN)}
    assert sorted(op for ops in sets.values() for op in ops) == list(
        range(1, len(given_outcomes) + 1)
    )
    lost, recovered, absent = (
        set(found(ops) or ())
        for ops in (judged.lost(), judged.recovered(), judged.unknown_absent())
    )
    assert lost | (sets[ACKED] & on_db1) == sets[ACKED] and not lost & on_db1
    assert set(found(judged.lost_on("db2")) or ()) == sets[ACKED] - on_db2
    assert set(found(judged.phantom()) or ()) == sets[FAILED] & (on_db1 | on_db2)
    assert (
        recovered | absent == sets[UNKNOWN]
        and not recovered & absent
        and recovered == sets[UNKNOWN] & on_db1
    )
    assert set(found(judged.unlisted()) or ()) == (on_db1 | on_db2) - set(
        range(1, len(given_outcomes) + 1)
    )


@given(st.lists(op_sets, min_size=3, max_size=3))
def test_nodes_diverge_where_one_lacks_what_another_has(sets: list[set[int]]) -> None:
    names, every = ("db1", "db2", "db3"), sets[0] | sets[1] | sets[2]
    judged = judged_of([], dict(zip(names, sets, strict=True)))
    assert set(found(judged.divergent()) or ()) == every - (sets[0] & sets[1] & sets[2])
    for node, own in zip(names, sets, strict=True):
        assert set(found(judged.missing_on(node)) or ()) == every - own
