"""Rates of repeated trials: exact intervals, also of a series that ended with what it counts."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.judge.rates import came, rate_interval, rate_of
from sandbox.record.record import CheckRecord, Record
from unit.report.made_up_trials import trial_record

PATTERN = "Inconsistency detected"


def at_most(count: int, trials: int, rate: float) -> float:
    """P(X ≤ count), summed."""
    return sum(
        math.comb(trials, each) * rate**each * (1 - rate) ** (trials - each)
        for each in range(count + 1)
    )


def seen(block: int, lines: dict[str, str] | None, lost: dict[str, str] | None) -> Record:
    """A trial after which somebody looked."""
    record = trial_record(block=block)
    assert record.trial
    looked = {} if lines is None else {PATTERN: lines}
    trial = record.trial.model_copy(update={"lost_members": lost, "log_lines": looked})
    return record.model_copy(update={"trial": trial})


def test_a_published_interval() -> None:
    """Newcombe (1998), table I: 15 of 148 and 1 of 29, exact."""
    first, second = rate_interval(15, 148), rate_interval(1, 29)
    assert first and (round(first.low, 4), round(first.high, 4)) == (0.0578, 0.1617)
    assert second and (round(second.low, 4), round(second.high, 4)) == (0.0009, 0.1776)


def test_no_and_all_trials() -> None:
    none, every = rate_interval(0, 12), rate_interval(12, 12)
    assert none and none.low == 0 and none.high == pytest.approx(1 - 0.025 ** (1 / 12))
    assert every and every.high == 1 and every.low == pytest.approx(0.025 ** (1 / 12))
    assert rate_interval(0, 0) is None


@settings(max_examples=50)
@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))))
def test_the_ends_of_an_interval_leave_two_and_a_half_percent(pair: tuple[int, int]) -> None:
    count, trials = pair
    plain = rate_interval(count, trials)
    ended = rate_interval(count, trials, ended_by_it=True)
    assert plain and ended and ended.low == plain.low and ended.high <= plain.high
    assert 1 - at_most(count - 1, trials, plain.low) == pytest.approx(0.025, abs=1e-6)
    if count < trials:
        assert at_most(count, trials, plain.high) == pytest.approx(0.025, abs=1e-6)
        # The count-th came no earlier than in the last trial: fewer than that before it.
        assert at_most(count - 1, trials - 1, ended.high) == pytest.approx(0.025, abs=1e-6)


def test_a_series_that_ended_with_its_first_trial_says_only_that_it_can_come() -> None:
    found = rate_interval(1, 1, ended_by_it=True)
    assert found and found.low == pytest.approx(0.025) and found.high == 1


def test_what_came_is_known_from_the_record() -> None:
    calm = seen(1, {}, {})
    bad = seen(2, {"galera2": f"WSREP: {PATTERN}"}, {"galera2": f"evicted: {PATTERN}"})
    single = seen(3, None, None)
    for what in (f"log:{PATTERN}", "lost-member"):
        assert [came(each, what) for each in (calm, bad, single)] == [False, True, None]
    rate = rate_of([calm, bad, single], "lost-member")
    assert (rate.count, rate.trials, rate.unknown) == (1, 2, 1)


@pytest.mark.parametrize(
    ("status", "verdicts", "one", "some"),
    [
        ("ok", {"lost": "pass", "phantom": "fail"}, False, True),
        ("ok", {"lost": "unknown", "phantom": "pass"}, None, False),
        ("failed", {"lost": "fail"}, True, True),
        ("ok", {"phantom": "skipped"}, None, None),
        ("infra_error", {"lost": "fail"}, True, True),
        ("infra_error", {}, None, None),
        ("skipped", {"lost": "fail"}, None, None),
        ("interrupted", {"lost": "fail"}, None, None),
    ],
)
def test_a_check_counts_where_it_was_judged(
    status: str, verdicts: dict[str, str], one: bool | None, some: bool | None
) -> None:
    checks = [
        CheckRecord.model_validate({"name": name, "verdict": verdict, "detail": ""})
        for name, verdict in verdicts.items()
    ]
    record = trial_record(status=status, checks=checks)
    assert came(record, "lost") is one and came(record, "failed-check") is some


def test_what_was_seen_counts_where_the_figures_do_not() -> None:
    """A prober that was late measured nothing; the member is lost all the same."""
    late = seen(1, {"galera2": PATTERN}, {"galera2": "evicted"})
    late = late.model_copy(update={"status": "infra_error"})
    assert came(late, "lost-member") and came(late, f"log:{PATTERN}")
