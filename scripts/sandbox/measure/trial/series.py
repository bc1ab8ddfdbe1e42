"""One trial in time, prepared from its prober's log so that it can be drawn without the log.
Pure.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sandbox.measure.trial.cluster import ClusterSamples, paused_points, queue_points
from sandbox.measure.trial.columns import ACKED, WRITE_STREAMS, Real, Whole
from sandbox.measure.trial.figures import finite, nearest_rank
from sandbox.measure.trial.observers import HELD, behind, newest_rows, own_rows
from sandbox.measure.trial.prober_log import ProberLog

FINEST_S, FINEST_UNTIL_S = 0.1, 120
"""Acknowledged writes are counted by tenths of a second in a trial of at most so many seconds, else
by seconds.
"""
PERCENTILES = {"p50": 50, "p99": 99}
_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class TrialSeries:
    """What a prober saw in each whole second from ``began_s`` to ``ended_s``, both counted from
    t0.
    """

    began_s: int
    ended_s: int
    step_s: float
    acked: Mapping[str, Sequence[int]]
    """By stream of writes: how many were acknowledged in each step, by the time of the
    acknowledgement.
    """
    latency_ms: Mapping[str, Sequence[float | None]]
    """``p50`` and ``p99`` of pooled writes due in each second; None: none was due, or so many were
    never served.
    """
    errors: Mapping[str, Sequence[int]]
    """By code, the most frequent first: writes and reads that failed or are unknown, by the time
    when they ended.
    """
    lag_ms: Mapping[str, Sequence[float | None]]
    """By node, the largest lag in each second; None: it did not answer."""
    queue: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    """By node of a cluster, (seconds from t0, transactions received and not yet applied)."""
    paused_percent: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    """By node of a Galera cluster, (seconds from t0, share of the time paused by flow control)."""
    load_tps: Sequence[tuple[float, float]] = ()
    """Of the load beside the prober, (seconds from t0, transactions in the second before)."""


def series_of(
    log: ProberLog,
    t0_us: float,
    end_us: float,
    samples: ClusterSamples | None = None,
    load: Sequence[tuple[float, float]] = (),
) -> TrialSeries:
    """The series of a trial whose first injection began at ``t0_us`` and whose window ends at
    ``end_us``.

    ``samples``: of the nodes of a cluster; ``load``: as `cluster.load_seconds` gives it.
    """
    due = np.concatenate([log.writes.due, log.reads.due, log.missed.due])
    began = int(np.ceil((due.min() - t0_us) / _SECOND_US)) if len(due) else 0
    ended = max(began, int(np.floor((end_us - t0_us) / _SECOND_US)))
    step_s = FINEST_S if ended - began <= FINEST_UNTIL_S else 1.0
    seconds = t0_us + _SECOND_US * np.arange(began, ended + 1, dtype=np.float64)
    steps = np.linspace(seconds[0], seconds[-1], round((ended - began) / step_s) + 1)
    return TrialSeries(
        began_s=began,
        ended_s=ended,
        step_s=step_s,
        acked={
            name: _counts(log.acks(name), steps) for name in WRITE_STREAMS if log.delta_us(name)
        },
        latency_ms=_latency(log, seconds),
        errors=_errors(log, seconds),
        lag_ms=_lags(log, seconds),
        queue=queue_points(samples or {}, t0_us),
        paused_percent=paused_points(samples or {}, t0_us),
        load_tps=[((at_us - t0_us) / _SECOND_US, tps) for at_us, tps in load],
    )


def _counts(times: Real, edges: Real) -> list[int]:
    """How many times lie from each edge to before the next one."""
    counts: Whole = np.diff(np.searchsorted(np.sort(times), edges))
    return list(map(int, counts))


def _latency(log: ProberLog, seconds: Real) -> dict[str, list[float | None]]:
    """From the due time, so that a stall counts against every slot that it delays."""
    due, served = log.slots("pooled")
    latency, bounds = (served - due) / 1000, np.searchsorted(due, seconds)
    pieces = [latency[since:until] for since, until in itertools.pairwise(bounds)]
    return {
        name: [finite(nearest_rank(each, percent)) for each in pieces]
        for name, percent in PERCENTILES.items()
    }


def _errors(log: ProberLog, seconds: Real) -> dict[str, list[int]]:
    """A write without an outcome counts when it was due."""
    writes, reads = log.writes, log.reads
    bad_write, bad_read = writes.outcome != ACKED, ~reads.ok
    ended = np.where(np.isnan(writes.done), writes.due, writes.done)
    times = np.concatenate([ended[bad_write], reads.done[bad_read]])
    codes: Whole = np.concatenate([writes.code[bad_write], reads.code[bad_read]])
    found = {log.codes[code]: _counts(times[codes == code], seconds) for code in np.unique(codes)}
    return dict(sorted(found.items(), key=lambda each: -sum(each[1])))


def _lags(log: ProberLog, seconds: Real) -> dict[str, list[float | None]]:
    """As `observers.lag_ms` defines it, looked at as often as the observers ask."""
    interval_us = _SECOND_US * float(log.request.get("observe_interval_s", 0.1))
    looks = max(1, round(_SECOND_US / interval_us))
    times, newest = newest_rows(log.observations)
    if not len(times) or len(seconds) < 2:
        return {}
    grid = (seconds[:-1, None] + _SECOND_US * np.arange(1, looks + 1) / looks).ravel()
    found = {}
    for node in sorted(log.observations):
        late = _behind(log, node, (grid, HELD * interval_us), (times, newest)).reshape(-1, looks)
        largest = np.where(np.isnan(late), -np.inf, late).max(axis=1)
        found[node] = [finite(float(each) / 1000) for each in largest]
    return {node: lags for node, lags in found.items() if any(lag is not None for lag in lags)}


def _behind(log: ProberLog, node: str, looks: tuple[Real, float], seen: tuple[Real, Real]) -> Real:
    """The node's lag in µs at each look; NaN where it does not answer. ``looks``: when, and how
    long answers hold.
    """
    (grid, held), (since, own) = looks, own_rows(log.observations[node])
    at = np.searchsorted(since, grid, side="right") - 1
    lag: Real = np.where(
        at >= 0, behind(np.maximum(since[at], grid - held), own[at], *seen), np.nan
    )
    return lag
