"""PURE: verdicts as text and as data: figures, margins, open trials; a judged matrix as data."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sandbox.judge.changes import Shift
from sandbox.judge.compare import Judged, Noise, Verdict
from sandbox.judge.open_trials import Bounds, CensoredVerdict
from sandbox.judge.verdict import Effect, Judgement
from sandbox.record.manifest import MatrixPart, marked_blocks
from sandbox.record.metrics import METRICS, Metric
from sandbox.record.record import Record
from sandbox.report.answer import expected_data
from sandbox.report.published import published_data
from sandbox.report.text import figure, p_text, shown, varied

LOG_RANK = "log-rank p"
_OPEN = "open"
LOG_RANK_TEXT = (
    "censored: in trials of the pair the figure was still open (writes not back, or never"
    " acknowledged), so the log-rank test decides; the effect is a bound that holds however long"
    " they would have lasted"
)
FIGURES = ("effect", "95 % interval", "n", "adj. p", "verdict")
MDE_TEXT = "MDE: the smallest difference that this many blocks detect with 80 % power"


def any_open(judged: Judged) -> bool:
    """Whether trials of any compared pair were open at their end."""
    return any(isinstance(each, CensoredVerdict) for each in [*judged.verdicts, *judged.canary])


def log_rank_text(verdict: Verdict) -> str:
    """The p of the log-rank test; empty for a pair without open trials."""
    return p_text(verdict.p) if isinstance(verdict, CensoredVerdict) else ""


def censored_figures(verdict: CensoredVerdict, too_few: str) -> tuple[str, str, str, str, str]:
    """Effect, interval, blocks, adjusted p, and the word with the number of open trials."""
    judgement = verdict.judgement
    blocks = str(judgement.effect.blocks) if judgement else "0"
    p = p_text(judgement.adjusted_p) if judgement else ""
    size, ends = bounds_text(verdict.metric, verdict.size, verdict.interval, too_few)
    return size, ends, blocks, p, f"{verdict.word} ({open_text(verdict)})"


def bounds_text(name: str, size: Bounds, interval: Bounds | None, too_few: str) -> tuple[str, str]:
    """An effect and its interval with open trials."""
    metric, ends = METRICS[name], (interval.low, interval.high) if interval else ()
    return (
        _size_text(metric, size),
        " … ".join(_OPEN if end is None else shown(metric, end) for end in ends) or too_few,
    )


def open_text(verdict: CensoredVerdict) -> str:
    """``3 open``; ``3 + 1 open`` where the baseline has some too."""
    own, base = verdict.open_trials
    return f"{own} + {base} open" if base else f"{own} open"


def _size_text(metric: Metric, size: Bounds) -> str:
    if size.low is None or size.high is None:
        if size.low is not None:
            return f"at least {shown(metric, size.low)}"
        return f"at most {shown(metric, size.high)}" if size.high is not None else _OPEN
    low, high = shown(metric, size.low), shown(metric, size.high)
    return low if low == high else f"{low} … {high}"


def censored_data(verdict: CensoredVerdict) -> dict[str, Any]:
    """What replaces the effect in the JSON data."""
    return bounds_data(verdict.metric, verdict.size, verdict.interval) | {
        "log_rank_p": verdict.p,
        "open_trials": {"cell": verdict.open_trials[0], "baseline": verdict.open_trials[1]},
    }


def bounds_data(name: str, size: Bounds, interval: Bounds | None) -> dict[str, Any]:
    """An effect and its interval with open trials: null is no bound."""
    shown_of = METRICS[name].shown
    ends = [[end if end is None else shown_of(end) for end in (each.low, each.high)]
            for each in (size, interval or Bounds(None, None))]  # fmt: skip
    return {
        "effect": None,
        "interval_95": None if interval is None else ends[1],
        "effect_between": ends[0],
        "detectable": None,
    }


@dataclass(frozen=True, slots=True)
class Units:
    """What a comparison counts, and what its figures say: how many are needed, and that there are
    too few.
    """

    counted: str
    lost: str
    needed: str
    too_few: str


BLOCKS = Units("blocks", "blocks", "blocks", "fewer than 6 blocks")


RUNS = Units("runs a side", "runs", "a side", "too few runs")


def with_levels(
    part: MatrixPart, judged: Judged, metric: str
) -> Sequence[Sequence[tuple[list[str], Verdict]]]:
    """The verdicts on one metric, then those on the canary, each with its levels of the varied
    factors.

    The canary is the baseline, so factors that the baseline sets show ``canary``.
    """
    factors = varied(part)
    levels = {cell.name: [cell.levels.get(factor, "") for factor in factors] for cell in part.cells}
    canary = {
        name: [
            "canary" if factor in part.baseline else level
            for factor, level in zip(factors, own, strict=True)
        ]
        for name, own in levels.items()
    }
    return (
        [(levels[each.cell], each) for each in judged.verdicts if each.metric == metric],
        [(canary[each.baseline], each) for each in judged.canary if each.metric == metric],
    )


def figures(verdict: Verdict, log_rank: bool = False) -> Sequence[str]:
    """A verdict's figures as text, under the headings of FIGURES; ``log_rank``: with that p before
    the word.
    """
    if isinstance(verdict, CensoredVerdict):
        *text, word = censored_figures(verdict, BLOCKS.too_few)
    else:
        n = str(verdict.judgement.effect.blocks) if verdict.judgement else "0"
        *text, word = figures_text(verdict.judgement, verdict.word, n, verdict.missing, BLOCKS)
    return (*text, *([log_rank_text(verdict)] if log_rank else []), word)


def figures_text(
    judgement: Judgement | None, word: str, n: str, lost: int, units: Units
) -> Sequence[str]:
    """The same for any comparison. ``lost``: runs or blocks that the environment took, where
    nothing can be judged.

    A verdict of "no difference" has the smallest detectable effect with it, "too noisy" what would
    be needed.
    """
    if judgement is None:
        return ("", "", n, "", f"{word} ({lost} {units.lost} lost)" if lost else word)
    effect, interval = judgement.effect, judgement.effect.interval
    ends = (
        [shown(effect.metric, end) for end in (interval.low, interval.high)]
        if interval
        else [units.too_few]
    )
    if word == "no difference" and math.isfinite(effect.detectable):
        word = f"no difference (sees {shown(effect.metric, effect.detectable).lstrip('+')})"
    if word == "too noisy" and judgement.blocks_needed:
        word = f"too noisy (needs {judgement.blocks_needed} {units.needed})"
    return (
        shown(effect.metric, effect.estimate),
        " … ".join(ends),
        n,
        p_text(judgement.adjusted_p),
        word,
    )


def wide_figures(verdict: Verdict, log_rank: bool = False) -> Sequence[str]:
    """The same where there is room: the smallest detectable effect stands next to every verdict."""
    *text, word = figures(verdict)
    beside = [log_rank_text(verdict)] if log_rank else []
    if verdict.judgement is None or isinstance(verdict, CensoredVerdict):
        return (*text, "", *beside, word)
    effect = verdict.judgement.effect
    seen = (
        shown(effect.metric, effect.detectable).lstrip("+")
        if math.isfinite(effect.detectable)
        else ""
    )
    return (*text, seen, *beside, verdict.word if verdict.word == "no difference" else word)


def margin_text(name: str, judged: Judged) -> str:
    """The smallest difference that counts, and where that comes from; by workload where there are
    several.
    """
    verdicts = [each for each in judged.verdicts if each.metric == name]
    return margins_by_workload(verdicts, BLOCKS, judged.noise)


def margins_by_workload(
    verdicts: Sequence[Verdict], units: Units, noise: Mapping[tuple[str, str], Noise]
) -> str:
    """The same for verdicts on one metric."""
    effects: dict[tuple[str, str], list[Effect]] = {}
    for each in verdicts:
        if each.judgement:
            effects.setdefault((each.workload, each.metric), []).append(each.judgement.effect)
    texts = {
        load: _margins_text(found, units, *noise[load, name])
        for (load, name), found in effects.items()
    }
    known = {load: text for load, text in texts.items() if text}
    return "; ".join(f"{load}: {text}" if len(known) > 1 else text for load, text in known.items())


def _margins_text(effects: Iterable[Effect], units: Units, source: str, sd: float | None) -> str:
    """By blocks (or runs) where cells have lost some; empty where no difference can count."""
    margins = {
        each.blocks: shown(each.metric, each.margin).lstrip("+")
        for each in effects
        if each.interval
    }
    if not margins:
        return ""
    ends = [
        f"{margins[blocks]} ({blocks} {units.counted})" for blocks in (max(margins), min(margins))
    ]
    known = "at least, noise unknown" if sd is None else f"{source}, sd {figure(sd, digits=3)}"
    text = " to ".join(ends) if len(margins) > 1 else next(iter(margins.values()))
    return f"smallest difference that counts: {text} ({known})"


def unsteady_text(unsteady: Mapping[str, Sequence[Shift]]) -> dict[str, str]:
    """By cell: ``tps, relative to its mean: +48% within block 6``.

    A drift is shown only without a step: a series that steps also has a slope.
    """
    text = {}
    for cell, changes in unsteady.items():
        known = [change for change in changes if change.kind == "step"] or changes
        words = {"drift": "drifts by ", "step": ""}
        shifts = (
            f"{words[each.kind]}{each.share:+.0%} within block {each.block}" for each in known
        )
        text[cell] = f"tps, relative to its mean: {', '.join(shifts)}"
    return text


def verdict_data(
    part: MatrixPart, judged: Judged, records: Sequence[Record] = ()
) -> dict[str, Any]:
    """The same as JSON data; effects as shares of the baseline for ratios, else in the metric's
    unit.
    """
    return {
        "matrix": part.name,
        "question": part.question,
        "unfit": judged.unfit,
        "unsteady": unsteady_data(judged.unsteady),
        "noise": noise_data(judged.noise),
        "verdicts": [_data(verdict) for verdict in judged.verdicts],
        "canary": [_data(verdict) for verdict in judged.canary],
        "expected": expected_data(part, records),
        "published": published_data(judged),
        "skipped": {cell.name: cell.skipped for cell in part.cells if cell.skipped},
        "left_out": part.left_out,
        "marked_blocks": marked_blocks(part.host_checks),
    }


def unsteady_data(unsteady: Mapping[str, Sequence[Shift]]) -> dict[str, Any]:
    """What changed in cells too unsteady to compare, as JSON data."""
    return {cell: [asdict(change) for change in changes] for cell, changes in unsteady.items()}


def noise_data(noise: Mapping[tuple[str, str], Noise]) -> list[dict[str, Any]]:
    """Where the margins come from, as JSON data: one entry for each workload and metric."""
    return [
        {"workload": load, "metric": name, "from": source, "sd": sd}
        for (load, name), (source, sd) in noise.items()
    ]


def _data(verdict: Verdict) -> dict[str, Any]:
    text: dict[str, Any] = {
        "cell": verdict.cell,
        "baseline": verdict.baseline,
        "metric": verdict.metric,
        "verdict": verdict.word,
        "missing_blocks": verdict.missing,
    }
    censored = censored_data(verdict) if isinstance(verdict, CensoredVerdict) else {}
    return text | judgement_data(verdict.judgement, BLOCKS) | censored


def effect_data(effect: Effect | None) -> dict[str, Any]:
    """An effect and its interval, as shares of the baseline or in the metric's unit."""
    found = effect and effect.interval
    return {
        "effect": effect.metric.shown(effect.estimate) if effect else None,
        "interval_95": (
            [effect.metric.shown(end) for end in (found.low, found.high)]
            if effect and found
            else None
        ),
    }


def judgement_data(judgement: Judgement | None, units: Units) -> dict[str, Any]:
    """An effect, p, the effects that would count and that would have been detected; empty where
    nothing was judged.
    """
    if judgement is None:
        return {}
    effect, display = judgement.effect, judgement.effect.metric.shown
    return effect_data(effect) | {
        **({"blocks": effect.blocks} if units is BLOCKS else {}),
        "p": effect.p,
        "adjusted_p": judgement.adjusted_p,
        "margin": display(effect.margin),
        "detectable": display(effect.detectable) if math.isfinite(effect.detectable) else None,
        "blocks_needed" if units is BLOCKS else "runs_needed": judgement.blocks_needed,
    }
