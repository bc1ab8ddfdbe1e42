"""The verdict on a comparison: its effect, what matters and what could be detected, p among many,
the conclusion.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sandbox.judge.rank_tests import (
    MOST_DIFFERENCES,
    Interval,
    hodges_lehmann,
    signed_rank_interval,
    signed_rank_p,
)
from sandbox.record.manifest import StatementPart
from sandbox.record.metrics import Metric

Word = Literal[
    "better", "worse", "no difference", "too noisy", "unfit", "not_steady", "infra_error", "failed"
]
UNSTEADY_SHARE = 0.25
"""A comparison is not steady when more than this share of either variant's runs is unsteady."""
ALPHA = 0.05
FEWEST_BLOCKS = 6
"""With five, an exact two-sided p of 0.05 cannot be reached."""
MOST_BLOCKS = MOST_DIFFERENCES
"""A block gives one difference."""
FEWEST_TRIALS = 10
"""Blocks of a matrix with faults, by default; a cell with fewer trials is labelled
(docs/failover.md).
"""

# The smallest difference detected with 80 % power, in standard deviations of one block's
# difference, by blocks.
_DETECTABLE = {6: 1.77, 8: 1.27, 10: 1.00, 16: 0.80, 20: 0.67}
_BEYOND = _DETECTABLE[20] * math.sqrt(20)


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect on one metric between two variants, on the metric's scale: log ratio, or
    difference in its unit.
    """

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
    noise_known: bool = True
    """False: δ is at least ``margin``, so that nothing can be better or worse."""

    @property
    def detectable(self) -> float:
        """The effect that so many blocks would have detected with 80 % power; infinite below
        six.
        """
        return detectable(self.sd, self.blocks)


@dataclass(frozen=True, slots=True)
class Judgement:
    """An effect, with its p adjusted for all comparisons, and the word for it."""

    effect: Effect
    adjusted_p: float
    word: Word
    blocks_needed: int | None = None
    """If too noisy: the blocks needed at this noise; None if more than MOST_BLOCKS."""


Agreement = Literal["agree", "disagree", "inconclusive"]


@dataclass(frozen=True, slots=True)
class StatementFinding:
    """What was found here of a published statement: on one pair of cells, or on one curve.

    ``value``, with its interval: of a pair the effect on the metric's scale; of a curve that is to
    be flat its largest effect; of one with a knee its level. ``high`` None: open.
    """

    cells: tuple[str, ...]
    agreement: Agreement
    why: str = ""
    """Why it is inconclusive."""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    blocks: int = 0


@dataclass(frozen=True, slots=True)
class StatementOutcome:
    """A published statement, and what was found of it here."""

    statement: StatementPart
    findings: Sequence[StatementFinding]

    @property
    def agreement(self) -> Agreement:
        """Of the whole: the worst; a statement of several pairs or curves is met by all of them."""
        found = {each.agreement for each in self.findings}
        if "disagree" in found:
            return "disagree"
        return "agree" if found == {"agree"} else "inconclusive"


def effect_of(metric: Metric, differences: Sequence[float], noise_sd: float | None) -> Effect:
    """The effect of one difference per block. ``noise_sd``: sd of A/A differences; None: not known.

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
        noise_sd is not None,
    )


def judge(effect: Effect, adjusted_p: float, comparisons: int = 1) -> Judgement:
    """Better or worse needs all three, no difference needs an interval inside the margin
    (docs/statistics.md, rule 9).

    ``comparisons``: how many are judged together.
    """
    interval = effect.interval
    if (
        interval is not None
        and adjusted_p <= ALPHA
        and interval.excludes(0)
        and abs(effect.estimate) >= effect.margin
    ):
        return Judgement(
            effect, adjusted_p, "better" if effect.metric.improves(effect.estimate) else "worse"
        )
    if interval is not None and interval.within(effect.margin):
        return Judgement(effect, adjusted_p, "no difference")
    seen = blocks_to_see(effect.sd, effect.margin) or math.inf
    needed = max(seen, blocks_for_one(comparisons), effect.blocks + 1)
    return Judgement(
        effect, adjusted_p, "too noisy", int(needed) if needed <= MOST_BLOCKS else None
    )


def qualified(judgement: Judgement, unfit: bool, unsteady_shares: Sequence[float]) -> Judgement:
    """The judgement, unless the canary was unfit, a variant unsteady, or δ unknown: then neither
    better nor worse.
    """
    if unfit:
        return replace(judgement, word="unfit", blocks_needed=None)
    if any(share > UNSTEADY_SHARE for share in unsteady_shares):
        return replace(judgement, word="not_steady", blocks_needed=None)
    if not judgement.effect.noise_known and judgement.word in ("better", "worse"):
        return replace(judgement, word="too noisy")
    return judgement


def unfit(canary: Judgement) -> bool:
    """Whether the A/A cell invalidates the result, since it "differed" (docs/statistics.md, rule
    7).
    """
    return canary.word in ("better", "worse")


def margin_of(metric: Metric, noise_sd: float | None, blocks: int) -> float:
    """δ(n) = max(smallest, 3.9 · sd / √n), on the metric's scale; ``noise_sd``: of the A/A
    differences of one block.
    """
    return max(metric.smallest_effect, 3.9 * (noise_sd or 0.0) / math.sqrt(blocks))


def detectable(sd: float, blocks: int) -> float:
    """The difference that so many blocks detect with 80 % power, on the scale of ``sd`` (log ratio
    or metric unit).

    Linear between the simulated points; above 20 blocks it falls with √n, below six nothing is
    guaranteed.
    """
    if blocks < min(_DETECTABLE):
        return math.inf
    if blocks >= max(_DETECTABLE):
        return _BEYOND / math.sqrt(blocks) * sd
    return float(np.interp(blocks, [*_DETECTABLE], [*_DETECTABLE.values()])) * sd


def blocks_to_see(sd: float, difference: float) -> int | None:
    """Blocks (at least six) that detect such a difference with 80 % power; None if MOST_BLOCKS are
    not enough.
    """
    enough = (
        blocks
        for blocks in range(FEWEST_BLOCKS, MOST_BLOCKS + 1)
        if detectable(sd, blocks) <= difference
    )
    return next(enough, None)


def spread(differences: Sequence[float]) -> float:
    """Standard deviation of the blocks' differences; 0 for fewer than two."""
    return float(np.std(differences, ddof=1)) if len(differences) > 1 else 0.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p, in the order given: no false alarm among all of them, with probability 1 − α
    (Holm 1979).
    """
    p = np.array(p_values, dtype=float)
    order = np.argsort(p_values)
    p[order] = np.maximum.accumulate(np.minimum(1.0, p[order] * np.arange(len(p), 0, -1)))
    return [*map(float, p)]


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p, in the order given: of differences called real, the expected share of false
    alarms is α (1995).
    """
    p = np.array(p_values, dtype=float)
    order = np.argsort(p_values)[::-1]
    p[order] = np.minimum.accumulate(p[order] * (len(p) / np.arange(len(p), 0, -1)))
    return [*map(float, p)]


def blocks_for_one(comparisons: int) -> int:
    """Blocks with which a single difference among so many can be called real: 1 + log2(m / α), at
    least six.
    """
    return max(FEWEST_BLOCKS, math.ceil(1 + math.log2(max(comparisons, 1) / ALPHA)))
