"""The verdicts: what earns each word, and how often they are wrong when nothing, or something, is
there.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.judge.rank_tests import signed_rank_interval
from sandbox.judge.verdict import (
    ALPHA,
    MOST_BLOCKS,
    Judgement,
    benjamini_hochberg,
    blocks_for_one,
    blocks_to_see,
    detectable,
    effect_of,
    holm,
    judge,
    margin_of,
    qualified,
    spread,
    unfit,
)
from sandbox.record.metrics import METRICS

TPS, LATENCY, ERRORS = METRICS["tps"], METRICS["latency_p95_ms"], METRICS["errors"]
FASTER = [0.20, 0.22, 0.18, 0.25, 0.21, 0.19, 0.23, 0.24]
SIMULATIONS = 2000


def judged(
    differences: Sequence[float],
    metric: str = "tps",
    noise: float = 0.01,
    adjusted: float | None = None,
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
    # real, and too small to matter.
    assert judged([value / 10 for value in FASTER]).word == "no difference"


def test_what_just_meets_its_bounds_is_a_difference() -> None:
    assert judged(FASTER, adjusted=ALPHA).word == "better"
    effect = effect_of(TPS, FASTER, 0.01)
    assert judge(replace(effect, margin=effect.estimate), effect.p).word == "better"


def test_no_difference_takes_an_interval_inside_the_margin() -> None:
    assert judged([0.01, -0.02, 0.015, -0.01, 0.02, -0.005, 0.0, 0.01]).word == "no difference"
    noisy = judged([0.2, -0.15, 0.1, -0.2, 0.05, -0.1, 0.15, 0.0])
    assert noisy.word == "too noisy" and noisy.blocks_needed and noisy.blocks_needed > 8


def test_no_more_blocks_are_called_for_than_can_be_judged() -> None:
    noisy = [0.2, -0.15, 0.1, -0.2, 0.05, -0.1, 0.15, 0.0]
    most = judged([value + 0.05 for value in noisy] * 25, adjusted=1.0)
    assert (most.effect.blocks, most.word, most.blocks_needed) == (MOST_BLOCKS, "too noisy", None)
    assert judged([5 * value for value in noisy]).blocks_needed is None
    assert judged(noisy).blocks_needed
    last_but_one = replace(judged(noisy).effect, blocks=MOST_BLOCKS - 1)
    assert judge(last_but_one, 1.0).blocks_needed == MOST_BLOCKS


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
    """Log ratios of randomized pairs on a machine that drifts 10 % over the result and wanders
    besides.
    """
    draw = np.random.default_rng(seed)
    moments = 2 * blocks
    machine = (
        np.linspace(0, 0.10, moments)
        + np.cumsum(draw.normal(0, 0.02, moments))
        + draw.normal(0, 0.08, moments)
    )
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
    """What the randomized blocks are for: all of one variant, then all of the other, on the same
    machine.
    """
    alarms = 0
    for seed in range(500):
        draw = np.random.default_rng(seed)
        machine = np.linspace(0, 0.10, 16) + draw.normal(0, 0.04, 16)
        alarms += judged(list(map(float, machine[8:] - machine[:8])), noise=0.0).word in (
            "better",
            "worse",
        )
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


def test_a_margin_is_never_below_five_percent_and_grows_with_the_noise() -> None:
    ratio = METRICS["tps"]
    assert (
        ratio.shown(margin_of(ratio, 0.0, 8))
        == ratio.shown(margin_of(ratio, 0.03, 8))
        == pytest.approx(0.05)
    )
    assert ratio.shown(margin_of(ratio, 0.12, 8)) == pytest.approx(
        math.exp(3.9 * 0.12 / math.sqrt(8)) - 1
    )
    assert margin_of(ratio, 0.12, 16) < margin_of(ratio, 0.12, 8)
    absolute = replace(METRICS["errors"], smallest_margin=0.5)
    assert (
        margin_of(absolute, 2.0, 16) == pytest.approx(1.95) and margin_of(absolute, 0.0, 16) == 0.5
    )


@pytest.mark.parametrize(
    ("blocks", "sds"), [(6, 1.77), (8, 1.27), (10, 1.0), (16, 0.8), (20, 0.67)]
)
def test_what_is_seen_is_what_was_simulated(blocks: int, sds: float) -> None:
    assert detectable(0.1, blocks) == pytest.approx(sds * 0.1)


def test_more_blocks_see_more() -> None:
    seen = [detectable(1, blocks) for blocks in range(6, 60)]
    assert seen == sorted(seen, reverse=True)
    assert detectable(1, 5) == math.inf
    assert detectable(1, 80) == pytest.approx(0.67 / 2)


def test_the_blocks_that_a_difference_takes() -> None:
    assert blocks_to_see(0.01, 0.05) == 6
    assert blocks_to_see(0.1, 0.1) == 10
    assert blocks_to_see(0.1, 0.0) is None
    assert blocks_to_see(1.0, detectable(1.0, MOST_BLOCKS)) == MOST_BLOCKS
    assert blocks_to_see(1.0, 0.99 * detectable(1.0, MOST_BLOCKS)) is None
    blocks = blocks_to_see(0.2, 0.05)
    assert blocks and detectable(0.2, blocks) <= 0.05 < detectable(0.2, blocks - 1)


def test_one_difference_has_no_spread() -> None:
    assert spread([0.3]) == 0 and spread([1.0, 3.0]) == pytest.approx(math.sqrt(2))


# Benjamini and Hochberg (1995), section 3.2: fifteen p values of a trial of thrombolysis. Holm's
# way (and Bonferroni's) refuses three of them at 0.05, theirs four.
TRIAL = [
    *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
    *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
]
p_values = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def test_the_published_example() -> None:
    assert sum(p <= 0.05 for p in holm(TRIAL)) == 3
    assert sum(p <= 0.05 for p in benjamini_hochberg(TRIAL)) == 4


def test_adjusted_values_by_hand() -> None:
    """R: p.adjust(c(0.01, 0.04, 0.03), "holm") is 0.03 0.06 0.06, and "BH" is 0.03 0.04 0.04."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert benjamini_hochberg([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])


@given(p_values)
def test_adjusting_never_helps_and_holm_is_the_stricter(values: list[float]) -> None:
    for plain, strict, lenient in zip(
        values, holm(values), benjamini_hochberg(values), strict=True
    ):
        assert plain - 1e-12 <= lenient <= strict + 1e-12 <= 1 + 1e-12


@given(p_values)
def test_adjusting_keeps_the_order(values: list[float]) -> None:
    for adjust in (holm, benjamini_hochberg):
        adjusted = adjust(values)
        order = sorted(range(len(values)), key=values.__getitem__)
        assert all(adjusted[a] <= adjusted[b] for a, b in itertools.pairwise(order))


@given(st.integers(1, 500))
def test_a_lone_difference_can_be_called_with_so_many_blocks(comparisons: int) -> None:
    blocks = blocks_for_one(comparisons)
    assert comparisons * 2 / 2**blocks <= 0.05
    assert blocks == 6 or comparisons * 2 / 2 ** (blocks - 1) > 0.05
