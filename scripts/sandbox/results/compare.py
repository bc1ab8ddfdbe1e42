"""Runs → comparisons: pairs by block, one effect a metric, p adjusted for all of them, the verdict on each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sandbox.plan.matrix import Adjustment
from sandbox.results.record import Status
from sandbox.results.statistics.many import benjamini_hochberg, holm
from sandbox.results.statistics.margin import spread
from sandbox.results.statistics.metrics import METRICS, Metric
from sandbox.results.statistics.steadiness import Change
from sandbox.results.statistics.verdict import (
    UNSTEADY_SHARE,
    Effect,
    Judgement,
    effect_of,
    judge,
    qualified,
    unfit,
)

_ADJUST = {"Holm": holm, "Benjamini-Hochberg": benjamini_hochberg}


@dataclass(frozen=True, slots=True)
class Observation:
    """One run as a comparison sees it. ``changes``: why it was not steady; None: too short to be judged."""

    cell: str
    block: int
    status: Status
    values: Mapping[str, float | None]
    changes: Sequence[Change] | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of one metric of one pair of cells. ``judgement`` None: no block has both."""

    cell: str
    baseline: str
    metric: str
    judgement: Judgement | None
    missing: int
    """Blocks of which either run failed for reasons of the environment."""

    @property
    def word(self) -> str:
        """The verdict in a word or two; ``infra_error`` where failures left too little to judge."""
        if self.judgement is None or (self.missing and self.judgement.effect.interval is None):
            return "infra_error"
        return self.judgement.word


@dataclass(frozen=True, slots=True)
class Judged:
    """A whole result, judged. ``noise``: where each metric's margin comes from, and its standard deviation."""

    verdicts: Sequence[Verdict]
    canary: Sequence[Verdict]
    noise: Mapping[str, tuple[Literal["calibrated", "canary"], float]]
    unfit: bool
    unsteady: Mapping[str, Sequence[Change]] = field(default_factory=dict)
    """Cells too unsteady to be compared, each with what changed in it."""


def judge_result(
    runs: Sequence[Observation],
    pairs: Sequence[tuple[str, str]],
    canary: tuple[str, str],
    metrics: Sequence[str],
    calibrated: Mapping[str, float] | None,
    adjustment: Adjustment = "Benjamini-Hochberg",
) -> Judged:
    """Judges every pair (cell, baseline) by every metric.

    ``calibrated``: standard deviation of A/A differences on this host class, by metric; None: the canary's own is used.
    """
    table = {(run.cell, run.block): run for run in runs}
    noise = {name: _noise(table, canary, METRICS[name], calibrated) for name in metrics}
    canaries = [_unadjusted(table, canary, METRICS[name], noise[name][1]) for name in metrics]
    bad = any(
        unfit(verdict.judgement, calibrated.get(verdict.metric) if calibrated else None)
        for verdict in canaries
        if verdict.judgement
    )
    plain = [_unadjusted(table, pair, METRICS[name], noise[name][1]) for pair in pairs for name in metrics]
    verdicts = _adjusted(plain, adjustment, bad, unsteady_shares(runs))
    return Judged(verdicts, canaries, noise, bad, unsteady_cells(runs, [cell for pair in pairs for cell in pair]))


def differences_of(runs: Sequence[Observation], pair: tuple[str, str], metric: str) -> list[float]:
    """One difference for each block in which both cells of a pair ran, on the metric's scale."""
    return _differences({(run.cell, run.block): run for run in runs}, pair, METRICS[metric])[0]


def _noise(
    table: Mapping[tuple[str, int], Observation],
    canary: tuple[str, str],
    metric: Metric,
    calibrated: Mapping[str, float] | None,
) -> tuple[Literal["calibrated", "canary"], float]:
    if calibrated and metric.name in calibrated:
        return "calibrated", calibrated[metric.name]
    return "canary", spread(_differences(table, canary, metric)[0])


def _unadjusted(
    table: Mapping[tuple[str, int], Observation], pair: tuple[str, str], metric: Metric, noise_sd: float
) -> Verdict:
    differences, missing = _differences(table, pair, metric)
    if not differences:
        return Verdict(*pair, metric.name, None, missing)
    effect = effect_of(metric, differences, noise_sd)
    return Verdict(*pair, metric.name, judge(effect, effect.p), missing)


def _differences(
    table: Mapping[tuple[str, int], Observation], pair: tuple[str, str], metric: Metric
) -> tuple[list[float], int]:
    """One difference for each block in which both cells ran; and the blocks lost to the environment."""
    found, missing = [], 0
    for block in sorted({block for _, block in table}):
        runs = [table.get((cell, block)) for cell in pair]
        missing += any(run is not None and run.status == "infra_error" for run in runs)
        cell, baseline = (run.values.get(metric.name) if run and run.status == "ok" else None for run in runs)
        if cell is None or baseline is None:
            continue
        difference = metric.difference(baseline, cell)
        if difference is not None:
            found.append(difference)
    return found, missing


def _adjusted(
    plain: Sequence[Verdict], adjustment: Adjustment, bad: bool, unsteady: Mapping[str, float]
) -> list[Verdict]:
    effects: list[Effect] = [verdict.judgement.effect for verdict in plain if verdict.judgement]
    adjusted = iter(_ADJUST[adjustment]([effect.p for effect in effects]))
    verdicts = []
    for verdict in plain:
        judgement = verdict.judgement and judge(verdict.judgement.effect, next(adjusted), len(effects))
        if judgement:
            shares = [unsteady.get(cell, 0.0) for cell in (verdict.cell, verdict.baseline)]
            judgement = qualified(judgement, bad, shares)
        verdicts.append(Verdict(verdict.cell, verdict.baseline, verdict.metric, judgement, verdict.missing))
    return verdicts


def unsteady_shares(runs: Sequence[Observation]) -> dict[str, float]:
    """By cell, the share of its judged runs that were not steady."""
    shares = {}
    for cell in {run.cell for run in runs}:
        judged = [bool(run.changes) for run in runs if run.cell == cell and run.changes is not None]
        shares[cell] = judged.count(True) / len(judged) if judged else 0.0
    return shares


def unsteady_cells(runs: Sequence[Observation], cells: Iterable[str]) -> dict[str, list[Change]]:
    """Those of the cells that are too unsteady to be compared, each with what changed in its runs."""
    shares = unsteady_shares(runs)
    return {cell: _changes(runs, cell) for cell in cells if shares.get(cell, 0.0) > UNSTEADY_SHARE}


def _changes(runs: Sequence[Observation], cell: str) -> list[Change]:
    """Each once: slices have them in common."""
    return list(dict.fromkeys(change for run in runs if run.cell == cell for change in run.changes or ()))
