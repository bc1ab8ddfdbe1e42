"""Comparisons of trials of which some were still out at their end: by the log-rank test, over all
trials of both cells.

The size of the difference is what holds however long those trials would have lasted
(docs/failover.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sandbox.judge.compare import Judged, Verdict, lasted
from sandbox.judge.rank_tests import log_rank_p
from sandbox.judge.verdict import (
    ALPHA,
    Effect,
    Judgement,
    Word,
    benjamini_hochberg,
    effect_of,
    holm,
    judge,
    qualified,
)
from sandbox.record.manifest import MatrixPart
from sandbox.record.metrics import METRICS, Metric
from sandbox.record.record import Record
from sandbox.record.trial import Lasted

CENSORED = "censored"
"""The word for a comparison that neither the log-rank test nor the size decides."""
ENDLESS, _NO_BOUND = 1e15, 1e12
"""In place of a length without an end, since the rank tests take finite numbers; what that leaves
beyond any.
"""
_SHORTEST_MS = 0.001
_QUALIFIED = ("unfit", "not_steady")

_Trials = Mapping[int, Lasted]
"""By block."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between which a difference lies, however long the open trials would have lasted; None: no
    bound on that side.
    """

    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CensoredVerdict(Verdict):
    """A verdict on a pair of cells with open trials.

    ``decided``: better, worse, or ``censored``; ``p``: of the log-rank test; its ``judgement``
    holds the adjusted one.
    """

    decided: str
    p: float
    open_trials: tuple[int, int]
    """Of the cell, and of the baseline."""
    size: Bounds
    """Hodges–Lehmann over blocks, as ``interval``, its 95 % interval; that is None below six
    blocks.
    """
    interval: Bounds | None

    @property
    def word(self) -> str:
        """The verdict in a word."""
        if self.missing and self.interval is None:
            return "infra_error"
        qualified = self.judgement is not None and self.judgement.word in _QUALIFIED
        return self.judgement.word if qualified and self.judgement else self.decided


def by_log_rank(judged: Judged, part: MatrixPart, records: Sequence[Record]) -> Judged:
    """A result whose pairs with open trials are judged by the log-rank test, and every p adjusted
    for all again.

    The result itself where no trial was open. A canary keeps its word: whether the result is fit
    hangs on it.
    """
    trials = {name: _by_cell(records, name) for name in part.metrics if METRICS[name].may_be_open}
    found = [_tested(each, trials, judged) for each in [*judged.verdicts, *judged.canary]]
    if not any(isinstance(each, CensoredVerdict) for each in found):
        return judged
    verdicts = found[: len(judged.verdicts)]
    canary = found[len(judged.verdicts) :]
    adjust = holm if part.adjustment == "Holm" else benjamini_hochberg
    known = {id(each): each.judgement.effect.p for each in verdicts if each.judgement}
    adjusted = dict(zip(known, adjust([*known.values()]), strict=True))
    again = [
        _adjusted(each, adjusted[id(each)], len(known)) if id(each) in adjusted else each
        for each in verdicts
    ]
    kept = [
        replace(each, decided=plain.word) if isinstance(each, CensoredVerdict) else each
        for each, plain in zip(canary, judged.canary, strict=True)
    ]
    return replace(judged, verdicts=again, canary=kept)


def outlasts(first: Sequence[Lasted], second: Sequence[Lasted]) -> bool:
    """Whether fewer of the first ended than if both lasted alike: the sign of the log-rank test
    (Mantel 1966).
    """
    both = [*first, *second]
    ends = [length for length, still_open in both if not still_open]
    expected = sum(_watched(first, end) / _watched(both, end) for end in ends)
    return sum(not still_open for _, still_open in first) < expected


def _watched(lengths: Sequence[Lasted], at: float) -> int:
    return sum(length >= at for length, _ in lengths)


def _by_cell(records: Sequence[Record], metric: str) -> dict[str, dict[int, Lasted]]:
    found: dict[str, dict[int, Lasted]] = {}
    for record in records:
        if record.counts and (length := lasted(record, metric)) is not None:
            found.setdefault(record.cell, {})[record.block] = length
    return found


def _tested(
    verdict: Verdict, trials: Mapping[str, Mapping[str, _Trials]], judged: Judged
) -> Verdict:
    """The verdict itself where no trial of its pair was open, or where the two share no block."""
    of_metric = trials.get(verdict.metric, {})
    cell, base = (of_metric.get(name, {}) for name in (verdict.cell, verdict.baseline))
    blocks = sorted(cell.keys() & base.keys())
    if not blocks or not any(
        still_open for each in (cell, base) for _, still_open in each.values()
    ):
        return verdict
    metric = METRICS[verdict.metric]
    pairs = [(_on_scale(metric, cell[block]), _on_scale(metric, base[block])) for block in blocks]
    ours, theirs = [*cell.values()], [*base.values()]
    noise_sd = judged.noise[verdict.workload, verdict.metric][1]
    p = log_rank_p(ours, theirs)
    effect = replace(effect_of(metric, [one[0] - other[0] for one, other in pairs], noise_sd), p=p)
    size, interval = _bounds(metric, pairs)
    return CensoredVerdict(
        verdict.cell,
        verdict.baseline,
        verdict.metric,
        Judgement(effect, p, _qualification(verdict, judged)),
        verdict.missing,
        verdict.workload,
        decided=_decided(effect, p, size, outlasts(ours, theirs)),
        p=p,
        open_trials=(_open(ours), _open(theirs)),
        size=size,
        interval=interval,
    )


def _qualification(verdict: Verdict, judged: Judged) -> Word:
    """The word of a verdict that cannot be trusted; ``too noisy`` for any other."""
    if verdict.judgement is None:
        return "unfit" if judged.unfit else "too noisy"
    word = verdict.judgement.word
    return word if word in _QUALIFIED else "too noisy"


def _on_scale(metric: Metric, length: Lasted) -> Lasted:
    """A length on the metric's scale: its logarithm, for a ratio."""
    if metric.scale != "ratio":
        return length
    return math.log(max(length[0], _SHORTEST_MS)), length[1]


def _open(lengths: Sequence[Lasted]) -> int:
    return sum(still_open for _, still_open in lengths)


def _bounds(metric: Metric, pairs: Sequence[tuple[Lasted, Lasted]]) -> tuple[Bounds, Bounds | None]:
    """Estimate and interval of the differences, each at the least and at the most that they can
    have been.
    """
    lows = [-ENDLESS if base_open else ours - base for (ours, _), (base, base_open) in pairs]
    highs = [ENDLESS if ours_open else ours - base for (ours, ours_open), (base, _) in pairs]
    return bounds_of(effect_of(metric, lows, None), effect_of(metric, highs, None))


def bounds_of(least: Effect, most: Effect) -> tuple[Bounds, Bounds | None]:
    """Bounds of an effect and of its interval, from the least and the most that the figures can
    have been.
    """
    low, high = least.interval, most.interval
    interval = Bounds(_bound(low.low), _bound(high.high)) if low and high else None
    return Bounds(_bound(least.estimate), _bound(most.estimate)), interval


def _bound(value: float) -> float | None:
    return value if abs(value) < _NO_BOUND else None


def _decided(effect: Effect, adjusted_p: float, size: Bounds, later: bool) -> str:
    """The test decides, if the difference is at least δ however long the open trials would have
    lasted.

    Where so many are open on both sides that no estimate has a bound, what was seen must differ by
    δ.
    """
    if adjusted_p > ALPHA or effect.interval is None or not effect.noise_known:
        return CENSORED
    if size == Bounds(None, None):
        nearest: float | None = effect.estimate
    else:
        nearest = size.low if later else size.high
    if nearest is None or (nearest if later else -nearest) < effect.margin:
        return CENSORED
    direction = 1.0 if later else -1.0
    return "better" if effect.metric.improves(direction) else "worse"


def _adjusted(verdict: Verdict, adjusted_p: float, comparisons: int) -> Verdict:
    """The verdict by its newly adjusted p."""
    judgement = verdict.judgement
    if judgement is None:
        return verdict
    if isinstance(verdict, CensoredVerdict):
        decided = verdict.decided if adjusted_p <= ALPHA else CENSORED
        return replace(
            verdict, judgement=replace(judgement, adjusted_p=adjusted_p), decided=decided
        )
    if judgement.word in _QUALIFIED:
        return replace(verdict, judgement=replace(judgement, adjusted_p=adjusted_p))
    return replace(
        verdict, judgement=qualified(judge(judgement.effect, adjusted_p, comparisons), False, ())
    )
