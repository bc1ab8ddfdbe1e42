"""The gate's word and exit code: worse only when said twice, green only when a loss that counts was
excluded.
"""

import math
from dataclasses import replace

import pytest

from sandbox.core.errors import ExitCode
from sandbox.judge.compare import Judged, Verdict
from sandbox.judge.gate import (
    BLOCKS,
    EXIT_CODES,
    LARGEST_MARGIN,
    Finding,
    Look,
    Outcome,
    State,
    outcome_of,
)
from sandbox.judge.rank_tests import Interval
from sandbox.judge.verdict import Effect, Judgement, Word
from sandbox.record.metrics import METRICS

DELTA = math.log1p(0.05)
CPU, TPS = LARGEST_MARGIN
BETTER, SAME, SUSPECT, UNCLEAR, SURE, SLIGHT = (
    (-0.08, -0.10, -0.06),
    (0.01, -0.01, 0.03),
    (0.08, -0.01, 0.15),
    (0.02, -0.03, 0.07),
    (0.08, 0.06, 0.10),
    (0.03, 0.02, 0.04),
)
"""How much worse a side is: estimate and both ends, on the log scale."""


def finding(metric: str, loss: tuple[float, float, float], margin: float = DELTA) -> Finding:
    """A finding of eight blocks, where a throughput that falls is a loss as a cost that rises
    is.
    """
    effect = effect_of(metric, loss, margin=margin)
    return Finding(metric, effect)


def effect_of(
    metric: str, loss: tuple[float, float, float], blocks: int = BLOCKS, margin: float = DELTA
) -> Effect:
    """An effect as the blocks show it, for which more throughput is above zero."""
    middle, low, high = (
        loss if not METRICS[metric].higher_is_better else (-loss[0], -loss[2], -loss[1])
    )
    return Effect(METRICS[metric], blocks, middle, Interval(low, high, 0.953), 0.01, 0.02, margin)


def look(
    cpu: tuple[float, float, float] = SAME,
    tps: tuple[float, float, float] = SAME,
    planned: int = BLOCKS,
    blocks: int | None = None,
    canary: Word = "no difference",
    lost: str | None = None,
    margin: float = DELTA,
) -> Look:
    """A look with a verdict on each metric that decides, and on one that does not."""
    done = planned if blocks is None else blocks
    verdicts = [
        Verdict(
            "variant-head",
            "variant-base",
            name,
            Judgement(effect_of(name, loss, done, margin), 1.0, "too noisy"),
            0,
        )
        for name, loss in ((CPU, cpu), (TPS, tps), ("latency_p95_ms", SURE))
    ]
    canaries = [
        replace(
            each, cell="canary", judgement=each.judgement and replace(each.judgement, word=canary)
        )
        for each in verdicts
    ]
    return Look(Judged(verdicts, canaries, {}, False), planned, lost)


@pytest.mark.parametrize("metric", LARGEST_MARGIN)
@pytest.mark.parametrize(
    ("loss", "word"),
    [(BETTER, "not worse"), (SAME, "not worse"), (SLIGHT, "not worse"), (SUSPECT, "inconclusive"),
     (UNCLEAR, "inconclusive"), (SURE, "worse")],
)  # fmt: skip
def test_a_loss_is_one_whichever_way_the_metric_points(
    metric: str, loss: tuple[float, float, float], word: str
) -> None:
    assert finding(metric, loss).word == word


@pytest.mark.parametrize("metric", LARGEST_MARGIN)
def test_a_loss_as_large_as_what_counts_is_one_and_an_interval_that_reaches_it_excludes_nothing(
    metric: str,
) -> None:
    assert finding(metric, (DELTA, 0.01, 0.1)).word == "worse"
    assert finding(metric, (0.0, -0.1, DELTA)).word == "inconclusive"


def test_what_would_have_been_caught_is_a_share_of_the_base() -> None:
    assert finding(CPU, SAME).caught == pytest.approx(0.05)
    assert finding(TPS, SAME).caught == pytest.approx(1 - 1 / 1.05), (
        "of the throughput that is lost"
    )


@pytest.mark.parametrize(("metric", "largest"), LARGEST_MARGIN.items())
def test_a_green_light_that_says_nothing_is_too_noisy_and_a_red_one_is_not(
    metric: str, largest: float
) -> None:
    noisy = math.log1p(0.5)
    assert finding(metric, SAME, noisy).word == "not worse", (
        "however noisy the host: the interval excludes it"
    )
    assert finding(metric, (0.0, -0.1, math.log1p(largest) + 0.001), noisy).word == "too noisy"
    assert finding(metric, (0.7, 0.6, 0.8), noisy).word == "worse"


def test_a_green_light_excludes_no_more_than_counts_and_no_less_than_says_anything() -> None:
    assert finding(CPU, SAME).excluded == pytest.approx(0.05)
    assert finding(CPU, SAME, math.log1p(0.5)).excluded == pytest.approx(0.11)
    assert finding(TPS, SAME, math.log1p(0.5)).excluded == pytest.approx(1 - 1 / 1.3), (
        "of the throughput that is lost"
    )


def test_without_figures_nothing_was_measured_and_below_six_blocks_nothing_is_said() -> None:
    assert Finding(CPU, None).word == "not measured"
    assert Finding(CPU, replace(effect_of(CPU, SURE), interval=None)).word == "inconclusive"


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (look(), "no regression"),
        (look(BETTER, SAME), "no regression"),
        (look(SURE, SAME), "suspected"),
        (look(SAME, SURE), "suspected"),
        (look(SURE, BETTER), "suspected"),
        (look(SAME, UNCLEAR), "inconclusive"),
        (look(margin=math.log1p(0.12)), "no regression"),
        (look((0.0, -0.11, 0.11), margin=math.log1p(0.12)), "inconclusive"),
        (look(SURE, SURE, canary="worse"), "inconclusive"),
        (look(canary="better"), "inconclusive"),
        (look(SURE, SURE, blocks=7), "inconclusive"),
        (look(blocks=7), "inconclusive"),
        (look(SURE, SURE, lost="variant-head: died"), "environment"),
        (Look(None, BLOCKS), "environment"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_state_of_a_look(found: Look, state: State) -> None:
    assert found.state == state


def test_latency_is_shown_and_decides_nothing() -> None:
    assert look().state == "no regression", "its p95 is worse in every one of these looks"
    assert [each.metric for each in look().findings] == [CPU, TPS]


@pytest.mark.parametrize(
    ("found", "more"),
    [
        (look(SAME, UNCLEAR), 8),
        (look(canary="worse"), 8),
        (look((0.0, -0.11, 0.11), margin=math.log1p(0.12)), 8),
        (look(SAME, UNCLEAR, planned=16), 0),
        (look(), 0),
        (look(SURE, SAME), 0),
        (look(SAME, UNCLEAR, blocks=7), 0),
        (look(lost="died"), 0),
    ],
)
def test_eight_blocks_are_added_once_and_only_to_a_whole_look_that_is_inconclusive(
    found: Look, more: int
) -> None:
    assert found.blocks_to_add == more


def test_a_head_of_which_every_run_failed_is_no_trouble_of_the_environment() -> None:
    nothing = [
        Verdict("variant-head", "variant-base", metric, None, 0) for metric in LARGEST_MARGIN
    ]
    assert (
        Look(Judged(nothing, [], {}, False), BLOCKS, failed="variant-head: refused").state
        == "inconclusive"
    )
    assert Look(None, BLOCKS).state == "environment", (
        "where nothing ran, nothing is known of the head"
    )


@pytest.mark.parametrize(
    ("first", "again", "outcome", "code"),
    [
        (look(), None, "no regression", 0),
        (look(SAME, UNCLEAR), None, "inconclusive", 3),
        (look(lost="died"), None, "environment", 4),
        (look(SURE, SAME), None, "inconclusive", 3),
        (look(SURE, SAME), look(SURE, SAME), "worse", 1),
        (look(SURE, SAME), look(SURE, SURE), "worse", 1),
        (look(SURE, SAME), look(SAME, SURE), "worse", 1),
        (look(SAME, SURE), look(SURE, UNCLEAR), "worse", 1),
        (look(SURE, BETTER), look(SAME, SURE), "inconclusive", 3),
        (look(SURE, SAME), look(BETTER, SURE), "inconclusive", 3),
        (look(SURE, SAME), look((-0.01, -0.02, 0.0), SURE), "inconclusive", 3),
        (look(SURE, BETTER), look(SURE, SURE), "worse", 1),
        (look(SURE, SAME), look(SAME, SURE, blocks=7), "inconclusive", 3),
        (look(SURE, SAME), look(), "inconclusive", 3),
        (look(SURE, SAME), look(UNCLEAR, SAME, planned=16), "inconclusive", 3),
        (look(SURE, SAME), look(SURE, SAME, blocks=7), "inconclusive", 3),
        (look(SURE, SAME), look(SURE, SAME, canary="worse"), "inconclusive", 3),
        (look(SURE, SAME), look(SURE, SAME, lost="died"), "environment", 4),
        (look(SURE, SAME), Look(None, BLOCKS), "environment", 4),
    ],
)
def test_worse_is_only_what_a_repetition_finds_too_by_whichever_metric(
    first: Look, again: Look | None, outcome: Outcome, code: int
) -> None:
    assert outcome_of(first, again) == outcome
    assert EXIT_CODES[outcome] == ExitCode(code)


def test_only_a_suspicion_asks_for_a_repetition_and_none_turns_green_by_it() -> None:
    for first in (look(SAME, UNCLEAR), look(blocks=7), look(lost="died"), Look(None, BLOCKS)):
        assert first.state != "suspected"
        assert outcome_of(first, look()) == first.state, "again until green"
