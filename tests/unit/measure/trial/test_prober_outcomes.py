"""What becomes of the failover prober's operations: what an error proves, and what a read must have
seen.
"""

import random

import pymysql
import pytest

from unit.measure.trial.prober_rig import FakeServers, Rig, links, streams


def time_out_s(code: int | str) -> float:
    """Soon where nothing answers; an answer comes first however busy the machine is."""
    return 0.05 if code == "hang" else 60.0


# What proves a roll-back.


@pytest.mark.parametrize(
    "code", [1213, 1205, 1047, 1290, 1792, 1836, 3100, 3101, 1040, 1045, 1203, 1146, 1049]
)
def test_an_error_that_proves_a_roll_back_is_failed(servers: FakeServers, code: int) -> None:
    servers.add("a")
    servers["a"].fails["INSERT"] = code
    rig = Rig(servers, ["a"], timeout_s=time_out_s(code))
    assert rig.outcome() == ("failed", str(code), 1)


@pytest.mark.parametrize("code", [2006, 2013, 2003, 1927, 1053, 1180, 1317, 9001, "hang"])
def test_any_other_error_after_the_statement_was_sent_is_unknown(
    servers: FakeServers, code: int | str
) -> None:
    servers.add("a")
    servers["a"].fails["INSERT"] = code
    assert Rig(servers, ["a"], timeout_s=time_out_s(code)).outcome() == (
        "unknown",
        "timeout" if code == "hang" else str(code),
        1,
    )


@pytest.mark.parametrize("where", ["connect", "greeting"])
@pytest.mark.parametrize("code", [2003, 2013, 1040, 1053, "hang"])
def test_without_a_connection_nothing_was_sent(
    servers: FakeServers, where: str, code: int | str
) -> None:
    servers.add("a")
    servers["a"].fails[where] = code
    assert Rig(servers, ["a"], timeout_s=time_out_s(code)).outcome() == (
        "failed",
        "timeout" if code == "hang" else str(code),
        1,
    )
    assert servers["a"].statements == []


@pytest.mark.parametrize(
    ("statement", "code", "outcome"),
    [
        ("BEGIN", 2013, "failed"),
        ("INSERT", 2013, "failed"),
        ("INSERT", 1205, "failed"),
        ("COMMIT", 2013, "unknown"),
        ("COMMIT", 1205, "unknown"),
        ("COMMIT", 1213, "failed"),
    ],
)
def test_a_transaction_is_open_until_its_commit_is_sent(
    servers: FakeServers, statement: str, code: int, outcome: str
) -> None:
    servers.add("a")
    servers["a"].fails[statement] = code
    rig = Rig(servers, ["a"], transaction=True, timeout_s=time_out_s(code))
    assert rig.outcome() == (outcome, str(code), 1)
    servers["a"].fails.clear()
    assert rig.outcome() == ("acked", "-", 1)
    assert servers["a"].rows == [2], "what the error left open was committed by the next BEGIN"


def test_too_late_for_the_statement_is_a_failure_before_it(servers: FakeServers) -> None:
    servers.add("a")
    assert Rig(servers, ["a"], timeout_s=0.0).outcome() == ("failed", "timeout", 1)
    assert servers["a"].statements == []


def test_an_error_without_a_number_has_a_name() -> None:
    assert (
        links.code_of(pymysql.err.InternalError("Packet sequence number wrong")) == "InternalError"
    )
    assert links.code_of(IndexError()) == "IndexError"
    assert links.outcome_of("InternalError", True, False) == "unknown"


def test_the_intent_is_written_first_and_both_lines_have_what_they_must(
    servers: FakeServers,
) -> None:
    servers.add("a")
    rig = Rig(servers, ["a"])
    rig.send("pooled"), rig.send("fresh")
    assert [line[:3] for line in rig.lines if line[0] == "i"] == [
        ["i", "1", "pooled"],
        ["i", "2", "fresh"],
    ]
    assert [line[0] for line in rig.lines] == ["i", "o", "i", "o"]
    assert rig.lines[1] == ["o", "1", "1001000", "1001000", "acked", "-", "1"]


# What a read must have seen.


def test_a_read_asks_for_the_newest_and_for_some_of_the_last_ten_seconds() -> None:
    memory = streams.Memory()
    for op in range(1, 1001):
        # 20 s: only those from 501 on are less than 10 s old at the end.
        memory.acknowledged(op, op * 20_000)
    asked = memory.asked(20_000_000, random.Random(7))
    assert [*asked][:20] == [*range(981, 1001)] and len(asked) == 40
    assert all(500 <= op <= 980 for op in [*asked][20:])
    assert asked == memory.asked(20_000_000, random.Random(7)), "seeded"
    assert [*memory.asked(20_000_000 - 1, random.Random(7))][19] == 999, (
        "not what was acknowledged after it was sent"
    )
    assert [*memory.asked(60_000_000, random.Random(7))] == [*range(981, 1001)], (
        "the newest, however old"
    )


def test_a_lost_write_is_stale_with_its_age(servers: FakeServers) -> None:
    (a,) = servers.add("a")
    rig = Rig(servers, ["a"], ["a"])
    assert rig.send("reader")[-4:] == ["a", "0", "-", "-"]
    rig.send("pooled", 3)
    a.loses = True
    rig.send("pooled")
    rig.clock.now += 500_000
    assert rig.send("writer")[-5:] == ["-", "a", "4", "4:501000", "-"]


def test_a_row_that_a_finished_read_had_seen_is_backwards(servers: FakeServers) -> None:
    a, b = servers.add("a", "b")
    rig = Rig(servers, ["a"], ["a", "b"])
    rig.send("pooled", 2)
    b.rows += [1]
    assert [rig.send("reader")[6:] for _ in range(2)] == [
        ["a", "2", "-", "-"],
        ["b", "2", "2:2000", "-"],
    ]
    a.hides, b.hides = {2}, {1}
    assert [rig.send("reader")[-1] for _ in range(2)] == ["2", "1"]
    a.hides = set()
    assert rig.send("reader")[-1] == "-"


def test_a_read_is_compared_with_reads_that_had_finished_before_it_was_sent() -> None:
    memory = streams.Memory()
    assert memory.judge("a", [], [1, 2], 100, 200) == []
    assert memory.judge("a", [1, 2], [], 199, 300) == []
    assert memory.judge("a", [1, 3], [2], 201, 300) == ["1"]
    assert memory.judge("b", [1, 2], [], 400, 500) == [], "another node"
    memory.judge("a", [], [9], 20_000_000, 20_000_100)
    assert memory.judge("a", [1, 2, 9], [], 20_000_200, 20_000_300) == ["9"], "ten seconds later"


def test_a_list_that_was_cut_off_is_no_stale_read(servers: FakeServers) -> None:
    (a,) = servers.add("a")
    rig = Rig(servers, ["a"])
    rig.send("pooled", 3)
    a.answers["SELECT @@hostname"] = ((), [("a", 3, b"1,2")])
    assert rig.send("writer")[4:] == ["failed", "BufferError", "-", "3", "-", "-"]


def test_an_hour_takes_no_more_memory_than_ten_seconds() -> None:
    memory, draw, largest = streams.Memory(), random.Random(7), [0, 0]
    for op in range(1, 30_001):
        now_us = op * 1000
        memory.acknowledged(op, now_us)
        if op % 10 == 0:
            asked = memory.asked(now_us, draw)
            memory.judge("a", [], asked, now_us, now_us)
            kept = len(memory._acknowledged), len(memory._seen["a"])
            largest = [max(pair) for pair in zip(largest, kept, strict=True)]
    assert 9_000 < largest[0] <= 10_001, "acknowledged in ten seconds"
    assert 9_000 < largest[1] <= 20_001, (
        "seen in ten seconds, of what was acknowledged in the ten before"
    )
