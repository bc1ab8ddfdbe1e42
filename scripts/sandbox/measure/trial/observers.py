"""Observations of a trial's observers: the fault by other nodes, an election, who was writer when,
each node's lag. Pure.
"""

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.measure.trial.columns import Real, Whole
from sandbox.measure.trial.prober_log import Seen
from sandbox.record.trial import Lag

HELD = 2
"""An unchanged answer is known to hold until so many of the observer's intervals before the next
one: one, and one more so that an answer that comes late does not look like lag.
"""

UNDATED = "clock-skew"
"""The fault under which no lag is known: a server dates its rows by the clock that it sets
wrong.
"""


def takes_writes(answer: Mapping[str, Any]) -> bool:
    """Whether an answer is that of a writer: read_only is off, or its role is PRIMARY."""
    return answer.get("read_only") == 0 or answer.get("role") == "PRIMARY"


def writers(observations: Seen) -> list[tuple[float, tuple[str, ...]]]:
    """(time in µs, names of the nodes that take writes from then on, sorted), one element per
    change.

    Several names: a multi-writer topology, or two writers at once. None: no node takes writes, or
    none answers.
    """
    merged = sorted(
        (t, node, takes_writes(answer)) for node, seen in observations.items() for t, answer in seen
    )
    current: set[str] = set()
    changes: list[tuple[float, tuple[str, ...]]] = []
    for t, at_once in itertools.groupby(merged, key=lambda each: each[0]):
        for _, node, writes in at_once:
            (current.add if writes else current.discard)(node)
        names = tuple(sorted(current))
        if not changes or changes[-1][1] != names:
            changes.append((float(t), names))
    return changes


def writers_seen(observations: Seen) -> list[tuple[float, tuple[str, ...]]]:
    """The changes from the moment on when every observer has answered: until then some were not
    asked yet.
    """
    changes = writers(observations)
    all_answered_us = max((seen[0][0] for seen in observations.values() if seen), default=0)
    begun = [names for t, names in changes if t <= all_answered_us]
    later = [change for change in changes if change[0] > all_answered_us]
    return [(float(all_answered_us), begun[-1]), *later] if begun else later


def took_writes(seen: Sequence[tuple[int, Mapping[str, Any]]], at_us: Whole) -> NDArray[np.bool_]:
    """Whether a node took writes at each time, by its last answer; yes before its first, and where
    it has none.
    """
    writes = np.array([True, *(takes_writes(answer) for _, answer in seen)])
    taken: NDArray[np.bool_] = writes[np.searchsorted([t for t, _ in seen], at_us, side="right")]
    return taken


def elections(observations: Seen, t0_us: float) -> list[tuple[float, str]]:
    """(time in µs, name) of each node that became the writer after t0.

    One that was the writer before is elected again only once the present one takes no writes: else
    it came back writable. Empty where at t0 there was not exactly one (multi-writer topologies).
    """
    changes = writers(observations)
    before = [names for t, names in changes if t <= t0_us][-1:]
    if not before or len(before[0]) != 1:
        return []
    known = {*before[0]}
    current = before[0][0]
    found = []
    # Took up writing after the present writer did; one that never stopped is not elected.
    since = set[str]()
    for (_, earlier), (t, names) in itertools.pairwise(changes):
        since = {
            each
            for each in names
            if t > t0_us and each != current and (each in since or each not in earlier)
        }
        if since and (current not in names or since - known):
            current = min(since - known or since)
            known.add(current)
            found.append((t, current))
    return found


def election_ms(observations: Seen, t0_us: float) -> float | None:
    """From t0 to the first observation of a writer that was not the writer at t0; None without
    (docs/failover.md).
    """
    first = next(iter(elections(observations, t0_us)), None)
    return None if first is None else (first[0] - t0_us) / 1000


def detection_ms(
    observations: Seen,
    t0_us: float,
    until_us: float,
    broken: Collection[str],
    acted_us: float = math.inf,
) -> float | None:
    """From t0 to the first observation, before ``until_us``, that a node noticed the fault of the
    ``broken`` ones.

    A cluster's member has fewer others in its view than at t0, or a replica's IO thread, which ran
    at t0, does not run. None where no other node noticed it, and where no node is broken.
    ``acted_us``: when the first action began.
    """
    if not broken:
        return None
    others = [seen for node, seen in observations.items() if node not in broken]
    noticed = [t for seen in others for t in _noticed(seen, t0_us, acted_us) if t < until_us]
    return (min(noticed) - t0_us) / 1000 if noticed else None


def _noticed(
    seen: Sequence[tuple[int, Mapping[str, Any]]], t0_us: float, acted_us: float
) -> Iterator[int]:
    """When a node's answers were those of one that misses another node.

    A thread that has lost its source is ``Connecting``. One that is ``No`` once an action has begun
    was stopped by it, and then follows another source, so that it says nothing from there on.
    """
    before = next(
        (answer for t, answer in reversed(seen) if t <= t0_us and not answer.get("error")), None
    )
    if before is None:
        return
    for t, answer in seen:
        if t <= t0_us:
            continue
        if t >= acted_us and "No" in _io_threads(answer):
            return
        if _misses(before, answer):
            yield t


def _misses(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    view, left = before.get("view"), now.get("view")
    if view is not None and left is not None:
        return bool(left < view)
    ran, run = _io_threads(before), _io_threads(now)
    return len(ran) == len(run) and any(
        one == "Yes" != other for one, other in zip(ran, run, strict=True)
    )


def _io_threads(answer: Mapping[str, Any]) -> list[str]:
    """The state of the IO thread of each channel of a replica; a channel is ``Yes/Yes``, with that
    of the SQL thread.
    """
    return [
        channel.partition("/")[0]
        for channel in (answer.get("state") or "").split(",")
        if "/" in channel
    ]


def lag_ms(observations: Seen, t0_us: float, end_us: float, interval_us: float) -> dict[str, Lag]:
    """Node → its lag from t0 to the end: the newest row that any observer had seen, minus the
    node's own newest.

    An answer holds until the node's next one. The observer asks each ``interval_us`` and repeats an
    unchanged answer only each second; so the lag grows until ``HELD`` intervals before the next
    one, which is its resolution. A node that does not answer has no lag meanwhile; one that has
    none from t0 on is not in the result.
    """
    times, newest = newest_rows(observations)
    found = {
        node: _lag(seen, times, newest, (t0_us, end_us, interval_us))
        for node, seen in observations.items()
    }
    return {node: lag for node, lag in found.items() if lag is not None}


def newest_rows(observations: Seen) -> tuple[Real, Real]:
    """Times, and the newest row that any observer had seen by then, both in µs."""
    rows = sorted(
        (t, answer["last_at_us"])
        for seen in observations.values()
        for t, answer in seen
        if answer.get("last_at_us") is not None
    )
    times = np.array([t for t, _ in rows], dtype=np.float64)
    return times, np.maximum.accumulate(np.array([at for _, at in rows], dtype=np.float64))


def _lag(
    seen: Sequence[tuple[int, Mapping[str, Any]]],
    times: Real,
    newest: Real,
    window: tuple[float, float, float],
) -> Lag | None:
    """Trapezoids from each answer to the next: between them the lag only grows."""
    t0, end, interval = window
    since, own = own_rows(seen)
    until = np.append(since[1:], end)
    begin, finish = np.clip(since, t0, end), np.clip(until, t0, end)
    used = ~np.isnan(own) & (finish > begin)
    if not used.any():
        return None
    since, begin, finish, own = since[used], begin[used], finish[used], own[used]
    at_begin = behind(np.maximum(since, begin - HELD * interval), own, times, newest)
    at_end = behind(np.maximum(since, finish - HELD * interval), own, times, newest)
    area = float(np.sum((at_begin + at_end) / 2 * (finish - begin)))
    return Lag(max_ms=float(at_end.max()) / 1000, integral_ms_s=area / 1e9)


def own_rows(seen: Sequence[tuple[int, Mapping[str, Any]]]) -> tuple[Real, Real]:
    """When a node answered, and its own newest row then, both in µs; NaN where it had none."""
    own = np.array([answer.get("last_at_us") for _, answer in seen], dtype=np.float64)
    return np.array([t for t, _ in seen], dtype=np.float64), own


def behind(at: Real, own: Real, times: Real, newest: Real) -> Real:
    """How far the node's own newest row is behind the newest one seen by ``at``, µs; a node that
    has one was seen.
    """
    late: Real = newest[np.searchsorted(times, at, side="right") - 1] - own
    return late
