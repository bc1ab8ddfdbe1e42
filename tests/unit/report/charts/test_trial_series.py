"""A trial in time: what was acknowledged, how late, with which errors and lag, second by second
from t0.
"""

from sandbox.measure.trial.prober_log import read_prober_log
from sandbox.measure.trial.series import TrialSeries, series_of
from unit.measure.trial.made_logs import log_of, read, seen, steady, write
from unit.report.made_up_logs import END_MS, T0_MS, probe_lines


def made_up(rto_ms: float = 2_500.0) -> TrialSeries:
    """Twenty writes and two reads a second, and an outage from 10 s on; the log begins at 1 s."""
    return series_of(read_prober_log(probe_lines(rto_ms)), 1000 * T0_MS, 1000.0 * END_MS)


def test_the_window_is_whole_seconds_from_t0() -> None:
    series = made_up()
    assert (series.began_s, series.ended_s, series.step_s) == (-9, 60, 0.1)
    assert (
        len(series.acked["pooled"]) == 690
        and len(series.latency_ms["p50"]) == len(series.lag_ms["galera1"]) == 69
    )
    assert list(series.acked) == ["pooled"], "the request has no other stream of writes"


def test_acknowledged_writes_are_counted_when_they_were_acknowledged() -> None:
    by_second = [sum(made_up().acked["pooled"][step : step + 10]) for step in range(0, 690, 10)]
    assert by_second[:9] == [20] * 9 and by_second[9:11] == [0, 0], "nothing for two seconds"
    assert by_second[11] == 10 and set(by_second[12:]) == {20}, "back after 2.5 s"


def test_a_long_trial_is_counted_by_seconds() -> None:
    log = log_of(steady(0, 200_000), pooled=100)
    series = series_of(log, 10_000_000.0, 200_000_000.0)
    assert series.step_s == 1.0 and series.acked["pooled"] == [100] * 200, (
        "due at 0, 10, … and 4 ms later done"
    )


def test_a_trial_of_two_minutes_is_counted_by_tenths_of_a_second_and_a_longer_one_is_not() -> None:
    log = log_of(steady(0, 1000), pooled=100)
    assert [series_of(log, 0.0, end_s * 1e6).step_s for end_s in (120, 121)] == [0.1, 1.0]


def test_latency_counts_from_the_due_time_and_what_was_never_served_has_none() -> None:
    series = made_up()
    assert set(series.latency_ms["p50"][:9]) == {4.0} and series.latency_ms["p50"][9:11] == [
        None,
        None,
    ]
    assert series.latency_ms["p50"][11] == 4.0, "half of that second was served: nearest rank"
    assert series.latency_ms["p99"][11] is None and set(series.latency_ms["p99"]) == {
        4.0,
        40.0,
        None,
    }


def test_errors_come_by_code_the_most_frequent_first() -> None:
    series = made_up()
    assert list(series.errors) == ["2013", "1047"]
    assert [sum(counts) for counts in series.errors.values()] == [
        43,
        12,
    ], "38 writes and 5 reads; 12 writes"
    assert {second for second, count in enumerate(series.errors["1047"]) if count} == {9, 10, 11}


def test_a_write_without_an_outcome_is_an_error_of_its_due_time() -> None:
    log = log_of(
        [*write(1, 0), *write(2, 2_500, took=None), read(2_600, outcome="failed", code="2003")]
    )
    series = series_of(log, 1_000_000.0, 6_000_000.0)
    assert series.began_s == -1 and series.errors == {
        "2003": [0, 0, 1, 0, 0, 0],
        "no_outcome": [0, 0, 1, 0, 0, 0],
    }


def test_lag_is_that_behind_the_newest_row_that_anybody_has_seen() -> None:
    series = made_up()
    assert set(series.lag_ms["galera1"]) == {0.0} and set(series.lag_ms["galera2"]) == {300.0}


def test_a_node_that_stops_moving_falls_behind_and_one_that_does_not_answer_has_no_lag() -> None:
    writer = [seen("db1", t, row_at=t) for t in range(0, 10_000, 100)]
    stuck = [
        seen("db2", t, read_only=1, row_at=min(t, 3_000)) for t in (0, 1_000, 2_000, 3_000, 8_000)
    ]
    gone = [seen("db3", 0, row_at=0), seen("db3", 2_050, row_at=None)]
    series = series_of(log_of([*steady(0, 10_000), *writer, *stuck, *gone]), 0.0, 9_000_000.0)
    lags = series.lag_ms["db2"]
    assert (lags[5], lags[8]) == (
        2_800.0,
        5_800.0,
    ), "an answer holds until two of the observer's intervals ago"
    assert series.lag_ms["db3"][0] is not None and series.lag_ms["db3"][3:] == [None] * 6


def test_a_log_without_slots_is_no_series() -> None:
    series = series_of(log_of([]), 5_000_000.0, 4_000_000.0)
    assert (series.began_s, series.ended_s) == (0, 0)
    assert (
        series.acked == {"pooled": [], "fresh": []} and series.errors == {} and series.lag_ms == {}
    )
