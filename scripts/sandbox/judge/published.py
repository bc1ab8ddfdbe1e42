"""Whether runs here agree with what was published: pairs by ratio or order, curves by shape."""

import itertools
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence, Set

from sandbox.judge.compare import Known, Observation, Verdict, judge_result
from sandbox.judge.rank_tests import median_interval
from sandbox.judge.verdict import (
    FEWEST_BLOCKS,
    Agreement,
    Effect,
    StatementFinding,
    StatementOutcome,
)
from sandbox.record.manifest import MatrixPart, StatementPart
from sandbox.record.metrics import METRICS, Metric
from sandbox.record.trial import Lasted

KNEE_FACTOR = 2.0
"""A knee up to so many times higher or lower than the published one is the same."""
_Pair = tuple[str, str]
_WORDS = {
    "too noisy": "it cannot be distinguished from noise",
    "unfit": "the canary differs from itself",
    "not_steady": "the runs were not steady",
    "infra_error": "the environment failed too many runs",
    "failed": "a cell failed",
    "skipped": "a cell was skipped",
    "not run": "a cell was not run",
    "not measured": "the runs have no such value",
}
"""Verdict on a pair → why nothing follows from it."""


def outcomes_of(
    part: MatrixPart, runs: Sequence[Observation], known: Known
) -> list[StatementOutcome]:
    """What was found of every published statement, in the order of the file.

    Effects, margins and intervals are those of `judge_result`, p adjusted over the pairs of all
    statements on one metric. ``known``: what the host is calibrated for.
    """
    by_metric: dict[str, list[StatementPart]] = {}
    for statement in part.published:
        by_metric.setdefault(statement.metric, []).append(statement)
    verdicts: dict[tuple[str, _Pair], Verdict] = {}
    for metric, statements in by_metric.items():
        pairs = dict.fromkeys(pair for each in statements for pair in _pairs(each))
        judged = judge_result(runs, [*pairs], part.canary_pair, [metric], known, part.adjustment)
        verdicts.update(((metric, (each.cell, each.baseline)), each) for each in judged.verdicts)
    return [
        StatementOutcome(each, _findings(part, each, runs, verdicts)) for each in part.published
    ]


def _pairs(statement: StatementPart) -> Iterator[_Pair]:
    """The pairs that must be judged: of a curve that is to be flat, each level and the first."""
    for cell, other in statement.pairs:
        yield cell, other
    if statement.knee_at is None:
        for first, *others in statement.curves:
            for cell in others:
                yield cell, first


def _findings(
    part: MatrixPart,
    statement: StatementPart,
    runs: Sequence[Observation],
    verdicts: Mapping[tuple[str, _Pair], Verdict],
) -> list[StatementFinding]:
    metric = METRICS[statement.metric]
    if statement.pairs:
        still_open = {run.cell for run in runs if metric.name in run.censored}
        return [
            _of_pair(statement, verdicts[metric.name, (cell, other)], still_open)
            for cell, other in statement.pairs
        ]
    if statement.knee_at is None:
        return [
            _of_flat(names, [verdicts[metric.name, (cell, names[0])] for cell in names[1:]])
            for names in statement.curves
        ]
    levels = {cell.name: cell.levels[statement.over] for cell in part.cells}
    return [
        _of_knee(names, [float(levels[name]) for name in names], statement.knee_at, metric, runs)
        for names in statement.curves
    ]


def _of_pair(statement: StatementPart, verdict: Verdict, still_open: Set[str]) -> StatementFinding:
    cells = (verdict.cell, verdict.baseline)
    if still_open & {*cells}:
        return StatementFinding(
            cells, "inconclusive", "in some trials it was still open at their end"
        )
    effect = verdict.judgement.effect if verdict.judgement else None
    if effect is None:
        return StatementFinding(cells, "inconclusive", _WORDS[verdict.word])
    agreement = _agreement(statement, effect, verdict.word)
    why = _why(verdict, effect) if agreement == "inconclusive" else ""
    return _finding(cells, agreement, why, effect)


def _agreement(statement: StatementPart, effect: Effect, word: str) -> Agreement:
    """Of one pair: a ratio by whether the interval lies within it, an order by the verdict."""
    if statement.ratio is not None:
        if word in ("unfit", "not_steady") or effect.interval is None or not effect.noise_known:
            return "inconclusive"
        low, high = (math.log(end) for end in statement.ratio)
        if low <= effect.interval.low and effect.interval.high <= high:
            return "agree"
        is_apart = effect.interval.high < low or high < effect.interval.low
        return "disagree" if is_apart else "inconclusive"
    if word == "no difference":
        return "agree" if statement.order == "alike" else "disagree"
    if word not in ("better", "worse"):
        return "inconclusive"
    found = "higher" if effect.estimate > 0 else "lower"
    return "agree" if statement.order == found else "disagree"


def _why(verdict: Verdict, effect: Effect) -> str:
    if effect.interval is None:
        return f"{effect.blocks} blocks are too few: at least {FEWEST_BLOCKS} are needed"
    if not effect.noise_known:
        return "the noise of this host is unknown"
    return _WORDS.get(verdict.word, "the interval is partly within the published range")


def _finding(
    cells: tuple[str, ...], agreement: Agreement, why: str, effect: Effect
) -> StatementFinding:
    interval = effect.interval
    low = interval.low if interval else None
    high = interval.high if interval else None
    return StatementFinding(cells, agreement, why, effect.estimate, low, high, effect.blocks)


def _of_flat(names: Sequence[str], verdicts: Sequence[Verdict]) -> StatementFinding:
    """Flat: no level differs from the first one; the largest effect is shown."""
    judged = [(each, each.judgement.effect) for each in verdicts if each.judgement]
    if len(judged) < len(verdicts):
        word = next(each.word for each in verdicts if each.judgement is None)
        return StatementFinding(tuple(names), "inconclusive", _WORDS[word])
    _, effect = max(judged, key=lambda each: abs(each[1].estimate))
    if any(each.word in ("better", "worse") for each, _ in judged):
        return _finding(tuple(names), "disagree", "", effect)
    unclear = next((each for each in judged if each[0].word != "no difference"), None)
    if unclear is None:
        return _finding(tuple(names), "agree", "", effect)
    return _finding(tuple(names), "inconclusive", _why(*unclear), effect)


def _of_knee(
    names: Sequence[str],
    levels: Sequence[float],
    published: float,
    metric: Metric,
    runs: Sequence[Observation],
) -> StatementFinding:
    """The median over blocks of each block's knee. One at the last level is open: the metric may
    grow further beyond it.
    """
    ordered = sorted(zip(levels, names, strict=True))
    good = [run for run in runs if run.status == "ok"]
    table = {(run.cell, run.block): run.values.get(metric.name) for run in good}
    knees: list[Lasted] = []
    for block in sorted({block for _, block in table}):
        values = [table.get((name, block)) for _, name in ordered]
        if None not in values:
            curve = [value for value in values if value is not None]
            knees.append(knee_of([level for level, _ in ordered], curve, metric.smallest_margin))
    if not knees:
        return StatementFinding(tuple(names), "inconclusive", "no block has every level")
    median = statistics.median_low(level for level, _ in knees)
    interval = median_interval(knees)
    if interval is None:
        why = f"{len(knees)} blocks are too few: at least {FEWEST_BLOCKS} are needed"
        return StatementFinding(tuple(names), "inconclusive", why, median, blocks=len(knees))
    agreement = _agreement_on_knee(interval.low, interval.high, published)
    why = ""
    if agreement == "inconclusive" and interval.high is None:
        why = f"it grows up to the last level, {ordered[-1][0]:g}"
    elif agreement == "inconclusive":
        why = "the interval is partly near the published one"
    ends = (interval.low, interval.high)
    return StatementFinding(tuple(names), agreement, why, median, *ends, blocks=len(knees))


def knee_of(levels: Sequence[float], values: Sequence[float], margin: float) -> Lasted:
    """The lowest level from whose value no later one is higher by more than ``margin``, a share;
    and whether it is the last level, so that the knee may be beyond it.
    """
    highest_after = [*itertools.accumulate(reversed(values), max)][::-1]
    for level, value, highest in zip(levels, values, highest_after, strict=True):
        if value * (1 + margin) >= highest:
            return level, level == levels[-1]
    return levels[-1], True


def _agreement_on_knee(low: float, high: float | None, published: float) -> Agreement:
    least = published / KNEE_FACTOR
    most = published * KNEE_FACTOR
    if high is not None and least <= low and high <= most:
        return "agree"
    is_apart = low > most or (high is not None and high < least)
    return "disagree" if is_apart else "inconclusive"
