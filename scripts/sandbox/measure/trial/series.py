"""A trial in time, ready to be drawn: prober's log, queues and pauses of a cluster, load. Pure."""

import csv
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic_core import from_json

from sandbox.measure.trial.columns import ACKED, WRITE_STREAMS, Real, Whole
from sandbox.measure.trial.figures import finite, nearest_rank
from sandbox.measure.trial.observers import HELD, behind, newest_rows, own_rows
from sandbox.measure.trial.prober_log import ProberLog

PAUSED_NS = "wsrep_flow_control_paused_ns"
_QUEUES = ("wsrep_local_recv_queue", "Gr_certification_queue", "Gr_applier_queue")
"""Transactions that a member has received and not yet applied: of Galera, and the two of Group
Replication.
"""
LOAD_BASELINE_US = 8e6
"""So long before the first injection the load counts as undisturbed: it has just started before
that.
"""


@dataclass(frozen=True, slots=True)
class ClusterSample:
    """One sample of a node; ``at_us`` on the prober's clock. None: the node does not count it."""

    at_us: float
    queue: int | None
    paused_ns: float | None


ClusterSamples = Mapping[str, Sequence[ClusterSample]]
"""By node, in order; without nodes that count neither."""


def cluster_samples(
    lines: Iterable[bytes], prober_began_utc_s: float
) -> dict[str, list[ClusterSample]]:
    """The samples in ``samples.jsonl`` of a trial whose prober's clock began then: both run on one
    machine.
    """
    found: dict[str, list[ClusterSample]] = {}
    ahead_us = None
    for line in lines:
        parsed = _parsed(line)
        if "began_utc_s" in parsed:
            ahead_us = 1e6 * (parsed["began_utc_s"] - prober_began_utc_s)
        status = parsed.get("status")
        if status and ahead_us is not None:
            queues = [status[name] for name in _QUEUES if name in status]
            sample = ClusterSample(
                ahead_us + 1e6 * parsed["t_s"],
                sum(queues) if queues else None,
                status.get(PAUSED_NS),
            )
            if (sample.queue, sample.paused_ns) != (None, None):
                found.setdefault(parsed["node"], []).append(sample)
    return found


def _parsed(line: bytes) -> Mapping[str, Any]:
    """A line; nothing where it was cut off, or is a complaint."""
    try:
        parsed = from_json(line)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def paused_percent(samples: ClusterSamples, since_us: float, until_us: float) -> float | None:
    """Share of a time in which flow control paused the cluster, in percent; None where no node says
    so.

    Each node counts the pauses that it notices, whoever asks for them: the largest share of any
    node. A node whose samples do not reach over the whole time, or that restarted in it, does not
    count.
    """
    shares = [_paused_share(each, since_us, until_us) for each in samples.values()]
    known = [share for share in shares if share is not None]
    return round(100 * max(known), 2) if known else None


def _paused_share(
    samples: Sequence[ClusterSample], since_us: float, until_us: float
) -> float | None:
    counted = [(each.at_us, each.paused_ns) for each in samples if each.paused_ns is not None]
    times, ns = np.array(counted, dtype=np.float64).reshape(-1, 2).T
    if not len(times) or times[0] > since_us or times[-1] < until_us or until_us <= since_us:
        return None
    near = (
        np.searchsorted(times, since_us, "right") - 1,
        np.searchsorted(times, until_us, "left") + 1,
    )
    if (np.diff(ns[near[0] : near[1]]) < 0).any():
        return None
    first, last = np.interp((since_us, until_us), times, ns)
    return float(min(1.0, (last - first) / 1000 / (until_us - since_us)))


def queue_max(samples: ClusterSamples, since_us: float, until_us: float) -> int | None:
    """The largest queue of any node in a time; None where no node has one."""
    queues = [
        each.queue
        for seen in samples.values()
        for each in seen
        if since_us <= each.at_us <= until_us
    ]
    return max((queue for queue in queues if queue is not None), default=None)


def queue_points(samples: ClusterSamples, t0_us: float) -> dict[str, list[tuple[float, float]]]:
    """The queue of each node: (seconds from t0, transactions)."""
    points = {
        node: [
            ((each.at_us - t0_us) / _SECOND_US, float(each.queue))
            for each in seen
            if each.queue is not None
        ]
        for node, seen in samples.items()
    }
    return {node: line for node, line in points.items() if line}


def paused_points(samples: ClusterSamples, t0_us: float) -> dict[str, list[tuple[float, float]]]:
    """The pauses of each node: (seconds from t0, percent of the time between two samples), in the
    middle between them.
    """
    points: dict[str, list[tuple[float, float]]] = {}
    for node, seen in samples.items():
        counted = [each for each in seen if each.paused_ns is not None]
        for before, after in itertools.pairwise(counted):
            share = _paused_share([before, after], before.at_us, after.at_us)
            if share is not None:
                middle_s = ((before.at_us + after.at_us) / 2 - t0_us) / _SECOND_US
                points.setdefault(node, []).append((middle_s, 100 * share))
    return points


def load_seconds(lines: Iterable[bytes]) -> list[tuple[float, float]]:
    """(end on the prober's clock in µs, transactions) of each second of the load, from
    ``load-seconds.csv``.
    """
    rows = csv.DictReader(line.decode() for line in lines)
    return [(1000 * float(row["t_ms"]), float(row["tps"])) for row in rows]


def load_change_percent(
    seconds: Sequence[tuple[float, float]], t0_us: float, healed_us: float
) -> float | None:
    """Throughput of the load from t0 to the last heal against that before t0, in percent of it;
    None where unknown.

    ``seconds``: as `load_seconds` gives them; a second in which it did not run has none.
    """
    begin_us = max(0.0, t0_us - LOAD_BASELINE_US)
    if t0_us - begin_us < _SECOND_US or healed_us - t0_us < _SECOND_US:
        return None
    before, during = _per_second(seconds, begin_us, t0_us), _per_second(seconds, t0_us, healed_us)
    return round(100 * (during / before - 1), 2) if before else None


def _per_second(seconds: Sequence[tuple[float, float]], since_us: float, until_us: float) -> float:
    """Each second counts by the share of it that lies in the time."""
    overlaps = (
        (min(end, until_us) - max(end - _SECOND_US, since_us), done) for end, done in seconds
    )
    return sum(done * max(0.0, overlap) for overlap, done in overlaps) / (until_us - since_us)


FINEST_S, FINEST_UNTIL_S = 0.1, 120
"""Acknowledged writes are counted by tenths of a second in a trial of at most so many seconds, else
by seconds.
"""
PERCENTILES = {"p50": 50, "p99": 99}
_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class TrialSeries:
    """The observations of a prober in each whole second from ``began_s`` to ``ended_s``, both
    counted from t0.
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

    ``samples``: of the nodes of a cluster; ``load``: as `load_seconds` gives it.
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
    latency = (served - due) / 1000
    bounds = np.searchsorted(due, seconds)
    pieces = [latency[since:until] for since, until in itertools.pairwise(bounds)]
    return {
        name: [finite(nearest_rank(each, percent)) for each in pieces]
        for name, percent in PERCENTILES.items()
    }


def _errors(log: ProberLog, seconds: Real) -> dict[str, list[int]]:
    """A write without an outcome counts when it was due."""
    writes, reads = log.writes, log.reads
    bad_write = writes.outcome != ACKED
    bad_read = ~reads.ok
    ended = np.where(np.isnan(writes.done), writes.due, writes.done)
    times = np.concatenate([ended[bad_write], reads.done[bad_read]])
    codes: Whole = np.concatenate([writes.code[bad_write], reads.code[bad_read]])
    found = {log.codes[code]: _counts(times[codes == code], seconds) for code in np.unique(codes)}
    return dict(sorted(found.items(), key=lambda each: -sum(each[1])))


def _lags(log: ProberLog, seconds: Real) -> dict[str, list[float | None]]:
    """The largest lag of each node in each second, as `observers.lag_ms` defines it, looked at as
    often as the observers ask.
    """
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
    (grid, held) = looks
    (since, own) = own_rows(log.observations[node])
    at = np.searchsorted(since, grid, side="right") - 1
    lag: Real = np.where(
        at >= 0, behind(np.maximum(since[at], grid - held), own[at], *seen), np.nan
    )
    return lag
