"""Runs become comparisons: paired by block, adjusted together, honest about what is missing, steady
or not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from sandbox.judge.changes import Shift
from sandbox.judge.compare import Judged, Observation, judge_result, observations
from sandbox.judge.matrix import judge_matrix
from sandbox.record.record import Record, Status
from unit.record.samples import METRICS, sample_record

CANARY = ("canary", "off")
BLOCKS = 8


def run(
    cell: str, block: int, tps: float, status: Status = "ok", steady: bool | None = None
) -> Observation:
    """A run with throughput, and a latency that goes with it."""
    changes = None if steady is None else [] if steady else [Shift("step", 0.5, 10, block)]
    return Observation(
        cell, block, status, {"tps": tps, "latency_p95_ms": 8000 / tps, "errors": 0.0}, changes
    )


def result(
    factors: Mapping[str, float], seed: int = 1, sd: float = 0.02, blocks: int = BLOCKS
) -> list[Observation]:
    """Runs of cells that do ``factors`` times 1,000 transactions a second, on a machine that drifts
    by block.
    """
    draw = np.random.default_rng(seed)
    runs = []
    for block in range(1, blocks + 1):
        level = 1000 * (1 - 0.02 * block)
        runs += [
            run(cell, block, level * factor * float(np.exp(draw.normal(0, sd))))
            for cell, factor in factors.items()
        ]
    return runs


def judged(
    runs: list[Observation],
    pairs: tuple[tuple[str, str], ...] = (("on", "off"),),
    **options: object,
) -> Judged:
    """The result, judged by throughput and latency."""
    return judge_result(runs, pairs, CANARY, ["tps", "latency_p95_ms"], **{"known": {}, **options})  # type: ignore[arg-type]


def words(found: Judged) -> dict[tuple[str, str], str]:
    """Verdict by cell and metric."""
    return {(verdict.cell, verdict.metric): verdict.word for verdict in found.verdicts}


def test_a_real_handicap_is_worse_by_every_metric() -> None:
    found = judged(result({"off": 1, "on": 0.7, "canary": 1}))
    assert words(found) == {("on", "tps"): "worse", ("on", "latency_p95_ms"): "worse"}
    tps, _ = found.verdicts
    assert tps.judgement and np.exp(tps.judgement.effect.estimate) == pytest.approx(0.7, abs=0.03)


def test_nothing_is_no_difference_and_the_canary_sets_the_margin() -> None:
    found = judged(result({"off": 1, "on": 1, "canary": 1}))
    assert set(words(found).values()) == {"no difference"}
    source, sd = found.noise["", "tps"]
    assert source == "canary" and sd and 0.01 < sd < 0.06
    assert not found.unfit


@pytest.mark.parametrize("blocks", [0, 1])
def test_without_a_canary_the_noise_is_unknown_and_nothing_is_better_or_worse(blocks: int) -> None:
    """A canary that was lost, in all blocks or in all but one, is no canary that never differed."""
    whole = result({"off": 1, "on": 0.7, "same": 1, "canary": 1}, sd=0.002)
    runs = [
        (
            replace(each, status="infra_error")
            if each.cell == "canary" and each.block > blocks
            else each
        )
        for each in whole
    ]
    found = judged(runs, (("on", "off"), ("same", "off")))
    assert found.noise["", "tps"] == ("unknown", None) and not found.unfit
    assert words(found)["on", "tps"] == "too noisy", (
        "the margin may be larger than its smallest value"
    )
    assert words(found)["same", "tps"] == "no difference", (
        "within the smallest margin is within any"
    )
    calibrated = judged(runs, known={"": {"tps": 0.02, "latency_p95_ms": 0.02}})
    assert (
        calibrated.noise["", "tps"] == ("calibrated", 0.02)
        and words(calibrated)["on", "tps"] == "worse"
    )


def test_a_calibrated_host_uses_what_is_known_of_it() -> None:
    runs = result({"off": 1, "on": 1, "canary": 1})
    assert judged(runs, known={"": {"tps": 0.06, "latency_p95_ms": 0.06}}).noise["", "tps"] == (
        "calibrated",
        0.06,
    )
    noisy = judged(runs, known={"": {"tps": 0.005, "latency_p95_ms": 0.005}})
    source, sd = noisy.noise["", "tps"]
    assert source == "canary, noisier than calibrated" and sd and sd > 0.01 and not noisy.unfit, (
        "one sitting is noisier"
    )


def test_every_workload_is_judged_by_its_own_noise() -> None:
    """Six percent are real where pairs differ by one percent, and nothing where they differ by
    ten.
    """
    runs = result({"off": 1, "on": 1, "canary": 1, "slow": 0.94, "base": 1}, sd=0.005)
    writes = [
        replace(run, workload="writes") if run.cell in ("slow", "base") else run for run in runs
    ]
    quiet, noisy = {"tps": 0.01, "latency_p95_ms": 0.01}, {"tps": 0.1, "latency_p95_ms": 0.1}
    pairs = (("on", "off"), ("slow", "base"))
    assert (
        words(judged(writes, pairs, known={"": quiet, "writes": noisy}))["slow", "tps"]
        == "no difference"
    )
    assert (
        words(judged(writes, pairs, known={"": noisy, "writes": quiet}))["slow", "tps"] == "worse"
    )
    assert judged(writes, pairs, known={"": noisy}).noise["writes", "tps"][0] == "canary", (
        "not calibrated for it"
    )


def test_a_pair_of_two_workloads_is_judged_by_the_noisier_one() -> None:
    runs = result({"off": 1, "on": 0.94, "canary": 1}, sd=0.005)
    mixed = [replace(run, workload="writes") if run.cell == "on" else run for run in runs]
    quiet, noisy = {"tps": 0.01, "latency_p95_ms": 0.01}, {"tps": 0.1, "latency_p95_ms": 0.1}
    for known in ({"": quiet, "writes": noisy}, {"": noisy, "writes": quiet}):
        assert words(judged(mixed, known=known))["on", "tps"] == "no difference"


def test_a_cell_whose_runs_all_failed_is_no_trouble_of_the_environment() -> None:
    runs = [
        replace(run, status="failed") if run.cell == "on" else run
        for run in result({"off": 1, "on": 1, "canary": 1})
    ]
    assert set(words(judged(runs)).values()) == {"failed"}
    lost = [replace(run, status="infra_error") if run.status == "failed" else run for run in runs]
    assert set(words(judged(lost)).values()) == {"infra_error"}


@pytest.mark.parametrize("cell", ["on", "off"])
def test_a_cell_whose_runs_were_all_skipped_has_not_failed(cell: str) -> None:
    runs = result({"off": 1, "on": 1, "canary": 1})
    skipped = [run(r.cell, r.block, 1, "skipped") if r.cell == cell else r for r in runs]
    assert set(words(judged(skipped)).values()) == {"skipped"}
    mixed = [
        run(r.cell, r.block, 1, "failed") if r.cell == cell and r.block == 1 else r for r in skipped
    ]
    assert set(words(judged(mixed)).values()) == {"failed"}


@pytest.mark.parametrize("cell", ["on", "off"])
def test_a_cell_that_has_not_run_yet_has_not_failed(cell: str) -> None:
    runs = result({"off": 1, "on": 1, "canary": 1})
    none = [each for each in runs if each.cell != cell]
    assert set(words(judged(none)).values()) == {"not run"}
    assert set(words(judged([*none, run(cell, 1, 1, "interrupted")])).values()) == {"not run"}
    assert set(words(judged([*none, run(cell, 1, 1, "infra_error")])).values()) == {"infra_error"}


def test_a_figure_that_one_side_does_not_have_is_not_measured() -> None:
    """As the proxy's share is where the baseline has no proxy: no failure, and no trouble of the
    environment.
    """
    runs = result({"off": 1, "on": 1, "canary": 1})
    bare = [
        replace(r, values={**r.values, "latency_p95_ms": None}) if r.cell == "off" else r
        for r in runs
    ]
    assert words(judged(bare)) == {
        ("on", "tps"): "no difference",
        ("on", "latency_p95_ms"): "not measured",
    }


def test_a_canary_that_differs_makes_everything_unfit() -> None:
    found = judged(result({"off": 1, "on": 0.7, "canary": 0.8}))
    assert found.unfit and set(words(found).values()) == {"unfit"}


def test_a_canary_that_was_open_shows_nothing_of_the_host() -> None:
    """All of its trials, and the baseline's, lasted longer than they were watched; 0.3 s apart, as
    their ends were.
    """
    lengths = {"off": 66_000.0, "on": 66_000.0, "canary": 66_300.0}
    runs = [
        Observation(cell, block, "ok", {"rto_ms": ms + block}, None, censored=["rto_ms"])
        for block in range(1, 7)
        for cell, ms in lengths.items()
    ]
    found = judge_result(runs, [("on", "off")], CANARY, ["rto_ms"], {})
    assert not found.unfit and found.canary[0].judgement is None


def test_many_comparisons_need_a_smaller_p() -> None:
    cells = {f"on{i}": 0.7 if i == 0 else 1.0 for i in range(20)}
    pairs = tuple((cell, "off") for cell in cells)
    few, enough = (
        judged(result({"off": 1, "canary": 1, **cells}, blocks=n), pairs) for n in (6, 11)
    )
    assert words(few)["on0", "tps"] == "too noisy", "6 blocks cannot show one among forty"
    assert words(enough)["on0", "tps"] == "worse"


def test_a_block_without_its_partner_is_left_out_and_counted() -> None:
    runs = result({"off": 1, "on": 0.7, "canary": 1})
    broken = [
        run(r.cell, r.block, 1, "infra_error") if (r.cell, r.block) == ("on", 3) else r
        for r in runs
    ]
    found = judged(broken)
    assert words(found)["on", "tps"] == "worse"
    assert [verdict.missing for verdict in found.verdicts] == [1, 1]
    assert found.verdicts[0].judgement and found.verdicts[0].judgement.effect.blocks == 7


def test_what_the_environment_broke_is_never_worse() -> None:
    runs = result({"off": 1, "on": 0.7, "canary": 1})
    broken = [
        run(r.cell, r.block, 1, "infra_error") if r.cell == "on" and r.block > 2 else r
        for r in runs
    ]
    assert set(words(judged(broken)).values()) == {"infra_error"}
    gone = [run(r.cell, r.block, 1, "infra_error") if r.cell == "on" else r for r in runs]
    assert set(words(judged(gone)).values()) == {"infra_error"}


def test_a_quarter_of_unsteady_runs_is_borne_and_more_is_not() -> None:
    runs = result({"off": 1, "on": 0.7, "canary": 1})
    for unsteady, word in ((2, "worse"), (3, "not_steady")):
        marked = [
            run(
                r.cell,
                r.block,
                float(r.values["tps"] or 0),
                steady=r.cell != "on" or r.block > unsteady,
            )
            for r in runs
        ]
        found = judged(marked)
        assert words(found)["on", "tps"] == word
        changed = [change.block for change in found.unsteady.get("on", ())]
        assert changed == ([1, 2, 3] if word == "not_steady" else []), (
            "what forbids a verdict is named, nothing else"
        )
        assert "off" not in found.unsteady


def test_counts_are_compared_by_their_difference() -> None:
    runs = [
        Observation(cell, block, "ok", {"errors": errors})
        for block in range(1, 9)
        for cell, errors in (("off", 0.0), ("on", 20.0 + block), ("canary", 0.0))
    ]
    (verdict,) = judge_result(runs, [("on", "off")], CANARY, ["errors"], {}).verdicts
    assert (
        verdict.word == "worse" and verdict.judgement and verdict.judgement.effect.estimate == 24.5
    )


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
    from unit.report.test_verdicts import part  # here, since that module imports this one

    judged = judge_matrix(part(depth=depth), records(), drifting, {})
    assert {verdict.word for verdict in judged.verdicts} == {word}
    assert bool(judged.unsteady) == (depth == "restart")


def test_only_a_good_run_has_a_series_to_judge() -> None:
    good, bad = sample_record(block=1), sample_record(block=2, status="failed")
    seen = observations([good, bad], drifting, "restart")
    assert seen[0].changes and seen[0].changes[0].block == 1 and seen[1].changes is None
