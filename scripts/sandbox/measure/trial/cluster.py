"""What a fault does to a cluster as a whole: pauses by flow control, queues, and the load beside
the prober. Pure.
"""

import csv
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic_core import from_json

PAUSED_NS = "wsrep_flow_control_paused_ns"
_QUEUES = ("wsrep_local_recv_queue", "Gr_certification_queue", "Gr_applier_queue")
"""What a member has received and not yet applied: of Galera, and the two of Group Replication."""
LOAD_BASELINE_US = 8e6
"""So long before the first injection the load counts as undisturbed: it has just started before
that.
"""
_SECOND_US = 1e6


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
    """By node, (seconds from t0, its queue)."""
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
    """By node, (seconds from t0, percent of the time paused between two samples), in the middle
    between them.
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
