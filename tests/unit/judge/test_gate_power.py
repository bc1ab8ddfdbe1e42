"""The gate on simulated sittings, with noise as measured on a shared machine (docs/statistics.md,
rule 12).
"""

import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from sandbox.judge.compare import Judged, Verdict
from sandbox.judge.gate import BLOCKS, LARGEST_MARGIN, Look, Outcome, outcome_of
from sandbox.judge.verdict import effect_of, judge, spread
from sandbox.record.metrics import METRICS

GATES = 100
LOOKS = 500
CALIBRATED = {"server_cpu_ms_per_tx": 0.033, "tps": 0.05}
"""sd of a pair of equal slices."""
Loss = dict[str, float]


def verdict(cell: str, metric: str, differences: Sequence[float], sd: float) -> Verdict:
    """A verdict on the differences of one pair."""
    effect = effect_of(METRICS[metric], differences, sd)
    return Verdict(cell, "variant-base", metric, judge(effect, effect.p), 0)


def looked(draw: np.random.Generator, change: Loss, noisier: float) -> Look:
    """Eight blocks of base, head and canary, and eight more where those are inconclusive."""
    slices = {
        metric: {
            side: draw.normal(0, noisier * sd / np.sqrt(2), 2 * BLOCKS)
            for side in ("base", "head", "canary")
        }
        for metric, sd in CALIBRATED.items()
    }
    first = look_at(slices, change, BLOCKS)
    return look_at(slices, change, BLOCKS + first.blocks_to_add)


def look_at(slices: dict[str, dict[str, np.ndarray]], change: Loss, blocks: int) -> Look:
    """So many blocks of them, judged."""
    heads, canaries = [], []
    for metric, sides in slices.items():
        base = sides["base"][:blocks]
        canary = list(sides["canary"][:blocks] - base)
        head = list(sides["head"][:blocks] - base + change.get(metric, 0.0))
        sd = max(CALIBRATED[metric], spread(canary))
        heads.append(verdict("variant-head", metric, head, sd))
        canaries.append(verdict("canary", metric, canary, sd))
    return Look(Judged(heads, canaries, {}, False), blocks)


def outcomes(change: Loss, noisier: float = 1.0) -> Counter[Outcome]:
    """Of so many gates."""
    draw = np.random.default_rng(20261123)
    found: Counter[Outcome] = Counter()
    for _ in range(GATES):
        first = looked(draw, change, noisier)
        again = looked(draw, change, noisier) if first.state == "suspected" else None
        found[outcome_of(first, again)] += 1
    return found


@pytest.mark.parametrize(("noisier", "least"), [(1.0, 0.94), (1.8, 0.8), (3.5, 0.7)])
def test_the_same_against_the_same_is_green_and_never_worse(noisier: float, least: float) -> None:
    found = outcomes({}, noisier)
    assert found["worse"] == 0 and found["no regression"] >= least * GATES, found


@pytest.mark.parametrize("noisier", [1.0, 3.5])
def test_of_the_same_looked_at_twice_less_than_one_gate_in_a_thousand_is_worse(
    noisier: float,
) -> None:
    """Every look with every other is a gate: 500 of them are 249,500 gates."""
    draw = np.random.default_rng(20261124)
    looks = [looked(draw, {}, noisier) for _ in range(LOOKS)]
    suspected = [look for look in looks if look.state == "suspected"]
    worse = sum(outcome_of(*pair) == "worse" for pair in itertools.permutations(suspected, 2))
    assert worse <= 0.001 * LOOKS * (LOOKS - 1)


@pytest.mark.parametrize(
    ("change", "least"),
    [
        ({"server_cpu_ms_per_tx": np.log(1.08)}, 0.95),
        ({"tps": np.log(0.9)}, 0.75),
        ({"server_cpu_ms_per_tx": np.log(1.4), "tps": np.log(0.5)}, 1.0),
    ],
    ids=["processor time +8%", "throughput -10% by waiting", "half the processors"],
)
def test_a_loss_is_called_worse_and_never_green(change: Loss, least: float) -> None:
    found = outcomes(change)
    assert found["worse"] >= least * GATES and found["no regression"] <= 0.02 * GATES, found


def test_a_loss_of_both_metrics_is_called_worse_whichever_of_them_a_look_catches() -> None:
    found = outcomes({"server_cpu_ms_per_tx": np.log(1.1), "tps": -np.log(1.1)}, 1.8)
    assert found["worse"] >= 0.92 * GATES, found


@pytest.mark.parametrize("noisier", [1.0, 2.5, 3.5])
def test_the_largest_loss_that_may_be_left_open_is_hardly_ever_green(noisier: float) -> None:
    cost, throughput = LARGEST_MARGIN.items()
    for metric, loss in ((cost[0], np.log1p(cost[1])), (throughput[0], -np.log1p(throughput[1]))):
        found = outcomes({metric: loss}, noisier)
        assert found["no regression"] <= 0.06 * GATES, found


def test_what_decides_is_what_was_simulated() -> None:
    assert list(CALIBRATED) == list(LARGEST_MARGIN)
