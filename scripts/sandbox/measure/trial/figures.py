"""Figures of one trial: outages, recovery times, brownout, errors and the longest block of a
client. Pure.
"""

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sandbox.measure.trial.columns import ACKED, STREAMS, WRITE_STREAMS, Real
from sandbox.measure.trial.observers import HELD, detection_ms, election_ms, lag_ms
from sandbox.measure.trial.prober_log import ProberLog
from sandbox.record.trial import Figures

Injection = tuple[float, float, float | None]
"""When a fault's injection began, when it had ended, and when the fault was healed (None: never);
µs.
"""
Cause = tuple[float, float]
"""From when until when a fault was in effect, or an action under way; µs."""
SLOTS = 5
"""An outage is longer than so many slots,"""
TIMES_BASELINE = 2
"""and than so many times the baseline's longest gap. A second is good below so many times the
baseline's p99.
"""
GOOD_SECONDS = 5
"""So many in a row end a brownout."""
_SECOND_US = 1_000_000
_RTO = {"pooled": "rto_ms", "fresh": "rto_new_connection_ms"}


@dataclass(frozen=True, slots=True)
class Gap:
    """A time without an acknowledged write, µs. ``censored``: still open at the end, so this is the
    length seen.
    """

    begin_us: float
    end_us: float
    censored: bool

    @property
    def ms(self) -> float:
        """Its length."""
        return (self.end_us - self.begin_us) / 1000


@dataclass(frozen=True, slots=True)
class StreamOutages:
    """The outages of one stream of writes, in order. ``threshold_us``: they are longer.
    ``delta_us``: of its slots.

    ``causes``: only an outage that began within one of them has an RTO; without any, no gap is an
    outage. ``stall_us``: the longest gap from t0 on that is no such outage.
    """

    gaps: Sequence[Gap]
    threshold_us: float
    delta_us: float
    causes: Sequence[Cause] = ((-math.inf, math.inf),)
    stall_us: float = 0.0

    @property
    def caused(self) -> Gap | None:
        """The first outage that began within a fault or an action; the RTO is that of this one."""
        return next((gap for gap in self.gaps if _is_within(gap, self.causes)), None)

    @property
    def first(self) -> Gap | None:
        """The outage that was caused; where there is none, the first that came later, as a server
        returned.
        """
        return self.caused or next(iter(self.gaps), None)

    def until(self, gave_up_us: float) -> "StreamOutages":
        """These outages, but a gap that was open then is censored there."""
        cut = [
            Gap(gap.begin_us, gave_up_us, True) if gap.begin_us < gave_up_us < gap.end_us else gap
            for gap in self.gaps
        ]
        return replace(self, gaps=cut)


def figures_of(
    log: ProberLog,
    t0_us: float,
    injections: Sequence[Injection],
    end_us: float,
    broken: Collection[str] = (),
    acted_us: float = math.inf,
    clock_us: float = 0.0,
    gave_up_us: float = math.inf,
    causes: Sequence[Cause] | None = None,
) -> Figures:
    """The figures of a trial whose first injection began at ``t0_us`` and whose window ends at
    ``end_us``.

    ``injections``: in time; ``broken``: the nodes that the first one hit, none where it was an
    action; ``acted_us``: when the first action began; ``clock_us``: ± of t0 on the prober's clock;
    ``gave_up_us``: when a fault was healed since writes did not come back, so that what was out
    then is censored; ``causes``: within which an outage with an RTO begins, None: any injection.
    """
    of_stream = stream_outages(log, t0_us, end_us, injections, causes)
    figures: dict[str, Any] = {
        "detection_ms": detection_ms(
            log.observations, t0_us, _first_heal(injections) or end_us, broken, acted_us
        ),
        "election_ms": election_ms(log.observations, t0_us),
        "lag": lag_ms(log.observations, t0_us, end_us, _observer_us(log)),
        **_of_streams(of_stream),
        "recovered_by_op": _recovered_by_op(log, of_stream),
        "baseline_p99_ms": finite(nearest_rank(_baseline_ms(log, t0_us), 99)),
        **_lateness(log, t0_us),
        "missed": log.missed_by_stream(),
        **_errors(log, t0_us, during_end(of_stream.values(), t0_us, injections)),
        "longest_block_ms": longest_blocks_ms(log, end_us),
        "resolution_ms": _resolutions(log, of_stream, clock_us / 1000),
    }
    by_itself = {stream: each.until(gave_up_us) for stream, each in of_stream.items()}
    lengths = _outage_lengths(by_itself, t0_us) | _brownout(
        log, by_itself, figures["baseline_p99_ms"], t0_us, end_us
    )
    return Figures(
        **figures,
        **{name: ms for name, (ms, _) in lengths.items()},
        censored=tuple(sorted(name for name, (_, censored) in lengths.items() if censored)),
        no_outage=tuple(
            sorted(_RTO[stream] for stream, each in of_stream.items() if not each.caused)
        ),
    )


def _of_streams(of_stream: Mapping[str, StreamOutages]) -> dict[str, dict[str, float]]:
    """By stream, ms: the length that a gap exceeds to be an outage, and the longest gap that is
    none.
    """
    return {
        "threshold_ms": {stream: each.threshold_us / 1000 for stream, each in of_stream.items()},
        "longest_stall_ms": {
            stream: round(each.stall_us / 1000, 3) for stream, each in of_stream.items()
        },
    }


def _errors(log: ProberLog, t0_us: float, during_us: float) -> dict[str, dict[str, dict[str, int]]]:
    return {f"errors_{phase}": counts for phase, counts in log.errors(t0_us, during_us).items()}


def _lateness(log: ProberLog, t0_us: float) -> dict[str, float | None]:
    late = log.lateness_ms(t0_us)
    return {f"lateness_p{percent}_ms": nearest_rank(late, percent) for percent in (50, 99)}


def _first_heal(injections: Sequence[Injection]) -> float | None:
    return next((healed for _, _, healed in injections), None)


def outages(acks: Real, t0_us: float, end_us: float, threshold_us: float) -> list[Gap]:
    """Gaps between acknowledged writes that overlap the time from t0 on and exceed the threshold
    (docs/failover.md).

    ``acks``: when they were acknowledged, sorted, µs. One before t0 counts as the start of a gap;
    without any, the first gap begins at t0. The gap still open at the end is censored: an
    acknowledgement after the end is not seen.
    """
    seen = acks[acks <= end_us]
    begins = seen if len(seen) and seen[0] <= t0_us else np.concatenate([[t0_us], seen])
    ends = np.append(begins[1:], end_us)
    long = np.flatnonzero((ends > t0_us) & (ends - begins > threshold_us))
    return [
        Gap(float(begins[each]), float(ends[each]), bool(each == len(begins) - 1)) for each in long
    ]


def outage_threshold_us(acks: Real, t0_us: float, delta_us: float) -> float:
    """max(5Δ, 2 × the baseline's longest gap), the baseline being the time from the first
    acknowledgement to t0.
    """
    gaps = np.diff(acks[acks <= t0_us])
    return max(SLOTS * delta_us, TIMES_BASELINE * float(gaps.max(initial=0)))


def joined(gaps: Iterable[Gap], injections: Sequence[Injection]) -> list[Gap]:
    """Outages, of which one that begins during an injection is part of an earlier one that ended
    within a second.

    A fault of several nodes hits one after the other, and slows the machine while it does: no
    recovery lies between.
    """
    found: list[Gap] = []
    for gap in gaps:
        during = any(began <= gap.begin_us < ended for began, ended, _ in injections)
        goes_on = during and found and gap.begin_us - found[-1].end_us < _SECOND_US
        found.append(replace(gap, begin_us=found.pop().begin_us) if goes_on else gap)
    return found


def stream_outages(
    log: ProberLog,
    t0_us: float,
    end_us: float,
    steps: Sequence[Injection],
    causes: Sequence[Cause] | None = None,
) -> dict[str, StreamOutages]:
    """The outages of each stream of writes that the request has. ``causes`` None: the steps, each
    until it was healed.
    """
    if causes is None:
        causes = [(began, math.inf if healed is None else healed) for began, _, healed in steps]
    found = {}
    for stream in WRITE_STREAMS:
        acks = log.acks(stream)
        delta = log.delta_us(stream)
        if delta is not None:
            threshold = outage_threshold_us(acks, t0_us, delta)
            gaps = joined(outages(acks, t0_us, end_us, threshold), steps) if causes else []
            every = outages(acks, t0_us, end_us, 0)
            stalls = [gap.end_us - gap.begin_us for gap in every if not _is_part(gap, gaps, causes)]
            found[stream] = StreamOutages(gaps, threshold, delta, causes, max(stalls, default=0.0))
    return found


def _is_within(gap: Gap, causes: Sequence[Cause]) -> bool:
    """Whether a gap began while a fault was in effect: its last write before may have come just
    before that.
    """
    return any(gap.begin_us < until and began < gap.end_us for began, until in causes)


def _is_part(gap: Gap, of: Sequence[Gap], causes: Sequence[Cause]) -> bool:
    """Whether a gap belongs to an outage that began within a fault."""
    whole = [each for each in of if _is_within(each, causes)]
    return any(each.begin_us <= gap.begin_us and gap.end_us <= each.end_us for each in whole)


def during_end(
    of_streams: Iterable[StreamOutages], t0_us: float, injections: Sequence[Injection]
) -> float:
    """End of the phase ``during``: that of either stream's first outage or the last heal, whichever
    is latest, µs.

    An injection without a heal counts with its own end.
    """
    firsts = [each.first.end_us for each in of_streams if each.first]
    return max(
        [t0_us, *firsts, *(ended if healed is None else healed for _, ended, healed in injections)]
    )


def nearest_rank(values: Real, percent: int) -> float | None:
    """The value at or below which ``percent`` of the values lie (nearest rank); None without
    values.
    """
    rank = -(-percent * len(values) // 100)
    return float(np.partition(values, rank - 1)[rank - 1]) if len(values) else None


def finite(value: float | None) -> float | None:
    """The value itself; None where it is infinite or not a number."""
    return value if value is not None and np.isfinite(value) else None


def longest_blocks_ms(log: ProberLog, end_us: float) -> dict[str, float]:
    """Of each stream that the request has, ms: the longest run of slots due before the end of which
    none was served.
    """
    found = {}
    for stream in STREAMS:
        delta = log.delta_us(stream)
        if delta is not None:
            due, served = log.slots(stream)
            found[stream] = (
                _longest_block_us(due[due < end_us], np.isinf(served[due < end_us]), delta) / 1000
            )
    return found


def _longest_block_us(due: Any, failed: Any, delta_us: float) -> float:
    """From the first slot of the longest run of failed ones to a slot after its last one; 0 without
    a run.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], failed, [False]])))
    first = edges[::2]
    last = edges[1::2] - 1
    return float((due[last] - due[first] + delta_us).max(initial=0))


def _outage_lengths(
    of_stream: Mapping[str, StreamOutages], t0_us: float
) -> dict[str, tuple[float, bool]]:
    """Name of a figure → (ms, censored). The longest one and the sum could still grow while a gap
    is open.
    """
    lengths = {}
    nothing = Gap(t0_us, t0_us, False)
    for stream, each in of_stream.items():
        caused = each.caused or nothing
        lengths[_RTO[stream]] = ((caused.end_us - t0_us) / 1000, caused.censored)
        if stream == "pooled":
            first = each.first or nothing
            sizes = [gap.ms for gap in each.gaps]
            open_ = any(gap.censored for gap in each.gaps)
            lengths["outage_first_ms"] = (first.ms, first.censored)
            lengths["outage_first_began_ms"] = ((first.begin_us - t0_us) / 1000, False)
            lengths["outage_longest_ms"] = (max(sizes, default=0.0), open_)
            lengths["outage_total_ms"] = (sum(sizes), open_)
    return lengths


def _baseline_ms(log: ProberLog, t0_us: float) -> Real:
    """Latencies of pooled slots due before t0; one in flight then is the fault's, and was sent
    within a time-out.
    """
    due, served = log.slots("pooled")
    ended = (served <= t0_us) | (due < t0_us - 1e6 * float(log.request["timeout_s"]))
    baseline: Real = (served - due)[(due < t0_us) & ended] / 1000
    return baseline


def _brownout(
    log: ProberLog,
    of_stream: Mapping[str, StreamOutages],
    base_ms: float | None,
    t0_us: float,
    end_us: float,
) -> dict[str, tuple[float, bool]]:
    """From the RTO to the first of five seconds in a row whose p99 is below twice the baseline's;
    else censored.

    A slot counts in the second in which it was due; one that was never served is slower than any
    that was. Where writes never came back it had not begun: a trial without this figure would be
    missing among the worst.
    """
    pooled = of_stream.get("pooled")
    if pooled is None or base_ms is None:
        return {}
    if pooled.caused and pooled.caused.censored:
        return {"brownout_ms": (0.0, True)}
    begin = pooled.caused.end_us if pooled.caused else t0_us
    due, served = log.slots("pooled")
    bounds = np.searchsorted(
        due, begin + _SECOND_US * np.arange((end_us - begin) // _SECOND_US + 1)
    )
    latencies = (served - due) / 1000
    p99 = [nearest_rank(latencies[since:until], 99) for since, until in itertools.pairwise(bounds)]
    good = [each is not None and each < TIMES_BASELINE * base_ms for each in p99]
    for second in range(len(good) - GOOD_SECONDS + 1):
        if all(good[second : second + GOOD_SECONDS]):
            return {"brownout_ms": (second * 1000.0, False)}
    return {"brownout_ms": ((end_us - begin) / 1000, True)}


def _recovered_by_op(log: ProberLog, of_stream: Mapping[str, StreamOutages]) -> dict[str, int]:
    """The write whose acknowledgement ended the first outage of each stream."""
    writes = log.writes
    found = {}
    for stream, each in of_stream.items():
        own = (writes.stream == STREAMS.index(stream)) & (writes.outcome == ACKED)
        gap = each.caused
        if gap is not None and not gap.censored:
            found[_RTO[stream]] = int(writes.op[own & (writes.done == gap.end_us)][0])
    return found


def _resolutions(
    log: ProberLog, of_stream: Mapping[str, StreamOutages], clock: float
) -> dict[str, float]:
    """± of each figure, ms: Δ for an outage and an RTO, Δ for each outage of the sum, Δ + the
    observers' for election.

    The observers' for detection, which is a time of their own; that of t0 for what is counted from
    it. Δ of pooled writes is at least the pace at which a pool opens connections, that of a
    brownout the second of its percentiles.
    """
    observer = _observer_us(log) / 1000
    opening = 1000 * float(log.request.get("opening_s", 0.0))
    found = {_RTO[stream]: each.delta_us / 1000 + clock for stream, each in of_stream.items()}
    if "pooled" in of_stream:
        delta = max(opening, of_stream["pooled"].delta_us / 1000)
        gaps = of_stream["pooled"].gaps
        found[_RTO["pooled"]] = delta + clock
        found |= {
            "outage_first_ms": delta,
            "outage_longest_ms": delta,
            "outage_total_ms": delta * max(1, len(gaps)),
        }
        found["brownout_ms"] = _SECOND_US / 1000
    slot = min((each.delta_us for each in of_stream.values()), default=0.0) / 1000
    found |= {"detection_ms": observer + clock, "election_ms": slot + observer + clock}
    return {**found, "lag": HELD * observer}


def _observer_us(log: ProberLog) -> float:
    return 1e6 * float(log.request.get("observe_interval_s", 0.1))
