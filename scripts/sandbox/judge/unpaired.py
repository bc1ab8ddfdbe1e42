"""Two results → comparisons: cells matched by their levels, runs compared without pairs, and what
else differs.
"""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
from sandbox.judge.rank_tests import rank_sum_interval, rank_sum_p, shift
from sandbox.judge.survival import Lasted, censored_median
from sandbox.judge.variants import differences as variable_differences
from sandbox.judge.verdict import Effect, judge, margin_of, qualified, spread
from sandbox.record.manifest import Manifest
from sandbox.record.metrics import METRICS, Metric
from sandbox.record.record import Environment, Inputs, Record

PRIMARY = {
    "bench": ("tps", "latency_p95_ms", "server_cpu_ms_per_tx"),
    "trial": ("rto_ms",),
}
"""Kind of a single run → its primary metrics."""
_HOST = tuple(
    name
    for name in Environment.model_fields
    if name not in ("data_file_system", "during", "inputs")
)
LOAD = (
    "threads",
    "seconds",
    "warmup_s",
    "tables",
    "rows_per_table",
    "distribution",
    "rate_per_s",
    "options",
    "file_sha256",
)
"""Besides the name, what must match for two runs to have had the same load."""
_PLAN = ("depth", "warmup_s", "seconds", "blocks")
_Fact = tuple[str, Any, Any]
"""What, its value in A, and in B."""
_NODE = ("server_version", "package_version", "image", "image_id", "digest")


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
            for name in PRIMARY[self.manifest.kind]
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
    """The same for B's cell against A's. ``judgement`` None: a side has no run that was ok.

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


@dataclass(frozen=True, slots=True)
class Difference:
    """``what`` has one value in A and another in B; None where it is unknown or absent."""

    what: str
    first: str | None
    second: str | None


@dataclass(frozen=True, slots=True)
class Differences:
    """``variables``: effective variables of servers; all else in ``others``, the most important
    first.
    """

    others: Sequence[Difference]
    variables: Sequence[Difference]


def differences_between(first: ResultSide, second: ResultSide) -> Differences:
    """Everything that differs; one run represents each matched cell."""
    pairs = [(_one(first, cell), _one(second, other)) for cell, other in matched(first, second)]
    seen = [(ours, theirs) for ours, theirs in pairs if ours and theirs]
    plan, other = first.manifest.matrix, second.manifest.matrix
    facts: list[_Fact] = [
        ("commit of this tool", first.manifest.tool_commit, second.manifest.tool_commit),
        ("profile", first.manifest.profile, second.manifest.profile),
        ("host class", first.host_class, second.host_class),
        *((f"host: {name}", _joined(first, name), _joined(second, name)) for name in _HOST),
        *(
            (f"plan: {name}", getattr(plan, name), getattr(other, name))
            for name in _PLAN
            if plan and other
        ),
        *(each for ours, theirs in seen for each in _run(ours, theirs)),
    ]
    others = [
        Difference(what, text_of(ours), text_of(theirs))
        for what, ours, theirs in facts
        if ours != theirs
    ]
    variables = [
        Difference(f"{each.server}: {each.variable}", each.baseline, each.variant)
        for ours, theirs in seen
        for each in variable_differences(ours.variables, theirs.variables)
    ]
    return Differences(list(dict.fromkeys(others)), list(dict.fromkeys(variables)))


def _one(side: ResultSide, cell: str) -> Record | None:
    return next((each for each in side.records if each.cell == cell and each.nodes), None)


def _joined(side: ResultSide, name: str) -> str | None:
    """What the machines that could be asked report, if anything."""
    values = {
        getattr(each.environment, name) for each in side.records if each.environment.engine_version
    }
    return ", ".join(sorted(str(value) for value in values if value is not None)) or None


def _run(ours: Record, theirs: Record) -> Iterator[_Fact]:
    yield from (
        (f"load: {name}", getattr(ours.workload, name), getattr(theirs.workload, name))
        for name in LOAD
    )
    around = circumstances(ours), circumstances(theirs)
    names = dict.fromkeys([*around[0], *around[1]])
    yield from ((name, around[0].get(name), around[1].get(name)) for name in names)
    there, here = ({node.name: node for node in record.nodes} for record in (theirs, ours))
    for node in dict.fromkeys([*here, *there]):
        pair = here.get(node), there.get(node)
        for name in _NODE if all(pair) else ("term",):
            yield (
                f"{node}: {name}",
                pair[0] and getattr(pair[0], name),
                pair[1] and getattr(pair[1], name),
            )
    before, after = ours.environment.inputs, theirs.environment.inputs
    yield from (
        (f"input: {name}", getattr(before, name), getattr(after, name))
        for name in Inputs.model_fields
    )


def circumstances(record: Record) -> dict[str, str]:
    """Through which entry point the load went and, of a trial, what broke and how often its prober
    wrote, as texts.
    """
    entry, trial = record.workload.entry, record.trial
    found = {"entry": entry.via} if entry else {}
    if trial is None:
        return found
    steps = [
        " ".join(
            [each.name, each.target, f"at {each.at_s:g} s", text_of(each.options) or ""]
        ).strip()
        for each in trial.steps
    ]
    return {
        **found,
        "breaks": "; ".join(steps) or "nothing",
        "probe": f"{text_of(trial.rates)}{' BEGIN … COMMIT' if trial.transaction else ''}",
    }


def text_of(value: Any) -> str | None:
    """A value as text: options as typed, None for a missing value."""
    if isinstance(value, Mapping):
        value = " ".join(f"{name}={each}" for name, each in sorted(value.items()))
    if isinstance(value, list):
        value = " ".join(map(str, value))
    return None if value in (None, "") else str(value)


def data_of(found: Differences) -> Mapping[str, Any]:
    """As plain JSON data."""
    return {
        name: [{"what": each.what, "a": each.first, "b": each.second} for each in listed]
        for name, listed in (("others", found.others), ("variables", found.variables))
    }
