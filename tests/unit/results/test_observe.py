"""What a comparison sees of records: series are judged where every run has a server of its own, never in slices."""

from collections.abc import Sequence

import numpy as np
import pytest

from sandbox.results.observe import judge_matrix, observations
from sandbox.results.record import Record
from unit.report.test_verdict_table import part
from unit.results.samples import METRICS, sample_record


def drifting(record: Record) -> Sequence[float]:
    """Thirty seconds that fall by a third, as on a machine whose neighbours wake up."""
    noise = np.random.default_rng(record.block).normal(0, 5, 30)
    return list((record.metrics.tps or 0) * np.linspace(1.2, 0.8, 30) + noise)


def records(blocks: int = 8) -> list[Record]:
    """A change of 17 % on a machine that loses half of its speed over the sitting."""
    draw, made = np.random.default_rng(1), []
    for block in range(1, blocks + 1):
        for cell, factor in (("off", 1.0), ("on", 1.17), ("canary", 1.0)):
            tps = 1000 * factor * (1 - 0.06 * block) * float(np.exp(draw.normal(0, 0.02)))
            metrics = METRICS.model_copy(update={"tps": tps, "latency_p95_ms": 8000 / tps})
            made.append(sample_record(cell=cell, block=block, metrics=metrics))
    return made


@pytest.mark.parametrize(("depth", "word"), [("slices", "better"), ("restart", "not_steady")])
def test_a_drift_that_all_share_hides_nothing_in_slices(depth: str, word: str) -> None:
    judged = judge_matrix(part(depth=depth), records(), drifting, {})
    assert {verdict.word for verdict in judged.verdicts} == {word}
    assert bool(judged.unsteady) == (depth == "restart")


def test_only_a_good_run_has_a_series_to_judge() -> None:
    good, bad = sample_record(block=1), sample_record(block=2, status="failed")
    seen = observations([good, bad], drifting, "restart")
    assert seen[0].changes and seen[0].changes[0].block == 1 and seen[1].changes is None
