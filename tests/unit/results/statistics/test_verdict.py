"""The verdicts: what earns each word, and how often they are wrong when nothing, or something, is there."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from sandbox.results.statistics.metrics import METRICS
from sandbox.results.statistics.signed_rank import signed_rank_interval
from sandbox.results.statistics.verdict import Judgement, effect_of, judge, qualified, unfit

TPS, LATENCY, ERRORS = METRICS["tps"], METRICS["latency_p95_ms"], METRICS["errors"]
FASTER = [0.20, 0.22, 0.18, 0.25, 0.21, 0.19, 0.23, 0.24]
SIMULATIONS = 2000


def judged(
    differences: Sequence[float], metric: str = "tps", noise: float = 0.01, adjusted: float | None = None
) -> Judgement:
    """The judgement on one lone comparison."""
    effect = effect_of(METRICS[metric], differences, noise)
    return judge(effect, effect.p if adjusted is None else adjusted)


def test_more_throughput_is_better_and_more_latency_is_worse() -> None:
    assert judged(FASTER).word == "better"
    assert judged(FASTER, "latency_p95_ms").word == "worse"
    assert judged([-value for value in FASTER]).word == "worse"
    assert judged([12.0, 9, 14, 11, 10, 13], "errors").word == "worse"


def test_each_of_the_three_conditions_can_refuse() -> None:
    assert judged(FASTER, adjusted=0.06).word == "too noisy"  # among many comparisons
    assert judged(FASTER[:5]).word == "too noisy"  # too few blocks for any interval
    assert judged(FASTER, noise=0.2).word == "no difference"  # within the margin of so noisy a host
    assert judged([value / 10 for value in FASTER]).word == "no difference"  # real, and too small to matter


def test_no_difference_takes_an_interval_inside_the_margin() -> None:
    assert judged([0.01, -0.02, 0.015, -0.01, 0.02, -0.005, 0.0, 0.01]).word == "no difference"
    noisy = judged([0.2, -0.15, 0.1, -0.2, 0.05, -0.1, 0.15, 0.0])
    assert noisy.word == "too noisy" and noisy.blocks_needed and noisy.blocks_needed > 8


def test_a_difference_is_shown_as_a_share_or_in_its_unit() -> None:
    assert TPS.difference(100, 110) == pytest.approx(math.log(1.1))
    assert TPS.shown(math.log(1.1)) == pytest.approx(0.1)
    assert TPS.difference(0, 110) is None
    assert ERRORS.difference(0, 3) == 3 == ERRORS.shown(3)


def test_an_unfit_canary_or_an_unsteady_variant_takes_the_word_away() -> None:
    better = judged(FASTER)
    assert qualified(better, False, [0.25, 0.0]) == better
    assert qualified(better, True, [0, 0]).word == "unfit"
    assert qualified(better, False, [0.0, 0.3]).word == "not_steady"


def test_a_canary_is_unfit_when_it_differs_and_never_for_being_noisy() -> None:
    assert unfit(judged(FASTER))
    assert not unfit(judged([0.01, -0.02, 0.015, -0.01, 0.02, -0.005]))
    assert not unfit(judged([0.2, -0.15, 0.1, -0.2, 0.05, -0.1]))


def simulated(seed: int, blocks: int, effect: float = 0.0) -> list[float]:
    """Log ratios of randomized pairs on a machine that drifts 10 % over the result and wanders besides."""
    draw = np.random.default_rng(seed)
    moments = 2 * blocks
    machine = np.linspace(0, 0.10, moments) + np.cumsum(draw.normal(0, 0.02, moments)) + draw.normal(0, 0.08, moments)
    differences = []
    for block in range(blocks):
        first, second = machine[2 * block : 2 * block + 2]
        baseline, variant = (first, second) if draw.random() < 0.5 else (second, first)
        differences.append(float(variant - baseline) + effect)
    return differences


@pytest.mark.parametrize("blocks", [6, 8, 16])
def test_false_alarms_stay_below_five_percent_under_drift(blocks: int) -> None:
    words = [judged(simulated(seed, blocks), noise=0.0).word for seed in range(SIMULATIONS)]
    assert sum(word in ("better", "worse") for word in words) / SIMULATIONS <= 0.05


@pytest.mark.parametrize("blocks", [6, 8, 16])
def test_the_interval_covers_what_is_there(blocks: int) -> None:
    covered = 0
    for seed in range(SIMULATIONS):
        interval = signed_rank_interval(simulated(seed, blocks, effect=0.1))
        assert interval is not None
        covered += not interval.excludes(0.1)
    assert covered / SIMULATIONS >= 0.94


def test_the_same_in_an_order_that_is_not_randomized_would_not_do() -> None:
    """What the randomized blocks are for: all of one variant, then all of the other, on the same machine."""
    alarms = 0
    for seed in range(500):
        draw = np.random.default_rng(seed)
        machine = np.linspace(0, 0.10, 16) + draw.normal(0, 0.04, 16)
        alarms += judged(list(map(float, machine[8:] - machine[:8])), noise=0.0).word in ("better", "worse")
    assert alarms / 500 > 0.2


@pytest.mark.parametrize("blocks", [8, 16])
def test_what_could_have_been_seen_is_seen_four_times_in_five(blocks: int) -> None:
    sd = 0.1
    effect = effect_of(TPS, [sd * x for x in (-1, 1)] * (blocks // 2), 0.0)
    size = effect.detectable / effect.sd * sd
    seen = 0
    for seed in range(1000):
        differences = np.random.default_rng(seed).normal(size, sd, blocks)
        interval = signed_rank_interval(list(map(float, differences)))
        seen += interval is not None and interval.excludes(0)
    assert 0.75 <= seen / 1000 <= 0.9
