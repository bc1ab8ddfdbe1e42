"""Records → comparisons: pairs by block, one effect per metric, p adjusted for all of them, the
verdict on each.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from sandbox.judge.changes import Shift, changes
from sandbox.judge.verdict import (
    UNSTEADY_SHARE,
    Judgement,
    StatementOutcome,
    benjamini_hochberg,
    effect_of,
    holm,
    judge,
    qualified,
    spread,
    unfit,
)
from sandbox.record.manifest import Adjustment
from sandbox.record.metrics import METRICS, Metric
from sandbox.record.record import Record, Status
from sandbox.record.trial import Lasted

NoiseSource = Literal["calibrated", "canary, noisier than calibrated", "canary", "unknown"]
Noise = tuple[NoiseSource, float | None]
"""Where a margin comes from, and the standard deviation behind it if known; ``canary``: the host is
not calibrated.
"""
Known = Mapping[str, Mapping[str, float]]
"""Workload → metric → standard deviation of A/A differences; only what was calibrated."""
Series = Callable[[Record], Sequence[float]]
"""Transactions per second of a record's measured window, second by second."""
_ADJUST = {"Holm": holm, "Benjamini-Hochberg": benjamini_hochberg}


@dataclass(frozen=True, slots=True)
class Observation:
    """One run as a comparison sees it. ``changes``: why it was not steady; None: too short to be
    judged.

    ``censored``: metrics of a trial whose value is the least that it can have been.
    """

    cell: str
    block: int
    status: Status
    values: Mapping[str, float | None]
    changes: Sequence[Shift] | None = None
    workload: str = ""
    censored: Sequence[str] = ()


Unjudged = Literal["failed", "skipped", "not measured", "not run"]
_Table = Mapping[tuple[str, int], Observation]
"""By cell and block."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one metric of one pair of cells. ``judgement`` None: no block has both.

    ``workload``: the one whose noise sets the margin.
    """

    cell: str
    baseline: str
    metric: str
    judgement: Judgement | None
    missing: int
    """Blocks in which either run failed because of the environment."""
    workload: str = ""
    unjudged: Unjudged = "failed"
    """Why there is nothing to judge: no run of a cell has ended, or each was skipped, or good
    without the metric.
    """

    @property
    def word(self) -> str:
        """The verdict in a word or two; ``infra_error`` where the environment left too little to
        judge.

        ``failed``: nothing is left of a cell although the environment lost nothing.
        """
        if self.judgement is None and self.unjudged != "failed":
            return self.unjudged
        if self.missing and (self.judgement is None or self.judgement.effect.interval is None):
            return "infra_error"
        return self.judgement.word if self.judgement else self.unjudged


@dataclass(frozen=True, slots=True)
class Judged:
    """A whole result, judged. ``noise``: by workload and metric."""

    verdicts: Sequence[Verdict]
    canary: Sequence[Verdict]
    noise: Mapping[tuple[str, str], Noise]
    unfit: bool
    unsteady: Mapping[str, Sequence[Shift]] = field(default_factory=dict)
    """Cells too unsteady to compare, each with what changed in it."""
    published: Sequence[StatementOutcome] = ()
    """What was found of each published statement."""


def judge_result(
    runs: Sequence[Observation],
    pairs: Sequence[tuple[str, str]],
    canary: tuple[str, str],
    metrics: Sequence[str],
    known: Known,
    adjustment: Adjustment = "Benjamini-Hochberg",
) -> Judged:
    """Judges every pair (cell, baseline) by every metric.

    ``known``: what this host class is calibrated for. A margin takes the larger of that and the
    canary's own noise, since one measurement can be twice as noisy as another (docs/statistics.md,
    rule 7).
    """
    table = {(run.cell, run.block): run for run in runs}
    loads = {run.cell: run.workload for run in runs}
    of_canary = next((loads[cell] for cell in canary if cell in loads), "")
    own = {name: differences_of(runs, canary, name) for name in metrics}
    noise = {
        (load, name): larger_noise(known.get(load, {}).get(name), [own[name]])
        for load in dict.fromkeys([of_canary, *loads.values()])
        for name in metrics
    }

    def plain(pair: tuple[str, str], name: str, table: _Table = table) -> Verdict:

        def noise_of_load(load: str) -> float:
            sd = noise[load, name][1]
            return math.inf if sd is None else sd

        of_pair = [loads.get(cell, of_canary) for cell in pair]
        noisier = max(of_pair, key=noise_of_load)
        return _unadjusted(table, pair, METRICS[name], noisier, noise[noisier, name][1])

    canaries = [plain(canary, name, _closed(runs, name)) for name in metrics]
    bad = any(unfit(each.judgement) for each in canaries if each.judgement)
    unadjusted = [plain(pair, name) for pair in pairs for name in metrics]
    adjusted = judge_together((each.judgement for each in unadjusted), adjustment)
    shares = unsteady_shares(runs)
    verdicts = [
        replace(
            each,
            judgement=found and qualified(found, bad, [shares.get(cell, 0.0) for cell in pair]),
        )
        for each, found in zip(unadjusted, adjusted, strict=True)
        for pair in [(each.cell, each.baseline)]
    ]
    return Judged(
        verdicts,
        canaries,
        noise,
        bad,
        unsteady_cells(runs, [cell for pair in pairs for cell in pair]),
    )


def observations(records: Sequence[Record], series: Series, depth: str) -> list[Observation]:
    """One for each record of a block.

    The series of a slice is not judged: what affects all variants alike cancels within the block,
    what affects one widens the spread of its differences (docs/statistics.md, rule 4). Block 0, if
    any, is a discarded warm-up.
    """
    return [
        _observation(record, None if depth == "slices" else _changes(record, series))
        for record in records
        if record.block > 0
    ]


def _observation(record: Record, found: Sequence[Shift] | None) -> Observation:
    seen = {name: lasted(record, name) or (None, False) for name in METRICS}
    values = {name: value for name, (value, _) in seen.items()}
    censored = [name for name, (_, still_open) in seen.items() if still_open]
    return Observation(
        record.cell, record.block, record.status, values, found, record.workload.name, censored
    )


def lasted(record: Record, metric: str) -> Lasted | None:
    """A figure of a run, and whether it was still open at a trial's end; None where there is none.

    A stack that was not whole again within the limit took at least as long as it was watched.
    """
    trial = record.trial
    value = getattr(record.metrics, metric)
    if (
        trial
        and value is None
        and metric == "redundancy_ms"
        and trial.t0_ms is not None
        and trial.end_ms is not None
    ):
        return (trial.watched_ms or trial.end_ms) - trial.t0_ms, True
    censored = trial.figures.censored if trial and trial.figures else ()
    return None if value is None else (value, metric in censored)


def _changes(record: Record, series: Series) -> list[Shift] | None:
    """Changes in a good run, each with its block; None for a run that is too short."""
    found = changes(series(record)) if record.status == "ok" else None
    return found and [replace(change, block=record.block) for change in found]


def larger_noise(calibrated: float | None, canaries: Iterable[Sequence[float]]) -> Noise:
    """The largest known standard deviation between equal runs; ``canaries``: differences in the
    results at hand.

    One difference has no spread, which is not a spread of 0.
    """
    sds = [spread(each) for each in canaries if len(each) > 1]
    if calibrated is None:
        return ("canary", max(sds)) if sds else ("unknown", None)
    noisiest = max(sds, default=0.0)
    return (
        ("canary, noisier than calibrated", noisiest)
        if noisiest > calibrated
        else ("calibrated", calibrated)
    )


def differences_of(runs: Sequence[Observation], pair: tuple[str, str], metric: str) -> list[float]:
    """One difference for each block in which both cells of a pair ran, on the metric's scale.

    None where either was still open at its end: it lasted as long as it was watched, which says
    nothing of noise.
    """
    return _differences(_closed(runs, metric), pair, METRICS[metric])[0]


def _closed(runs: Sequence[Observation], metric: str) -> _Table:
    return {(run.cell, run.block): run for run in runs if metric not in run.censored}


def _unadjusted(
    table: _Table, pair: tuple[str, str], metric: Metric, load: str, noise_sd: float | None
) -> Verdict:
    differences, missing = _differences(table, pair, metric)
    if not differences:
        unjudged = why_unjudged(
            [[run for run in table.values() if run.cell == cell] for cell in pair], metric.name
        )
        return Verdict(*pair, metric.name, None, missing, load, unjudged)
    effect = effect_of(metric, differences, noise_sd)
    return Verdict(*pair, metric.name, judge(effect, effect.p), missing, load)


def why_unjudged(pair: Iterable[Sequence[Observation]], metric: str) -> Unjudged:
    """Why the runs of two cells leave nothing to judge."""
    for runs in pair:
        good = [run for run in runs if run.status == "ok"]
        if good and all(run.values.get(metric) is None for run in good):
            return "not measured"
        if all(run.status == "interrupted" for run in runs):
            return "not run"
        if all(run.status == "skipped" for run in runs):
            return "skipped"
    return "failed"


def _differences(table: _Table, pair: tuple[str, str], metric: Metric) -> tuple[list[float], int]:
    """One difference for each block in which both cells ran, and the number of blocks lost to the
    environment.
    """
    found = []
    missing = 0
    for block in sorted({block for _, block in table}):
        runs = [table.get((cell, block)) for cell in pair]
        missing += any(run is not None and run.status == "infra_error" for run in runs)
        cell, baseline = (
            run.values.get(metric.name) if run and run.status == "ok" else None for run in runs
        )
        found.append(
            None if cell is None or baseline is None else metric.difference(baseline, cell)
        )
    return [difference for difference in found if difference is not None], missing


def judge_together(
    plain: Iterable[Judgement | None], adjustment: Adjustment = "Benjamini-Hochberg"
) -> list[Judgement | None]:
    """The judgements with p adjusted for all of them; None, where there is no effect, stays."""
    plain = list(plain)
    effects = [each.effect for each in plain if each]
    adjusted = iter(_ADJUST[adjustment]([effect.p for effect in effects]))
    return [each and judge(each.effect, next(adjusted), len(effects)) for each in plain]


def unsteady_shares(runs: Sequence[Observation]) -> dict[str, float]:
    """The share of judged runs that were not steady, by cell."""
    judged: dict[str, list[bool]] = {run.cell: [] for run in runs}
    for run in runs:
        if run.changes is not None:
            judged[run.cell].append(bool(run.changes))
    return {cell: sum(each) / len(each) if each else 0.0 for cell, each in judged.items()}


def unsteady_cells(runs: Sequence[Observation], cells: Iterable[str]) -> dict[str, list[Shift]]:
    """The cells that are too unsteady to compare, each with what changed in its runs."""
    shares = unsteady_shares(runs)
    return {
        cell: list(
            dict.fromkeys(
                change for run in runs if run.cell == cell for change in run.changes or ()
            )
        )
        for cell in dict.fromkeys(cells)
        if shares.get(cell, 0.0) > UNSTEADY_SHARE
    }
