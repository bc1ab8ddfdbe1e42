"""The verdict on one comparison: effect, interval, what could have been detected, and the conclusion."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sandbox.results.statistics.many import ALPHA, blocks_for_one
from sandbox.results.statistics.margin import absolute_margin, blocks_to_see, detectable, margin, spread
from sandbox.results.statistics.metrics import Metric
from sandbox.results.statistics.signed_rank import Interval, hodges_lehmann, signed_rank_interval, signed_rank_p

Word = Literal["better", "worse", "no difference", "too noisy", "unfit", "not_steady", "infra_error", "failed"]
UNSTEADY_SHARE = 0.25
"""A comparison is not steady when more than this share of either variant's runs is unsteady."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect on one metric between two variants, on the metric's scale: log ratio, or difference in its unit."""

    metric: Metric
    blocks: int
    estimate: float
    interval: Interval | None
    """None below six blocks."""
    p: float
    sd: float
    """Of the blocks' differences."""
    margin: float
    """δ on the same scale: a smaller effect does not count."""

    @property
    def detectable(self) -> float:
        """The effect that so many blocks would have detected with 80 % power; infinite below six."""
        return detectable(self.sd, self.blocks)


@dataclass(frozen=True, slots=True)
class Judgement:
    """An effect, with its p adjusted for all comparisons, and the word for it."""

    effect: Effect
    adjusted_p: float
    word: Word
    blocks_needed: int | None = None
    """If too noisy: the blocks needed at this noise; None if beyond reason."""

    @property
    def of_figures_alone(self) -> Word:
        """The word before a canary or an unsteady variant overrode it: for display, never for decisions."""
        return judge(self.effect, self.adjusted_p).word


def effect_of(metric: Metric, differences: Sequence[float], noise_sd: float) -> Effect:
    """The effect of one difference per block. ``noise_sd``: sd of A/A differences, calibrated or from the canary.

    Raises ValueError without a difference.
    """
    blocks = len(differences)
    return Effect(
        metric,
        blocks,
        hodges_lehmann(differences),
        signed_rank_interval(differences),
        signed_rank_p(differences),
        spread(differences),
        margin_of(metric, noise_sd, blocks),
    )


def judge(effect: Effect, adjusted_p: float, comparisons: int = 1) -> Judgement:
    """Better or worse needs all three, no difference needs an interval inside the margin (docs/statistics.md, rule 9).

    ``comparisons``: how many are judged together.
    """
    interval = effect.interval
    if interval is not None and adjusted_p <= ALPHA and interval.excludes(0) and abs(effect.estimate) >= effect.margin:
        return Judgement(effect, adjusted_p, "better" if effect.metric.improves(effect.estimate) else "worse")
    if interval is not None and interval.within(effect.margin):
        return Judgement(effect, adjusted_p, "no difference")
    needed = blocks_to_see(effect.sd, effect.margin)
    if needed is not None:
        needed = max(needed, blocks_for_one(comparisons), effect.blocks + 1)
    return Judgement(effect, adjusted_p, "too noisy", needed)


def qualified(judgement: Judgement, unfit: bool, unsteady_shares: Sequence[float]) -> Judgement:
    """The judgement, unless the canary was unfit or a variant unsteady; then it is neither better nor worse."""
    if unfit:
        return replace(judgement, word="unfit", blocks_needed=None)
    if any(share > UNSTEADY_SHARE for share in unsteady_shares):
        return replace(judgement, word="not_steady", blocks_needed=None)
    return judgement


def unfit(canary: Judgement) -> bool:
    """Whether the A/A cell invalidates the result, since it "differed" (docs/statistics.md, rule 7)."""
    return canary.word in ("better", "worse")


def margin_of(metric: Metric, noise_sd: float, blocks: int) -> float:
    """δ on the metric's scale for so many blocks."""
    if metric.scale == "ratio":
        return math.log1p(margin(noise_sd, blocks, metric.smallest_margin))
    return absolute_margin(noise_sd, blocks, metric.smallest_margin)
