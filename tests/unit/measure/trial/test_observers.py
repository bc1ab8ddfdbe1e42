"""What observers saw: the election, the writers for a band in a chart, and lag whose area is
known.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.measure.trial.observers import (
    detection_ms,
    election_ms,
    elections,
    lag_ms,
    takes_writes,
    writers,
    writers_seen,
)
from sandbox.measure.trial.prober_log import Seen
from unit.measure.trial.made_logs import log_of, seen

MS, S = 1000, 1_000_000


def observed(*lines: str) -> Seen:
    """The observations of a log."""
    return log_of(lines).observations


FAILOVER = observed(
    seen("db1", 0), seen("db2", 0, read_only=1), seen("db3", 0, read_only=1), seen("db1", 1000),
    seen("db1", 2100, read_only=None), seen("db2", 4000, read_only=1), seen("db2", 4500),
    seen("db1", 9000, read_only=1),
)  # fmt: skip


def test_a_writer_has_read_only_off_or_is_primary() -> None:
    assert takes_writes({"read_only": 0, "role": None}) and takes_writes(
        {"read_only": 1, "role": "PRIMARY"}
    )
    assert not takes_writes({"read_only": 1, "role": "SECONDARY"})
    assert not takes_writes({"read_only": None, "role": None}) and not takes_writes(
        {"error": "no answer"}
    )


def test_the_writers_as_they_were_seen() -> None:
    assert writers(FAILOVER) == [(0, ("db1",)), (2_100_000, ()), (4_500_000, ("db2",))]
    both = observed(
        seen("db1", 0), seen("db2", 0, read_only=1), seen("db2", 50), seen("db1", 90, read_only=1)
    )
    assert writers(both) == [(0, ("db1",)), (50_000, ("db1", "db2")), (90_000, ("db2",))]
    assert writers({}) == []


def test_the_election_is_the_first_sight_of_another_writer() -> None:
    assert election_ms(FAILOVER, 2 * S) == 2500
    assert election_ms(FAILOVER, 2_099_999) == pytest.approx(2400, abs=0.01)
    assert election_ms(FAILOVER, 2_100_000) is None, "at t0 the writer no longer answers"
    assert election_ms(FAILOVER, 4.5 * S) is None


def test_the_old_writer_that_returns_is_no_election() -> None:
    back = observed(
        seen("db1", 0),
        seen("db2", 0, read_only=1),
        seen("db1", 100, read_only=None),
        seen("db1", 900),
    )
    assert election_ms(back, 50 * MS) is None and writers(back)[-1] == (900_000, ("db1",))


def test_every_election_is_found_and_an_old_writer_that_comes_back_writable_is_none() -> None:
    lines = [
        seen("db1", 0),
        seen("db2", 0, read_only=1),
        seen("db3", 0, read_only=1),
        # db1, cut off, stays writable.
        seen("db2", 200),
        seen("db2", 300, read_only=None),
        seen("db2", 400),
        seen("db1", 500, read_only=None),
        seen("db1", 600),
        seen("db1", 700, read_only=1),
        seen("db3", 800),
        seen("db2", 900, read_only=1),
        seen("db3", 1000, read_only=1),
        seen("db1", 1100),
    ]
    assert elections(observed(*lines), 100 * MS) == [
        (200 * MS, "db2"),
        (800 * MS, "db3"),
        (1100 * MS, "db1"),
    ]
    both = [
        *lines[:3],
        seen("db2", 200),
        seen("db1", 200.2, read_only=1),
        seen("db1", 300),
        seen("db2", 300.2, 1),
    ]
    found = [(200 * MS, "db2"), (300.2 * MS, "db1")]
    assert elections(observed(*both), 100 * MS) == found, (
        "one round of the observers sees both for a moment"
    )
    assert elections(FAILOVER, 2 * S) == [(4_500_000, "db2")] and elections(FAILOVER, 5 * S) == []


@pytest.mark.parametrize("before", [("db1", "db2"), ()])
def test_without_one_writer_before_there_is_no_election(before: tuple[str, ...]) -> None:
    """Several: a multi-writer topology, in which a node that returns is no new writer."""
    lines = [seen(node, 0, read_only=0 if node in before else 1) for node in ("db1", "db2", "db3")]
    assert election_ms(observed(*lines, seen("db3", 500)), 100 * MS) is None
    assert election_ms({}, 0) is None


def test_group_replication_elects_by_role() -> None:
    lines = [
        seen("db1", 0, role="PRIMARY"), seen("db2", 0, read_only=1, role="SECONDARY"),
        seen("db1", 60, read_only=None), seen("db2", 900, read_only=1, role="PRIMARY"),
    ]  # fmt: skip
    assert election_ms(observed(*lines), 50 * MS) == 850


def in_view(node: str, *views: tuple[float, int | None]) -> list[str]:
    """A member's answers: (time in ms, nodes in its view; None: it does not answer)."""
    return [seen(node, t, view=view, error=None if view else "2003: gone") for t, view in views]


def test_a_member_notices_when_its_view_shrinks() -> None:
    found = observed(
        *in_view("db1", (0, 3), (900, 3), (1100, None)),
        *in_view("db2", (0, 3), (1000, 3), (3700, 2), (9000, 3)),
        *in_view("db3", (0, 3), (2000, 3), (3650, 2), (9000, 3)),
    )
    assert detection_ms(found, S, 30 * S, ["db1"]) == 2650
    assert detection_ms(found, S, 30 * S, ["db1", "db3"]) == 2700
    assert detection_ms(found, S, 3.65 * S, ["db1"]) is None, "it was healed by then"
    assert detection_ms(found, 3.66 * S, 30 * S, ["db1"]) == pytest.approx(40), (
        "db3 had noticed before"
    )
    assert (
        detection_ms(found, S, 30 * S, ["db1", "db2", "db3"]) is None
        and detection_ms(found, S, 30 * S, []) is None
    )


def test_what_the_broken_node_itself_sees_is_no_detection() -> None:
    alone = observed(*in_view("db1", (0, 3), (2000, 1)), *in_view("db2", (0, 3), (4000, 2)))
    assert detection_ms(alone, S, 30 * S, ["db1"]) == 3000


def test_a_node_that_does_not_answer_before_the_fault_is_compared_with_nothing() -> None:
    assert detection_ms(observed(*in_view("db2", (1500, 3), (2000, 2))), S, 9 * S, ["db1"]) is None
    late = observed(*in_view("db2", (0, 3), (900, None), (2000, 2)))
    assert detection_ms(late, S, 9 * S, ["db1"]) == 1000, "its last answer counts"


@pytest.mark.parametrize(
    ("before", "after", "noticed"),
    [
        ("Yes/Yes", "Connecting/Yes", True),
        ("Yes/Yes", "No/Yes", True),
        ("Yes/Yes", "Yes/No", False),
        ("Yes/Yes", "Yes/Yes", False),
        ("Connecting/Yes", "No/Yes", False),
        ("Yes/Yes,Yes/Yes", "Yes/Yes,Connecting/Yes", True),
        ("Yes/Yes", None, False),
        (None, "Connecting/Yes", False),
        ("Synced", "Initialized", False),
    ],
)
def test_a_replica_notices_when_its_io_thread_does_not_run(
    before: str | None, after: str | None, noticed: bool
) -> None:
    found = observed(
        seen("db2", 0, 1, state=before), seen("db2", 1500, 1, state=after), seen("db1", 2000)
    )
    assert detection_ms(found, S, 9 * S, ["db1"]) == (500 if noticed else None)


def test_a_thread_that_the_operator_stopped_has_noticed_nothing() -> None:
    """A promotion at 3 s stops every replica and points it elsewhere; one that had lost its source
    had noticed that.
    """
    stopped = [
        seen("db2", t, 1, state=state)
        for t, state in ((0, "Yes/Yes"), (3500, "No/Yes"), (4000, "Connecting/"))
    ]
    assert detection_ms(observed(*stopped), S, 9 * S, ["db1"], 3 * S) is None
    assert detection_ms(observed(*stopped), S, 9 * S, ["db1"]) == 2500, (
        "by a manager, which has noticed the fault"
    )
    lost = [*stopped[:1], seen("db2", 3200, 1, state="Connecting/Yes"), *stopped[1:]]
    assert detection_ms(observed(*lost), S, 9 * S, ["db1"], 3 * S) == 2200


ANSWERS: Any = st.lists(st.tuples(st.integers(0, 5000), st.none() | st.integers(1, 3)), max_size=8)


@given(
    st.dictionaries(st.sampled_from(["db1", "db2", "db3"]), ANSWERS, min_size=1),
    st.integers(0, 5000), st.integers(0, 5000), st.sets(st.sampled_from(["db1", "db2", "db3"])),
)  # fmt: skip
def test_a_detection_is_an_answer_of_another_node_within_the_fault(
    views: dict[str, list[tuple[int, int | None]]], t0: int, lasting: int, broken: set[str]
) -> None:
    found = observed(
        *(line for node, each in views.items() for line in in_view(node, *sorted(each, key=_time)))
    )
    ms = detection_ms(found, t0 * MS, (t0 + lasting) * MS, broken)
    answered = {
        node: [view for t, view in sorted(each, key=_time) if t <= t0 and view]
        for node, each in views.items()
    }
    smaller = [
        t - t0
        for node, each in views.items() if node not in broken and answered[node]
        for t, view in each if t0 < t < t0 + lasting and view and view < answered[node][-1]
    ]  # fmt: skip
    assert ms == (min(smaller) if smaller and broken else None)


def _time(answer: tuple[int, int | None]) -> int:
    return answer[0]


def ticks(node: str, begin: int, end: int, behind: int, read_only: int = 0) -> list[str]:
    """An answer each 100 ms: the newest row is ``behind`` ms older than the answer."""
    return [
        seen(node, t, row_at=5_000_000 + t - behind, read_only=read_only)
        for t in range(begin, end, 100)
    ]


def test_a_constant_lag() -> None:
    """300 ms for 10 s: an area of 3,000 ms·s. The writer itself has none."""
    lines = [*ticks("db1", 0, 20_000, 0), *ticks("db2", 0, 20_000, 300, read_only=1)]
    found = lag_ms(observed(*lines), 5 * S, 15 * S, 100 * MS)
    assert found["db1"].max_ms == 0 and found["db1"].integral_ms_s == 0
    assert found["db2"].max_ms == 300 and found["db2"].integral_ms_s == pytest.approx(3000)


def test_a_reader_that_stands_still_falls_behind_by_the_clock() -> None:
    """Rows stop at 5 s and are there again at 9 s; unchanged answers come each second only. 4 s × 4
    s / 2 = 8,000.
    """
    still = [seen("db2", t, read_only=1, row_at=5_005_000) for t in range(5_000, 9_000, 1_000)]
    lines = [
        *ticks("db1", 0, 15_000, 0),
        *ticks("db2", 0, 5_000, 0),
        *still,
        *ticks("db2", 9_000, 15_000, 0),
    ]
    found = lag_ms(observed(*lines), 5 * S, 15 * S, 100 * MS)
    assert found["db2"].max_ms == pytest.approx(4000, abs=200)
    assert found["db2"].integral_ms_s == pytest.approx(8000, abs=4 * 200)


def test_answers_that_come_late_are_no_lag() -> None:
    """The reader asks 30 ms after the writer, and once 60 ms late: what it holds is not older for
    that.
    """
    lines = [*ticks("db1", 0, 2000, 0)]
    lines += [
        seen("db2", t, row_at=5_000_000 + t, read_only=1)
        for t in (30, 130, 230, 390, 430, 530, 630)
    ]
    assert lag_ms(observed(*lines), 0, 0.7 * S, 100 * MS)["db2"].max_ms == 0


def test_a_node_that_does_not_answer_has_no_lag_meanwhile() -> None:
    """Gone from 1 to 9 s, then 8 s behind for half a second: an area of 4,000 ms·s and the one
    answer after it.
    """
    lines = [
        *ticks("db1", 0, 12_000, 0),
        *ticks("db2", 0, 1000, 0, read_only=1),
        seen("db2", 1000, read_only=None),
    ]
    lines += [seen("db2", t, row_at=5_000_000 + t - 8000) for t in range(9_000, 9_500, 100)]
    lines += ticks("db2", 9_500, 12_000, 0, read_only=1)
    found = lag_ms(observed(*lines), 0, 12 * S, 100 * MS)["db2"]
    assert found.max_ms == 8000 and found.integral_ms_s == pytest.approx(4000)


def test_a_node_without_rows_has_no_lag() -> None:
    lines = [
        *ticks("db1", 0, 1000, 0),
        seen("db2", 0),
        seen("db3", 0, row_at=5_000_000),
        seen("db3", 300),
    ]
    assert lag_ms(observed(*lines), 0.5 * S, S, 100 * MS).keys() == {"db1"}
    assert (
        lag_ms(observed(seen("db1", 0)), 0, S, 100 * MS) == {} and lag_ms({}, 0, S, 100 * MS) == {}
    )


def test_what_the_dead_writer_had_is_the_newest_row_until_there_is_a_newer_one() -> None:
    lines = [
        *ticks("db1", 0, 1000, 0),
        *ticks("db2", 0, 1000, 400, read_only=1),
        seen("db1", 1000, read_only=None),
        *(seen("db2", t, row_at=5_000_500) for t in (1000, 2000)),
        *ticks("db2", 3000, 4000, 0),
    ]
    found = lag_ms(observed(*lines), S, 4 * S, 100 * MS)
    assert found["db2"].max_ms == 400 and found["db2"].integral_ms_s == pytest.approx(2 * 400)


def test_writers_are_listed_from_the_moment_when_every_observer_has_answered() -> None:
    observations = {
        "g1": [(300, {"read_only": 0}), (900, {"read_only": 1})],
        "g2": [(100, {"read_only": 0})],
        "g3": [(200, {"read_only": 0})],
    }
    assert writers_seen(observations) == [(300.0, ("g1", "g2", "g3")), (900.0, ("g2", "g3"))]
    assert writers_seen({}) == []
