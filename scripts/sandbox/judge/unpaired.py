"""Two results → comparisons: cells matched by their levels, runs compared without pairs."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sandbox.judge.calibration import Calibration, kind_of_run
from sandbox.judge.compare import (
    Judged,
    Noise,
    Observation,
    Verdict,
    differences_of,
    judge_together,
    larger_noise,
    unsteady_shares,
    why_unjudged,
)
from sandbox.judge.open_trials import ENDLESS, Bounds, bounds_of
from sandbox.judge.rank_tests import censored_median, rank_sum_interval, rank_sum_p, shift
from sandbox.judge.verdict import Effect, judge, margin_of, qualified, spread
from sandbox.record.manifest import Manifest
from sandbox.record.metrics import METRICS, Metric
from sandbox.record.record import Record
from sandbox.record.trial import Lasted

BENCH_METRICS = ("tps", "latency_p95_ms", "server_cpu_ms_per_tx")
PRIMARY = {
    "bench": ("tps", "latency_p95_ms", "server_cpu_ms_per_tx"),
    "trial": ("rto_ms",),
}
"""Kind of a single run → its primary metrics."""


@dataclass(frozen=True)
class ResultSide:
    """One of the two results. ``judged``: by its own canary; None for a single run, which has no
    canary.
    """

    name: str
    manifest: Manifest
    records: Sequence[Record]
    runs: Sequence[Observation]
    judged: Judged | None

    @property
    def cells(self) -> dict[str, dict[str, str]]:
        """Cell → its levels; a bench or a trial is one, identified by its workload. The canary is
        none.
        """
        if self.manifest.matrix is None:
            return {each.cell: {"workload": each.workload.name} for each in self.records}
        return {cell.name: cell.levels for cell in self.manifest.matrix.cells if not cell.skipped}

    @property
    def metrics(self) -> Sequence[str]:
        """The primary metrics."""
        if self.manifest.matrix:
            return self.manifest.matrix.metrics
        return [
            name
            for name in PRIMARY.get(self.manifest.kind, ())
            if any(getattr(each.metrics, name) is not None for each in self.records)
        ]

    @property
    def host_class(self) -> str | None:
        """Processor, cores, engine, storage; None if no run got far enough to ask."""
        if self.manifest.matrix:
            return self.manifest.matrix.host_class
        machine = next(
            (each.environment for each in self.records if each.environment.engine_version), None
        )
        if machine is None:
            return None
        cpu = machine.cpu_model or machine.architecture
        return (
            f"{cpu}, {machine.cpus} cores, engine {machine.engine_version},"
            f" {machine.storage_driver}"
        )

    def workload(self, cell: str) -> str:
        """The workload of a cell; empty if it never ran."""
        return next((each.workload.name for each in self.records if each.cell == cell), "")

    def kind(self, workload: str) -> str | None:
        """The kind of run, as calibrations define it."""
        if not self.host_class or not self.records:
            return None
        seconds = (
            self.manifest.matrix.seconds
            if self.manifest.matrix
            else self.records[0].workload.seconds
        )
        return kind_of_run(self.host_class, workload, seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpairedVerdict(Verdict):
    """A verdict on B's cell against A's. ``judgement`` None: a side has no run that was ok.

    ``missing``: runs of both sides that failed because of the environment.
    """

    levels: Mapping[str, str]
    runs: tuple[int, int]
    """Number of runs that were ok, of A and of B."""
    typical: tuple[Lasted | None, Lasted | None]
    """Medians of A and of B, in the metric's unit, and whether each is only a lower bound."""
    open_trials: tuple[int, int] = (0, 0)
    """Of A and of B."""
    bounds: tuple[Bounds, Bounds | None] | None = None
    """Of the effect and of its interval, however long the open trials would have lasted; None
    without any.
    """
    undecided: bool = False
    """Whether the verdict depends on how long the open trials would have lasted."""


@dataclass(frozen=True)
class Unpaired:
    """Two results, compared. ``noise``: by workload and metric, where the margin comes from, and
    the sd behind it.
    """

    verdicts: Sequence[UnpairedVerdict]
    noise: Mapping[tuple[str, str], Noise]
    unfit: Sequence[str]
    """Sides whose own canary was unfit."""
    only: Mapping[str, Sequence[Mapping[str, str]]]
    """Cells that the other side does not have, by side."""


def matched(first: ResultSide, second: ResultSide) -> list[tuple[str, str]]:
    """Cells of A and of B with the same levels, in A's order."""
    there = {frozenset(levels.items()): cell for cell, levels in second.cells.items()}
    found = [(cell, there.get(frozenset(levels.items()))) for cell, levels in first.cells.items()]
    return [(cell, other) for cell, other in found if other is not None]


def compare_results(first: ResultSide, second: ResultSide, known: Calibration) -> Unpaired:
    """Every cell that both have, by every primary metric that both have; p adjusted for all
    (Benjamini–Hochberg).

    Estimate and interval: Hodges–Lehmann's shift between two samples with the interval of the
    rank-sum test.
    """
    pairs = matched(first, second)
    metrics = [METRICS[name] for name in first.metrics if name in second.metrics]
    loads = dict.fromkeys(first.workload(cell) for cell, _ in pairs)
    noise = {
        (load, metric.name): _noise(first, second, load, metric, known)
        for load in loads
        for metric in metrics
    }
    plain = [_plain((first, second), pair, metric, noise) for metric in metrics for pair in pairs]
    adjusted = judge_together(each.judgement for each in plain)
    unfit = [
        name
        for name, side in {"A": first, "B": second}.items()
        if side.judged and side.judged.unfit
    ]
    shares = unsteady_shares(first.runs), unsteady_shares(second.runs)
    verdicts = []
    for verdict, judgement in zip(plain, adjusted, strict=True):
        if judgement and min(verdict.runs) < 2:
            # One run cannot show how many are needed.
            judgement = replace(judgement, blocks_needed=None)
        if judgement:
            unsteady = shares[0].get(verdict.baseline, 0.0), shares[1].get(verdict.cell, 0.0)
            judgement = qualified(judgement, bool(unfit), unsteady)
        if (
            judgement
            and verdict.undecided
            and judgement.word in ("better", "worse", "no difference")
        ):
            judgement = replace(judgement, word="too noisy")
        verdicts.append(replace(verdict, judgement=judgement))
    ours, theirs = [*first.cells.values()], [*second.cells.values()]
    only = {
        "A": [each for each in ours if each not in theirs],
        "B": [each for each in theirs if each not in ours],
    }
    return Unpaired(verdicts, noise, unfit, only)


def effect_of_two(
    metric: Metric, first: Sequence[float], second: Sequence[float], noise_sd: float | None
) -> Effect:
    """B against A, one value per run on the metric's scale; ``noise_sd``: of A/A differences of two
    runs.

    ``blocks``: the runs per side that would be as informative if both sides had equally many: 2ab /
    (a + b).
    """
    blocks = max(1, int(2 * len(first) * len(second) / (len(first) + len(second))))
    return Effect(
        metric,
        blocks,
        shift(first, second),
        rank_sum_interval(first, second),
        rank_sum_p(first, second),
        math.hypot(spread(first), spread(second)),
        margin_of(metric, noise_sd, blocks),
        noise_sd is not None,
    )


def on_scale(metric: Metric, values: Sequence[float | None]) -> list[float]:
    """Values on the scale of the comparison: logarithms for a ratio, without values that have
    none.
    """
    known = [value for value in values if value is not None]
    return [math.log(value) for value in known if value > 0] if metric.scale == "ratio" else known


def _plain(
    sides: tuple[ResultSide, ResultSide],
    pair: tuple[str, str],
    metric: Metric,
    noise: Mapping[tuple[str, str], Noise],
) -> UnpairedVerdict:
    load = sides[0].workload(pair[0])
    runs = [
        [run for run in side.runs if run.cell == cell]
        for side, cell in zip(sides, pair, strict=True)
    ]
    good = [
        [run for run in each if run.status == "ok" and run.values.get(metric.name) is not None]
        for each in runs
    ]
    (first, longest_first), (second, longest_second) = (
        at_least_and_most(metric, each) for each in good
    )
    sd = noise[load, metric.name][1]
    effect = effect_of_two(metric, first, second, sd) if first and second else None
    extremes = [(longest_first, second), (first, longest_second)] if effect else []
    ends = [effect_of_two(metric, *both, sd) for both in extremes]
    still_open = [sum(metric.name in run.censored for run in each) for each in good]
    # What is adjusted for all comparisons holds however long the open trials would have lasted.
    if effect:
        effect = replace(effect, p=max(each.p for each in (effect, *ends)))
    words = {judge(each, each.p).word for each in (effect, *ends) if each}
    lost = sum(run.status == "infra_error" for each in runs for run in each)
    return UnpairedVerdict(
        pair[1],
        pair[0],
        metric.name,
        judge(effect, effect.p) if effect else None,
        lost,
        load,
        levels=sides[0].cells[pair[0]],
        runs=(len(first), len(second)),
        typical=(_typical(metric, good[0]), _typical(metric, good[1])),
        open_trials=(still_open[0], still_open[1]),
        bounds=bounds_of(*ends) if ends and any(still_open) else None,
        unjudged=why_unjudged(runs, metric.name),
        undecided=len(words) > 1,
    )


def _typical(metric: Metric, runs: Sequence[Observation]) -> Lasted | None:
    seen = [(run.values[metric.name] or 0.0, metric.name in run.censored) for run in runs]
    return (
        (statistics.median(value for value, _ in seen), censored_median(seen) is None)
        if seen
        else None
    )


def at_least_and_most(
    metric: Metric, runs: Sequence[Observation]
) -> tuple[list[float], list[float]]:
    """The values on the metric's scale: the least that each can have been, and the most."""
    known = [(value, metric.name in run.censored) for run in runs
             for value in on_scale(metric, [run.values[metric.name]])]  # fmt: skip
    return [value for value, _ in known], [
        ENDLESS if still_open else value for value, still_open in known
    ]


def _noise(
    first: ResultSide, second: ResultSide, load: str, metric: Metric, known: Calibration
) -> Noise:
    """The largest noise of the two canaries and, where both ran on one kind of host, of its
    calibration.
    """
    kind = first.kind(load)
    sds = (known.sds(kind) or {}) if kind and kind == second.kind(load) else {}
    canaries = [
        differences_of(side.runs, side.manifest.matrix.canary_pair, metric.name)
        for side in (first, second)
        if side.manifest.matrix
    ]
    return larger_noise(sds.get(metric.name), canaries)
