"""Figures of trials made by hand, each with its known answer, and what must hold for any
acknowledgements.
"""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.measure.trial.columns import NO_OUTCOME
from sandbox.measure.trial.figures import (
    Gap,
    StreamOutages,
    during_end,
    figures_of,
    joined,
    nearest_rank,
    outage_threshold_us,
    outages,
)
from sandbox.record.trial import Figures, Lag
from unit.measure.trial.made_logs import log_of, read, seen, steady, write

MS, S = 1000, 1_000_000


def fresh(begin: int, end: int, first_op: int) -> list[str]:
    """Acknowledged writes each 50 ms, each on a connection of its own."""
    return [
        each
        for op, due in enumerate(range(begin, end, 50), first_op)
        for each in write(op, due, 10, stream="fresh")
    ]


def failed(begin: int, end: int, first_op: int, code: str = "2013") -> list[str]:
    """Writes of unknown outcome, each 10 ms, that end 20 ms after they were due."""
    dues = range(begin, end, 10)
    return [
        each
        for op, due in enumerate(dues, first_op)
        for each in write(op, due, 20, "unknown", code=code)
    ]


def crash(**rates: int) -> Figures:
    """t0 = 10 s; the last write acknowledged before it at 10,004 ms, the next one at 12,494 ms;
    slow to 15 s.
    """
    lines = [
        *steady(0, 10_010, 1),
        *failed(10_010, 12_490, 2000),
        *steady(12_490, 15_000, 4000, took=4),
        *(
            each
            for op, due in enumerate(range(15_000, 17_500, 10), 5000)
            for each in write(op, due, 30)
        ),
        *steady(17_500, 30_000, 6000),
        *fresh(0, 10_000, 8000),
        *fresh(14_000, 30_000, 9000),
        read(9000),
        read(10_100, outcome="failed", code="2013"),
        read(10_110, outcome="failed", code="2003"),
        read(10_120),
        seen("db1", 0),
        seen("db2", 0, read_only=1),
        seen("db1", 10_100, read_only=None),
        seen("db2", 11_700, read_only=0),
        seen("db1", 13_000, read_only=1),
    ]
    return figures_of(log_of(lines, **rates), 10 * S, [(10 * S, 10.2 * S, 12 * S)], 30 * S)


def test_a_crash_that_heals() -> None:
    figures = crash()
    assert figures.outage_first_ms == figures.outage_longest_ms == figures.outage_total_ms == 2490
    assert figures.rto_ms == 2494 and figures.rto_new_connection_ms == 4010
    assert figures.censored == () and figures.no_outage == ()
    assert figures.recovered_by_op == {"rto_ms": 4000, "rto_new_connection_ms": 9000}
    assert figures.threshold_ms == {"pooled": 50, "fresh": 250}
    assert figures.election_ms == 1700 and figures.detection_ms is None
    assert figures.missed == {"pooled": 0, "fresh": 0, "writer": 0, "reader": 0}
    assert figures.lateness_p50_ms == figures.lateness_p99_ms == 1


def test_a_brownout_ends_with_the_first_of_five_good_seconds() -> None:
    """Seconds from 12,494 ms on; p99 4 ms before t0: two are good, the next three slow (writes of
    15 to 17.49 s).
    """
    figures = crash()
    assert figures.baseline_p99_ms == 4 and figures.brownout_ms == 5000


def test_another_node_notices_a_fault_while_it_lasts() -> None:
    lines = [
        *steady(0, 20_000),
        seen("db1", 0, view=3),
        seen("db2", 0, view=3),
        seen("db2", 12_600, view=2),
    ]
    log = log_of(lines, pooled=100)
    assert figures_of(log, 10 * S, [(10 * S, 11 * S, 15 * S)], 20 * S, ["db1"]).detection_ms == 2600
    assert figures_of(log, 10 * S, [(10 * S, 11 * S, 12 * S)], 20 * S, ["db1"]).detection_ms is None
    assert figures_of(log, 10 * S, [(10 * S, 11 * S, None)], 20 * S, ["db1"]).detection_ms == 2600
    assert figures_of(log, 10 * S, [(10 * S, 11 * S, None)], 20 * S).detection_ms is None, (
        "an action"
    )


def test_each_resolution_stands_beside_its_figure() -> None:
    assert crash().resolution_ms == {
        "outage_first_ms": 10, "outage_longest_ms": 10, "outage_total_ms": 10, "rto_ms": 10,
        "rto_new_connection_ms": 50, "brownout_ms": 1000, "detection_ms": 100,
        "election_ms": 110, "lag": 200,
    }  # fmt: skip


def test_a_sum_of_no_outage_is_as_uncertain_as_one_outage() -> None:
    figures = figures_of(log_of(steady(0, 2000), pooled=100), S, [], 2 * S)
    assert figures.outage_total_ms == 0 and figures.resolution_ms["outage_total_ms"] == 10


def test_what_is_counted_from_t0_is_as_uncertain_as_its_clock() -> None:
    log = log_of([*steady(0, 2000), *fresh(0, 2000, 1000)])
    plain, uncertain = (
        figures_of(log, S, [], 2 * S, clock_us=clock).resolution_ms for clock in (0, 3 * MS)
    )
    wider = {name: ms - plain[name] for name, ms in uncertain.items() if ms != plain[name]}
    assert wider == dict.fromkeys(
        ("rto_ms", "rto_new_connection_ms", "detection_ms", "election_ms"), 3
    )


def test_errors_belong_to_phases_and_a_client_to_its_longest_block() -> None:
    figures = crash()
    assert figures.errors_before == figures.errors_after == {"writes": {}, "reads": {}}
    assert figures.errors_during == {"writes": {"2013": 248}, "reads": {"2003": 1, "2013": 1}}
    assert figures.longest_block_ms == {"pooled": 2480, "fresh": 0, "writer": 0, "reader": 20}


def test_what_the_probe_did_not_have_is_undefined() -> None:
    figures = figures_of(log_of([*fresh(0, 1000, 1)], fresh=20), 500 * MS, [], S)
    assert (
        figures.outage_first_ms is None
        and figures.outage_longest_ms is None
        and figures.outage_total_ms is None
    )
    assert figures.rto_ms is None and figures.brownout_ms is None and figures.election_ms is None
    assert figures.baseline_p99_ms is None and figures.lag == {}
    assert figures.rto_new_connection_ms == 0 and figures.no_outage == ("rto_new_connection_ms",)
    assert figures.longest_block_ms == {"fresh": 0} and "rto_ms" not in figures.resolution_ms


def test_an_empty_log_shows_an_outage_as_long_as_the_trial() -> None:
    figures = figures_of(log_of([], pooled=100), S, [(S, S, None)], 6 * S)
    assert figures.rto_ms == figures.outage_total_ms == 5000 and "rto_ms" in figures.censored
    assert (
        figures.lateness_p50_ms is None
        and figures.lateness_p99_ms is None
        and figures.brownout_ms is None
    )


def test_no_outage_is_zero_and_flagged() -> None:
    figures = figures_of(
        log_of(steady(0, 20_000), pooled=100), 10 * S, [(10 * S, 11 * S, None)], 20 * S
    )
    assert (
        figures.rto_ms
        == figures.outage_first_ms
        == figures.outage_longest_ms
        == figures.outage_total_ms
        == 0
    )
    assert figures.no_outage == ("rto_ms",) and figures.censored == () and figures.brownout_ms == 0
    assert figures.recovered_by_op == {}


def test_what_is_still_open_at_the_end_is_censored_with_the_length_seen() -> None:
    lines = [*steady(0, 10_000), *failed(10_000, 20_000, 3000), *steady(20_000, 21_000, 5000)]
    figures = figures_of(log_of(lines, pooled=100), 10 * S, [(10 * S, 10 * S, None)], 18 * S)
    assert figures.rto_ms == 8000 and figures.outage_first_ms == figures.outage_total_ms == 8006
    assert figures.censored == (
        "brownout_ms",
        "outage_first_ms",
        "outage_longest_ms",
        "outage_total_ms",
        "rto_ms",
    )
    assert figures.brownout_ms == 0 and figures.recovered_by_op == {} and figures.no_outage == ()
    assert figures.longest_block_ms == {"pooled": 8000}


def test_a_second_outage_counts_in_the_longest_and_the_sum() -> None:
    """Healed at once, then open again: the first has ended, the longest and the sum may still
    grow.
    """
    lines = [*steady(0, 10_000), *steady(11_000, 12_000, 2000), *steady(14_000, 15_000, 3000)]
    figures = figures_of(log_of(lines, pooled=100), 10 * S, [(10 * S, 10 * S, None)], 15.5 * S)
    assert (figures.outage_first_ms, figures.outage_longest_ms) == (1010, 2010)
    assert figures.outage_total_ms == 1010 + 2010 + 506 and figures.rto_ms == 1004
    assert figures.censored == ("brownout_ms", "outage_longest_ms", "outage_total_ms")
    assert figures.brownout_ms == 4496 and figures.resolution_ms["outage_total_ms"] == 30


def test_a_second_with_slots_never_served_is_no_good_one() -> None:
    """At 100 a second, p99 leaves one slot in a second out, and not two."""
    for lost, brownout in ((1, 0.0), (2, 1000.0)):
        middle = [
            each
            for op in range(lost)
            for each in write(5000 + op, 10_300 + 10 * op, 3, "failed", code="1205")
        ]
        rest = [*steady(10_300 + 10 * lost, 20_000, 2000)]
        lines = [*steady(0, 10_300), *middle, *rest]
        figures = figures_of(log_of(lines, pooled=100), 10 * S, [(10 * S, 10 * S, None)], 20 * S)
        assert figures.brownout_ms == brownout and figures.rto_ms == 0


@pytest.mark.parametrize("outage", [1500, 5000])
def test_what_is_in_flight_when_it_breaks_is_not_of_the_baseline(outage: int) -> None:
    """Writes of 110 ms; 11 are in flight at t0, and answered after the outage or never. Then 3 s of
    slow ones.
    """
    held = [
        each
        for op, due in enumerate(range(9890, 10_000, 10), 2000)
        for each in write(
            op, due, min(2000, 10_000 + outage - due), "acked" if outage < 2000 else "unknown"
        )
    ]
    back = 10_000 + outage
    after = [
        *steady(back, back + 3000, 4000, took=300),
        *steady(back + 3000, back + 12_000, 5000, took=110),
    ]
    lines = [*steady(0, 9890, took=110), *held, *failed(10_000, back, 3000), *after]
    figures = figures_of(
        log_of(lines, pooled=100), 10 * S, [(10 * S, 10 * S, None)], back * MS + 10 * S
    )
    assert figures.baseline_p99_ms == 110 and figures.brownout_ms == 3000 and figures.censored == ()


@pytest.mark.parametrize(("took", "baseline"), [(100, 100), (101, 4)])
def test_what_is_answered_as_it_breaks_is_of_the_baseline(took: int, baseline: int) -> None:
    """Ten writes of 4 ms, and one that is due 100 ms before t0."""
    lines = [*steady(0, 100), *write(2000, 900, took), *steady(1010, 10_000, 3000)]
    assert figures_of(log_of(lines, pooled=100), S, [], 10 * S).baseline_p99_ms == baseline


def test_slots_that_were_not_served_before_it_broke_are_of_the_baseline() -> None:
    lines = [*steady(0, 5000), *failed(5000, 5200, 2000), *steady(5200, 20_000, 3000)]
    figures = figures_of(log_of(lines, pooled=100), 10 * S, [], 20 * S)
    assert figures.baseline_p99_ms is None and figures.brownout_ms is None


@pytest.mark.parametrize(("good", "brownout"), [(3, 4000.0), (4, 5000.0), (5, 0.0)])
def test_four_good_seconds_are_not_enough(good: int, brownout: float) -> None:
    slow = 10_000 + 1000 * good
    lines = [
        *steady(0, slow),
        *steady(slow, slow + 1000, 3000, took=8),
        *steady(slow + 1000, 20_000, 4000),
    ]
    assert figures_of(log_of(lines, pooled=100), 10 * S, [], 20 * S).brownout_ms == brownout


def test_what_comes_after_the_end_counts_in_no_figure() -> None:
    lines = [*steady(0, 3000), *failed(3000, 5000, 1000)]
    figures = figures_of(log_of(lines, pooled=100), S, [(S, S, None)], 3 * S)
    assert figures.longest_block_ms == {"pooled": 0} and figures.no_outage == ("rto_ms",)


def test_missed_slots_block_the_client_too() -> None:
    lines = [
        *steady(0, 1000),
        *failed(1000, 1100, 500),
        *(f"m\tpooled\t{due * MS}" for due in range(1100, 1500, 10)),
    ]
    figures = figures_of(
        log_of([*lines, *steady(1500, 2000, 900)], pooled=100), S, [(S, S, None)], 2 * S
    )
    assert figures.missed["pooled"] == 40 and figures.longest_block_ms == {"pooled": 500}
    assert figures.errors_during["writes"] == {"2013": 10}


def test_a_client_that_died_leaves_writes_without_an_outcome() -> None:
    lines = [*steady(0, 1000), *write(500, 1000, took=None), *write(501, 1010, took=None)]
    figures = figures_of(log_of(lines, pooled=100), S, [(S, S, None)], 3 * S)
    assert figures.errors_during["writes"] == {NO_OUTCOME: 2} and "rto_ms" in figures.censored


def test_an_uneven_baseline_raises_the_threshold() -> None:
    """A stall of 200 ms before t0: a gap of 350 ms is none, one of 450 ms is one."""
    before = np.array([0, 100, 300, 400, 500]) * MS
    assert outage_threshold_us(before, 500 * MS, 10 * MS) == 400 * MS
    assert outage_threshold_us(before, 250 * MS, 10 * MS) == 200 * MS
    assert outage_threshold_us(before[:1], 500 * MS, 10 * MS) == 50 * MS
    acks = np.array([0, 100, 300, 400, 500, 850, 1300]) * MS
    assert outages(acks, 500 * MS, 1300 * MS, 400 * MS) == [Gap(850 * MS, 1300 * MS, False)]


def test_a_gap_that_began_before_t0_counts_and_one_that_ended_by_then_does_not() -> None:
    acks = np.array([0.0, 100, 200, 300])
    assert outages(acks, 150, 300, 50) == [Gap(100, 200, False), Gap(200, 300, False)]
    assert outages(acks, 200, 300, 50) == [Gap(200, 300, False)]
    assert outages(acks, 200, 300, 100) == []
    assert outages(acks[2:], 150, 300, 40) == [Gap(150, 200, False), Gap(200, 300, False)]
    assert outages(acks[:0], 150, 300, 40) == [Gap(150, 300, True)]
    assert outages(acks, 150, 280, 50) == [Gap(100, 200, False), Gap(200, 280, True)]


@pytest.mark.parametrize(
    ("injections", "begins"),
    [
        ([], [0, 1.5, 3.0, 5.5]),
        ([(0, S, None)], [0, 1.5, 3.0, 5.5]),
        ([(0, 2 * S, None)], [0, 3.0, 5.5]),
        ([(0, 3 * S, None)], [0, 3.0, 5.5]),
        ([(0, 4 * S, None)], [0, 5.5]),
        ([(0, 6 * S, None)], [0, 5.5]),
        ([(2 * S, 4 * S, None)], [0, 1.5, 5.5]),
    ],
)
def test_writes_that_come_back_for_less_than_a_second_during_an_injection_end_no_outage(
    injections: list[tuple[float, float, float | None]], begins: list[float]
) -> None:
    """Outages from 0 to 0.6, 1.5 to 2.1, 3.0 to 3.5, and from 5.5 s on: the last one comes two
    seconds later.
    """
    ends = {0: 0.6, 1.5: 2.1, 3.0: 3.5, 5.5: 9.0}
    gaps = [Gap(begin * S, end * S, end == 9.0) for begin, end in ends.items()]
    found = joined(gaps, injections)
    assert [gap.begin_us / S for gap in found] == begins
    assert found[-1] == gaps[-1] and {gap.end_us for gap in found} <= {gap.end_us for gap in gaps}
    assert sum(gap.ms for gap in found) >= sum(gap.ms for gap in gaps)


def test_writes_that_come_back_for_a_whole_second_during_an_injection_end_an_outage() -> None:
    gaps = [Gap(0, S, False), Gap(2 * S, 3 * S, False)]
    assert joined(gaps, [(0, 4 * S, None)]) == gaps
    assert joined([gaps[0], Gap(2 * S - 1, 3 * S, False)], [(0, 4 * S, None)]) == [
        Gap(0, 3 * S, False)
    ]


def test_the_rto_of_a_fault_of_all_nodes_is_not_the_end_of_a_stall_while_it_is_injected() -> None:
    """The last of them is hit 900 ms after the first, and takes writes until then, with a stall of
    190 ms.
    """
    lines = [*steady(0, 10_200), *steady(10_390, 10_900, 3000), *steady(31_000, 40_000, 5000)]
    figures = figures_of(log_of(lines, pooled=100), 10 * S, [(10 * S, 11 * S, 21 * S)], 40 * S)
    assert (
        figures.rto_ms == pytest.approx(21_004, abs=5) and figures.recovered_by_op["rto_ms"] == 5000
    )
    assert figures.outage_total_ms == pytest.approx(20_800, abs=20)


@pytest.mark.parametrize(
    ("injections", "end"),
    [
        ([(0, 1, None)], 10), ([(0, 15, None)], 15), ([(0, 1, 14)], 14),
        ([(0, 1, 14), (5, 6, 12), (13, 16, None)], 16), ([(0, 20, 18)], 18),
    ],
)  # fmt: skip
def test_during_lasts_to_the_end_of_the_first_outage_or_the_last_heal(
    injections: list[tuple[float, float, float | None]], end: float
) -> None:
    of_streams = [
        StreamOutages([Gap(1, 10, False), Gap(20, 30, True)], 1, 1),
        StreamOutages([Gap(1, 7, False)], 1, 1),
        StreamOutages([], 1, 1),
    ]
    assert during_end(of_streams, 2, injections) == end
    assert during_end([], 2, []) == 2


@pytest.mark.parametrize(
    ("cause", "is_caused"), [((0, 10), False), ((0, 11), True), ((19, 30), True), ((20, 30), False)]
)
def test_an_outage_within_a_fault_begins_before_its_heal_and_ends_after_it_began(
    cause: tuple[float, float], is_caused: bool
) -> None:
    gap = Gap(10, 20, False)
    assert StreamOutages([gap], 1, 1, causes=[cause]).caused == (gap if is_caused else None)


@pytest.mark.parametrize(
    ("gave_up", "left"),
    [(10, Gap(10, 20, False)), (15, Gap(10, 15, True)), (20, Gap(10, 20, False))],
)
def test_an_outage_is_censored_where_it_was_open_as_the_trial_gave_up(
    gave_up: float, left: Gap
) -> None:
    assert StreamOutages([Gap(10, 20, False)], 1, 1).until(gave_up).gaps == [left]


def test_nearest_ranks() -> None:
    values = np.arange(1.0, 101)
    assert [nearest_rank(values, percent) for percent in (1, 50, 99, 100)] == [1, 50, 99, 100]
    assert (
        nearest_rank(np.array([np.inf, 1, 2]), 50) == 2
        and nearest_rank(np.array([np.inf, 1, 2]), 99) == np.inf
    )
    assert nearest_rank(np.array([]), 50) is None


def test_figures_survive_json() -> None:
    figures = crash()
    assert Figures.model_validate_json(figures.model_dump_json()) == figures
    assert isinstance(figures.lag, dict) and all(
        isinstance(each, Lag) for each in figures.lag.values()
    )


acknowledgements = st.lists(st.integers(0, 1000), max_size=40).map(
    lambda times: np.sort(np.array(times, dtype=float))
)


@given(acknowledgements, st.integers(0, 600), st.integers(1, 400))
def test_gaps_and_the_times_between_acknowledgements_cover_the_window(
    acks: np.ndarray, t0: int, length: int
) -> None:
    """With threshold 0 every time between two different acknowledgements is a gap: they meet, and
    reach the end.
    """
    end = t0 + length
    gaps = outages(acks, t0, end, 0)
    assert all(left.end_us == right.begin_us for left, right in itertools.pairwise(gaps))
    earlier = acks[acks <= t0]
    assert gaps[0].begin_us == (earlier[-1] if len(earlier) else t0) and gaps[-1].end_us == end
    assert sum(gap.end_us - gap.begin_us for gap in gaps) == end - gaps[0].begin_us


@given(acknowledgements, st.integers(0, 600), st.integers(1, 400), st.integers(0, 300))
def test_only_gaps_above_the_threshold_are_outages(
    acks: np.ndarray, t0: int, length: int, threshold: int
) -> None:
    end = t0 + length
    every, found = outages(acks, t0, end, 0), outages(acks, t0, end, threshold)
    assert found == [gap for gap in every if gap.end_us - gap.begin_us > threshold]
    for gap in found:
        assert gap.end_us > t0 and not ((acks > gap.begin_us) & (acks < gap.end_us)).any()


@given(acknowledgements, st.integers(0, 600), st.integers(1, 400), st.integers(0, 300))
def test_a_gap_is_censored_exactly_when_no_acknowledgement_follows(
    acks: np.ndarray, t0: int, length: int, threshold: int
) -> None:
    end = t0 + length
    for gap in outages(acks, t0, end, threshold):
        assert gap.censored == (not ((acks > gap.begin_us) & (acks <= end)).any())


def one_stall(begin_ms: int, length_ms: int) -> Sequence[str]:
    """Writes from 0 to 30 s at 100/s, without any for so long; t0 of the tests is at 10 s."""
    return [*steady(0, begin_ms), *steady(begin_ms + length_ms, 30_000, 10_000)]


def figures_with(stall: tuple[int, int], causes: Sequence[tuple[float, float]] | None) -> Figures:
    """Of a trial whose step lasts from 10 to 20 s."""
    log = log_of(one_stall(*stall), pooled=100)
    return figures_of(log, 10 * S, [(10 * S, 10.2 * S, 20 * S)], 30 * S, causes=causes)


def test_without_a_fault_a_stall_is_no_outage() -> None:
    figures = figures_with((15_000, 61), causes=[])
    assert (figures.rto_ms, figures.outage_longest_ms, figures.outage_total_ms) == (0, 0, 0)
    assert figures.no_outage == ("rto_ms",)
    assert figures.longest_stall_ms["pooled"] == pytest.approx(71, abs=12)


def test_an_outage_that_began_after_the_heal_has_no_rto() -> None:
    figures = figures_with((22_000, 2_000), causes=None)
    assert figures.rto_ms == 0 and "rto_ms" in figures.no_outage
    assert figures.outage_first_ms == pytest.approx(2_010, abs=12), "it is an outage all the same"
    assert figures.outage_first_began_ms == pytest.approx(12_000, abs=12)
    assert figures.longest_stall_ms["pooled"] == figures.outage_first_ms


def test_an_outage_that_began_within_the_fault_has_one() -> None:
    figures = figures_with((10_000, 2_000), causes=None)
    assert figures.rto_ms == pytest.approx(2_000, abs=12) and figures.no_outage == ()
    assert figures.longest_stall_ms["pooled"] == pytest.approx(10, abs=2)
    assert figures_with((19_990, 2_000), causes=None).rto_ms == pytest.approx(12_000, abs=30)
