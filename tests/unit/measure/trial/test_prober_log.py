"""The prober's log read into columns: every line of its format, logs that are cut off, and those
that are refused.
"""

import time
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.measure.trial import prober_log
from sandbox.measure.trial.columns import ACKED, FAILED, NO_OUTCOME, STREAMS, UNKNOWN
from sandbox.measure.trial.prober_log import ProberLog, read_prober_log
from unit.measure.trial.made_logs import header, line, log_of, read, seen, steady, write

EVERY_KIND = [
    line("i", 1, "pooled", 0),
    line("i", 2, "fresh", 0),
    line("o", 2, 100, 2_000_100, "unknown", "timeout", 3),
    line("o", 1, 50, 4050, "acked", "-", 1),
    line("i", 3, "pooled", 10_000),
    line("o", 3, 10_020, 11_000, "failed", 1290, 1),
    line("i", 4, "pooled", 20_000),
    line("r", "writer", 0, 30, 900, "ok", "-", "db1", 0, "-", "-"),
    line("r", "reader", 10_000, 10_030, 10_900, "ok", "-", "db2", 1, "1:5980,3:70", 3),
    line("r", "reader", 20_000, 20_030, 2_020_900, "failed", 2013, "-", 1, "-", "-"),
    line("m", "pooled", 30_000),
    line("m", "reader", 30_000),
    seen("db1", 0),
    seen("db2", 1, read_only=1, row_at=7),
    line("c", "t0", 25_000),
    line("n", 26_000, "address\tof db1 is now 172.18.0.9"),
    line("e", 2_030_000),
]


def test_every_kind_of_line_is_read() -> None:
    log = log_of(EVERY_KIND)
    writes, reads = log.writes, log.reads
    assert log.began_utc_s == 1732000000.25 and log.request["rates"]["fresh"] == 20
    assert writes.op.tolist() == [1, 2, 3, 4]
    assert [STREAMS[each] for each in writes.stream] == ["pooled", "fresh", "pooled", "pooled"]
    assert writes.due.tolist() == [0, 0, 10_000, 20_000]
    assert writes.sent.tolist()[:3] == [50, 100, 10_020] and writes.done.tolist()[:3] == [
        4050,
        2_000_100,
        11_000,
    ]
    assert writes.outcome.tolist() == [
        ACKED,
        UNKNOWN,
        FAILED,
        UNKNOWN,
    ] and writes.attempts.tolist() == [1, 3, 1, 0]
    assert [log.codes[each] for each in writes.code] == ["-", "timeout", "1290", NO_OUTCOME]
    assert [STREAMS[each] for each in reads.stream] == ["writer", "reader", "reader"]
    assert reads.ok.tolist() == [True, True, False] and [
        log.codes[each] for each in reads.code
    ] == ["-", "-", "2013"]
    assert [log.nodes[each] for each in reads.node] == [
        "db1",
        "db2",
        "-",
    ] and reads.asked.tolist() == [0, 1, 1]
    assert reads.stale_read.tolist() == [1, 1] and reads.stale_op.tolist() == [1, 3]
    assert reads.stale_age.tolist() == [5980, 70]
    assert reads.backwards_read.tolist() == [1] and reads.backwards_op.tolist() == [3]
    assert log.missed_by_stream() == {"pooled": 1, "fresh": 0, "writer": 0, "reader": 1}
    assert [t for t, _ in log.observations["db2"]] == [1000] and log.observations["db2"][0][1][
        "last_at_us"
    ] == 7000
    assert log.clock == {"t0": 25_000} and log.ended
    assert log.notes == [(26_000, "address\tof db1 is now 172.18.0.9")]


def test_an_intent_without_an_outcome_is_unknown_and_was_never_done() -> None:
    writes = log_of(EVERY_KIND).writes
    assert np.isnan(writes.sent[3]) and np.isnan(writes.done[3]) and writes.outcome[3] == UNKNOWN


def test_an_empty_trial_has_empty_columns() -> None:
    log = log_of([])
    assert (
        len(log.writes.op)
        == len(log.reads.due)
        == len(log.acks("pooled"))
        == len(log.lateness_ms())
        == 0
    )
    assert not log.ended and log.errors(0, 1)["during"] == {"writes": {}, "reads": {}}


@pytest.mark.parametrize("cut", [1, 5, len(EVERY_KIND[-3]) - 1])
def test_a_last_line_that_is_cut_off_is_left_out(cut: int) -> None:
    whole = [header(), *EVERY_KIND[:-3]]
    last = EVERY_KIND[-3][:cut]
    log = read_prober_log([*(f"{each}\n" for each in whole), last])
    assert not log.clock and not log.ended and len(log.writes.op) == 4


def test_without_line_ends_a_last_line_counts_if_it_is_whole() -> None:
    assert log_of(EVERY_KIND[:-2]).clock == {"t0": 25_000}
    assert log_of([*EVERY_KIND[:-3], "c\tt0"]).clock == {}


BAD = [
    "",
    "x\t1",
    "i\t5\tpooled",
    "i\t5\tpooled\t1\t2",
    "i\tfive\tpooled\t1",
    "i\t5\twriter\t1",
    "io\t5\tpooled\t1",
    "o\t4\t1\t2\tlost\t-\t1",
    "o\t4\t1\t2\tacked\t-",
    f"o\t4\t{2**64}\t2\tacked\t-\t1",
    "m\tpoled\t1",
    "c\t1",
    "r\tpooled\t1\t2\t3\tok\t-\tdb1\t0\t-\t-",
    "r\twriter\t1\t2\t3\tok\t-\tdb1\t0\t1\t-",
    "r\twriter\t1\t2\t3\tok\t-\tdb1\t0\t-\t1:2",
    "r\twriter\t1\t2\t3\tacked\t-\tdb1\t0\t-\t-",
    "s\tdb1\t1\t{",
    "s\tdb1\t1\t[]",
    "n\tx\ttext",
    "n\t5",
    "e",
    "e\tend",
    header(),
]


@pytest.mark.parametrize("bad", BAD)
def test_any_other_malformed_line_is_refused_with_its_number(
    bad: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for chunk in (3, 10_000):
        monkeypatch.setattr(prober_log, "_CHUNK", chunk)
        for before in (0, 1, 7, len(EVERY_KIND) - 1):
            with pytest.raises(ValueError, match=rf"^line {before + 2} is not"):
                log_of([*EVERY_KIND[:before], bad, *EVERY_KIND[before:]])


@pytest.mark.parametrize("first", ["", "{", "[]", '{"probe": 2}', '{"probe": 1}', EVERY_KIND[0]])
def test_a_log_without_its_header_is_refused(first: str) -> None:
    with pytest.raises(ValueError, match=r"^line 1 is not the header"):
        read_prober_log([first, *EVERY_KIND] if first else [])


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([*write(7, 0), *write(7, 10, took=None)], "op 7 comes twice"),
        ([*write(7, 0), line("o", 8, 1, 2, "acked", "-", 1)], "op 8 has an outcome, but no intent"),
        ([*write(7, 0), line("o", 7, 1, 2, "acked", "-", 1)], "op 7 has two outcomes"),
    ],
)
def test_a_log_of_two_probes_is_refused(lines: list[str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        log_of(lines)


@given(st.integers(1, 9))
def test_the_size_of_a_chunk_means_nothing(size: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(prober_log, "_CHUNK", size)
        log = log_of(EVERY_KIND)
    assert log.reads.stale_read.tolist() == [1, 1] and log.reads.backwards_read.tolist() == [1]
    assert log.ended and log.writes.op.tolist() == [1, 2, 3, 4]
    assert [log.nodes[each] for each in log.reads.node] == ["db1", "db2", "-"]


def test_latency_counts_from_the_due_time_and_a_slot_never_served_is_endless() -> None:
    log = log_of(EVERY_KIND)
    assert log.latency_ms("pooled").tolist() == [4.05, np.inf, np.inf, np.inf]
    assert log.latency_ms("pooled", 0, 10_000).tolist() == [4.05]
    assert log.latency_ms("reader").tolist() == pytest.approx([0.9, np.inf, np.inf])
    assert log.acks("pooled").tolist() == [4050] and log.acks("fresh").tolist() == []


def test_acknowledgements_are_sorted_however_they_came() -> None:
    assert log_of([*write(1, 0, 500), *write(2, 10), *write(3, 20)]).acks("pooled").tolist() == [
        14_000,
        24_000,
        500_000,
    ]


def test_lateness_is_that_of_the_prober() -> None:
    log = log_of([*write(1, 0), *write(2, 10, took=None), read(20), read(30)])
    assert log.lateness_ms().tolist() == [1, 1, 1] and log.lateness_ms(
        until_us=30_000
    ).tolist() == [1, 1]


def test_an_error_belongs_to_the_phase_that_its_slot_overlaps() -> None:
    """Phases: before 100 ms, to 200 ms, after."""
    lines = [
        *write(1, 80, 10, "failed", code="1213"),
        *write(2, 95, 10, "unknown", code="2013"),
        *write(3, 110),
        *write(4, 150, 2000, "unknown", code="timeout"),
        *write(5, 200, 10, "failed", code="1290"),
        *write(6, 10, took=None),
        read(90, outcome="failed", code="2003"),
        read(196, outcome="failed", code="2003"),
    ]
    assert log_of(lines).errors(100_000, 200_000) == {
        "before": {"writes": {"1213": 1}, "reads": {"2003": 1}},
        "during": {"writes": {"2013": 1, "timeout": 1, NO_OUTCOME: 1}, "reads": {"2003": 1}},
        "after": {"writes": {"1290": 1}, "reads": {}},
    }


def test_slots_stand_a_delta_apart() -> None:
    assert log_of([]).delta_us("pooled") == 10_000 and log_of([]).delta_us("fresh") == 50_000
    assert (
        log_of([], pooled=50).delta_us("pooled") == 20_000
        and log_of([], pooled=50).delta_us("fresh") is None
    )


def test_the_time_to_read_a_log_grows_as_its_lines_do() -> None:
    """A million lines take about 2 s of one core; a twentieth of them here; no limit in s holds
    everywhere.
    """
    some = [
        *steady(0, 160_000),
        *(read(due) for due in range(0, 160_000, 10)),
        *(seen("db1", t) for t in range(2000)),
    ]
    _, few_s = timed([header(), *some[:5_000]])
    log, many_s = timed([header(), *some[:50_000]])
    assert many_s < 30 * few_s, f"ten times the lines took {many_s / few_s:.0f} times as long"
    assert len(log.writes.op) == 16_000


def timed(lines: Sequence[str]) -> tuple[ProberLog, float]:
    """The log, and the processor time that reading it took, in s: the least of three."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        log = read_prober_log(lines)
        times.append(time.process_time() - begin)
    return log, min(times)
