"""Pauses by flow control, queues and the load beside the prober, from samples and seconds."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.measure.trial.series import (
    cluster_samples,
    load_change_percent,
    paused_percent,
    paused_points,
    queue_max,
    queue_points,
)

PROBE_BEGAN_S = 1000.0


def lines(*samples: dict[str, Any], began_s: float = PROBE_BEGAN_S) -> list[bytes]:
    """What the sampler wrote."""
    header: dict[str, Any] = {"node": None, "began_utc_s": began_s}
    return [json.dumps(each).encode() for each in (header, *samples)]


def galera(node: str, t_s: float, queue: int, paused_ms: float) -> dict[str, Any]:
    """A sample of a member of a Galera cluster."""
    status = {
        "wsrep_local_recv_queue": queue,
        "wsrep_flow_control_paused_ns": paused_ms * 1e6,
        "Questions": 7,
    }
    return {"node": node, "slot": round(t_s), "t_s": t_s, "status": status}


def test_times_are_those_of_the_prober() -> None:
    found = cluster_samples(
        lines(galera("g1", 2.0, 5, 100), began_s=PROBE_BEGAN_S + 3), PROBE_BEGAN_S
    )
    ((sample,),) = found.values()
    assert (sample.at_us, sample.queue, sample.paused_ns) == (5e6, 5, 1e8)


def test_the_two_queues_of_group_replication_count_together() -> None:
    status = {"Gr_certification_queue": 3, "Gr_applier_queue": 40}
    found = cluster_samples(lines({"node": "gr1", "t_s": 1.0, "status": status}), PROBE_BEGAN_S)
    assert found["gr1"][0].queue == 43 and found["gr1"][0].paused_ns is None
    assert queue_max(found, 0, 2e6) == 43 and paused_percent(found, 0, 1e6) is None


def test_what_is_no_sample_of_a_cluster_is_left_out() -> None:
    missed = {"node": "g1", "slot": 2, "t_s": None, "status": None, "reason": "missed"}
    single = {"node": "mysql1", "t_s": 1.0, "status": {"Questions": 1}}
    host: dict[str, Any] = {"node": None, "slot": 1, "t_s": 1.0, "host": {}}
    assert (
        cluster_samples(
            [*lines(missed, single, host), b'{"node": "g1", "sta', b"Killed"], PROBE_BEGAN_S
        )
        == {}
    )
    assert queue_max({}, 0, 1) is None and paused_percent({}, 0, 1) is None


def test_the_share_is_that_of_the_node_that_noticed_most_between_the_two_times() -> None:
    quiet = [galera("g1", t, 0, 500) for t in range(6)]
    paused = [galera("g2", t, t, 1000 + 400 * max(0, t - 1)) for t in range(6)]
    samples = cluster_samples(lines(*quiet, *paused), PROBE_BEGAN_S)
    assert paused_percent(samples, 1e6, 5e6) == 40.0
    assert paused_percent(samples, 0.5e6, 1.5e6) == 20.0, "half of it was not paused"
    assert queue_max(samples, 0, 3e6) == 3
    assert queue_points(samples, 2e6)["g2"] == [(t - 2, float(t)) for t in range(6)]
    assert paused_points(samples, 2e6)["g2"][:2] == [(-1.5, 0.0), (-0.5, pytest.approx(40.0))]


def test_a_node_that_restarted_or_was_not_there_all_the_time_says_nothing() -> None:
    restarted = [galera("g1", t, 0, 5000 if t < 3 else 10) for t in range(6)]
    short = [galera("g2", t, 0, 100 * t) for t in range(4)]
    samples = cluster_samples(lines(*restarted, *short), PROBE_BEGAN_S)
    assert paused_percent(samples, 1e6, 5e6) is None
    assert paused_percent(samples, 1e6, 2e6) == 10.0, "before its restart the first one counts, too"


@given(
    st.lists(st.floats(0, 1000), min_size=3, max_size=20), st.integers(0, 10), st.integers(1, 10)
)
def test_a_share_is_one(steps_ms: list[float], since_s: int, length_s: int) -> None:
    total, seen = 0.0, []
    for second, step in enumerate([0.0, *steps_ms]):
        total += step
        seen.append(galera("g1", second, 0, total))
    found = paused_percent(
        cluster_samples(lines(*seen), PROBE_BEGAN_S), 1e6 * since_s, 1e6 * (since_s + length_s)
    )
    assert (found is None) == (since_s + length_s > len(steps_ms))
    assert found is None or -0.01 <= found <= 100


def seconds(*rates: float) -> list[tuple[float, float]]:
    """A load of so many transactions in each second."""
    return [((second + 1) * 1e6, rate) for second, rate in enumerate(rates)]


def test_the_load_is_compared_with_itself_before() -> None:
    steady = seconds(*[100.0] * 10, *[25.0] * 10, *[100.0] * 5)
    assert load_change_percent(steady, 10e6, 20e6) == -75.0
    assert load_change_percent(steady, 10e6, 15e6) == -75.0
    assert load_change_percent(steady, 10e6, 25e6) == -50.0


def test_seconds_in_which_the_load_did_not_run_count_as_nothing() -> None:
    gone = [each for each in seconds(*[100.0] * 20) if not 12e6 < each[0] <= 17e6]
    assert load_change_percent(gone, 10e6, 20e6) == -50.0


def test_the_capacity_that_was_measured_first_is_no_baseline() -> None:
    measured = [(-2e6, 900.0), (-1e6, 900.0), *seconds(*[100.0] * 10)]
    assert load_change_percent(measured, 5e6, 9e6) == 0.0


def test_a_second_before_and_a_second_after_are_enough() -> None:
    assert load_change_percent(seconds(100.0, 50.0), 1e6, 2e6) == -50.0


@pytest.mark.parametrize(("t0_us", "healed_us"), [(0.5e6, 9e6), (5e6, 5.2e6), (5e6, 5e6)])
def test_too_short_a_time_is_no_comparison(t0_us: float, healed_us: float) -> None:
    assert load_change_percent(seconds(*[100.0] * 10), t0_us, healed_us) is None


def test_without_a_load_there_is_no_change() -> None:
    assert load_change_percent([], 10e6, 20e6) is None
