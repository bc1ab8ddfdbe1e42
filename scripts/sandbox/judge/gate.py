"""The gate's conclusions from a look, from more blocks, from a repetition (docs/statistics.md, rule
12).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sandbox.core.errors import ExitCode
from sandbox.judge.compare import Judged, Verdict
from sandbox.judge.rank_tests import Interval
from sandbox.judge.verdict import Effect, unfit

Word = Literal["worse", "not worse", "inconclusive", "too noisy", "not measured"]
State = Literal["no regression", "suspected", "inconclusive", "environment"]
Outcome = Literal["no regression", "worse", "inconclusive", "environment"]
EXIT_CODES: Mapping[Outcome, ExitCode] = {
    "no regression": ExitCode.OK,
    "worse": ExitCode.FAILED,
    "inconclusive": ExitCode.UNKNOWN,
    "environment": ExitCode.ENVIRONMENT,
}
LARGEST_MARGIN = {"server_cpu_ms_per_tx": 0.11, "tps": 0.30}
"""The two metrics that decide, each with the largest loss that a green light may leave open, as a
share of the base.
"""
BLOCKS = 8
"""Per look, and again for its second part."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A look's finding on one metric, signed towards worse: a loss of throughput is positive, like
    a rise in cost.

    ``effect`` None: no block has the metric on both sides.
    """

    metric: str
    effect: Effect | None

    @property
    def loss(self) -> float:
        """Hodges–Lehmann estimate of how much worse, on the metric's scale."""
        return -self._sign * self.effect.estimate if self.effect else math.nan

    @property
    def interval(self) -> Interval | None:
        """Its exact interval; None below six blocks."""
        found = self.effect.interval if self.effect else None
        if found is None or self._sign < 0:
            return found
        return Interval(-found.high, -found.low, found.confidence)

    @property
    def caught(self) -> float:
        """The smallest loss that would have counted, δ, as a share of the base: of its throughput,
        or of its cost.
        """
        return self._share(self._margin)

    @property
    def excluded(self) -> float:
        """The loss that a green light excludes, as such a share: δ, capped where noise makes it too
        large to use.
        """
        return self._share(self._bound)

    @property
    def word(self) -> Word:
        """Worse: certain, and at least δ. Not worse: the interval excludes what matters, however
        noisy the host is.

        Where δ is larger than the largest loss that may be left open, a loss between the two is
        neither.
        """
        if self.effect is None:
            return "not measured"
        if self.interval is None:
            return "inconclusive"
        if self.interval.low > 0 and self.loss >= self._margin:
            return "worse"
        if self.interval.high < self._bound:
            return "not worse"
        return "too noisy" if self._bound < self._margin else "inconclusive"

    def _share(self, loss: float) -> float:
        """A loss on the metric's scale as a share of the base: of throughput, or of cost."""
        return -math.expm1(-loss) if self._sign > 0 else math.expm1(loss)

    @property
    def _bound(self) -> float:
        return min(self._margin, math.log1p(LARGEST_MARGIN[self.metric]))

    @property
    def _margin(self) -> float:
        return self.effect.margin if self.effect else math.nan

    @property
    def _sign(self) -> int:
        """1 where more is better, so that a loss is a fall; −1 for a cost."""
        return 1 if self.effect is None or self.effect.metric.higher_is_better else -1


@dataclass(frozen=True, slots=True)
class Look:
    """All blocks so far on the same stacks. ``judged`` None: no run succeeded.

    ``lost``: the environment failure that ended it, or None; ``failed``: why the first failed run
    failed.
    """

    judged: Judged | None
    blocks: int
    """As planned."""
    lost: str | None = None
    failed: str | None = None

    @property
    def findings(self) -> Sequence[Finding]:
        """Findings on the metrics that decide."""
        return [
            Finding(each.metric, each.judgement.effect if each.judgement else None)
            for each in self._deciding()
        ]

    @property
    def incomplete(self) -> bool:
        """Whether a metric that decides, the canary's included, has fewer blocks than planned."""
        every = [each.judgement for each in (*self._deciding(), *self._canary())]
        return any(each is None or each.effect.blocks < self.blocks for each in every)

    @property
    def unfit(self) -> bool:
        """Whether the base differs from itself, so that the head cannot be judged
        (docs/statistics.md, rule 7).
        """
        return any(each.judgement and unfit(each.judgement) for each in self._canary())

    @property
    def worse(self) -> frozenset[str]:
        """Metrics that are worse."""
        return frozenset(each.metric for each in self.findings if each.word == "worse")

    @property
    def state(self) -> State:
        """The result of the look; an incomplete one is inconclusive, whatever it shows."""
        if self.lost is not None or self.judged is None:
            return "environment"
        if self.incomplete or self.unfit:
            return "inconclusive"
        if self.worse:
            return "suspected"
        return (
            "no regression"
            if {each.word for each in self.findings} == {"not worse"}
            else "inconclusive"
        )

    @property
    def blocks_to_add(self) -> int:
        """Eight more, once, where eight complete ones were inconclusive; else 0."""
        return (
            BLOCKS
            if self.state == "inconclusive" and not self.incomplete and self.blocks == BLOCKS
            else 0
        )

    def _deciding(self) -> list[Verdict]:
        return [
            each
            for each in (self.judged.verdicts if self.judged else ())
            if each.metric in LARGEST_MARGIN
        ]

    def _canary(self) -> list[Verdict]:
        return [
            each
            for each in (self.judged.canary if self.judged else ())
            if each.metric in LARGEST_MARGIN
        ]


def outcome_of(first: Look, repetition: Look | None) -> Outcome:
    """The gate's outcome: worse only where a fresh repetition finds a loss too, and neither rules
    out the other's.

    Only a suspicion is ever repeated, and only once: never "again until green".
    """
    if first.state != "suspected":
        return first.state
    if repetition is not None and repetition.state == "environment":
        return "environment"
    if repetition is None or repetition.state != "suspected":
        return "inconclusive"
    return (
        "worse"
        if losses_beside(first, repetition) and losses_beside(repetition, first)
        else "inconclusive"
    )


def losses_beside(look: Look, other: Look) -> frozenset[str]:
    """The metrics that a look calls worse, without those on which the other look rules out a loss:
    its interval lies wholly at or better than no change.

    The two looks need not agree on the metric: what costs processor time costs throughput too, and
    which of the two passes its margin first is chance.
    """
    return look.worse - {
        each.metric for each in other.findings if each.interval and each.interval.high <= 0
    }
