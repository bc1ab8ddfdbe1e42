"""PURE: the verdicts on a matrix as a table for a terminal of 100 columns, and as data."""

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sandbox.report.answer import answer
from sandbox.report.processor_time import CAPTION, TITLE, asked_first, processor_header, processor_rows
from sandbox.report.text_table import text_table
from sandbox.report.unsteady_text import unsteady_text
from sandbox.results.compare import Judged, Verdict
from sandbox.results.manifest import MatrixPart, marked_blocks
from sandbox.results.record import Record
from sandbox.results.statistics.metrics import METRICS, Metric
from sandbox.results.statistics.verdict import Effect, Judgement
from sandbox.results.unpaired import UnpairedVerdict

WIDTH = 100
FIGURES = ("effect", "95 % interval", "n", "adj. p", "verdict")
WIDE_FIGURES = ("effect", "95 % interval", "n", "adj. p", "MDE", "verdict")
MDE_TEXT = "MDE: the smallest difference that this many blocks detect with 80 % power"


def verdict_lines(part: MatrixPart, judged: Judged, records: Sequence[Record] = ()) -> list[str]:
    """Question, one table per metric, the canary, processor time, and what was left out or could not run."""
    baseline = ", ".join(f"{factor} {level}" for factor, level in part.baseline.items())
    factors = [factor for factor, levels in part.factors.items() if len(levels) > 1]
    levels = {cell.name: [cell.levels.get(factor, "") for factor in factors] for cell in part.cells}
    lines = [part.question, *textwrap.wrap(answer(part, judged), WIDTH), ""]
    lines += [f"Each cell against {baseline}, all other levels equal.", ""]
    lines += _processor_time(part, records) if asked_first(part) else []
    for name in part.metrics:
        verdicts = [verdict for verdict in judged.verdicts if verdict.metric == name]
        rows = [[*levels[verdict.cell], *figures(verdict)] for verdict in verdicts]
        rows += [
            [*canary_levels(part, factors, levels[verdict.baseline]), *figures(verdict)]
            for verdict in judged.canary
            if verdict.metric == name
        ]
        lines += wrapped(f"{name}   {margin_text(name, judged)}")
        lines += [f"  {line}" for line in text_table([*factors, *FIGURES], rows)]
        lines.append("")
    lines += [] if asked_first(part) else _processor_time(part, records)
    seen = any("no difference" in verdict.word for verdict in judged.verdicts)
    sees = ["sees: the smallest difference that this many blocks detect with 80 % power"] if seen else []
    return [*lines, *sees, *(line for note in notes(part, judged) for line in wrapped(note))]


def _processor_time(part: MatrixPart, records: Sequence[Record]) -> list[str]:
    rows = processor_rows(part, records)
    table = [f"  {line}" for line in text_table(processor_header(part), rows)]
    return [*wrapped(f"{TITLE}   {CAPTION}"), *table, ""] if rows else []


def verdict_data(part: MatrixPart, judged: Judged) -> dict[str, Any]:
    """The same as JSON data; effects as shares of the baseline for ratios, else in the metric's unit."""
    return {
        "matrix": part.name,
        "question": part.question,
        "unfit": judged.unfit,
        "unsteady": {cell: [asdict(change) for change in changes] for cell, changes in judged.unsteady.items()},
        "noise": noise_data(judged.noise),
        "verdicts": [_data(verdict) for verdict in judged.verdicts],
        "canary": [_data(verdict) for verdict in judged.canary],
        "skipped": {cell.name: cell.skipped for cell in part.cells if cell.skipped},
        "left_out": part.left_out,
        "marked_blocks": marked_blocks(part.host_checks),
    }


def wrapped(note: str) -> list[str]:
    """A note as lines that fit, names unbroken."""
    return textwrap.wrap(note, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def canary_levels(part: MatrixPart, factors: Sequence[str], levels: Sequence[str]) -> list[str]:
    """The levels of the canary: it is the baseline, so factors that the baseline sets show ``canary``."""
    return ["canary" if factor in part.baseline else level for factor, level in zip(factors, levels, strict=True)]


def figures(verdict: Verdict) -> Sequence[str]:
    """A verdict's figures as text, under the headings of FIGURES."""
    metric = METRICS[verdict.metric]
    if verdict.judgement is None:
        return ("", "", "0", "", with_lost(verdict.word, verdict.missing, "blocks"))
    effect = verdict.judgement.effect
    return (
        shown(metric, effect.estimate),
        interval_text(effect, "fewer than 6 blocks"),
        str(effect.blocks),
        p_text(verdict.judgement.adjusted_p),
        word_text(verdict.word, verdict.judgement, ""),
    )


def with_lost(word: str, lost: int, units: str) -> str:
    """The verdict on a comparison that cannot be judged; ``lost``: units lost to the environment."""
    return f"{word} ({lost} {units} lost)" if lost else word


def interval_text(effect: Effect, otherwise: str) -> str:
    """``-30.1% … -28.0%``; without an interval ``otherwise``, the reason."""
    low_high = effect.interval and (effect.interval.low, effect.interval.high)
    return " … ".join(shown(effect.metric, end) for end in low_high) if low_high else otherwise


def wide_figures(verdict: Verdict) -> Sequence[str]:
    """The same where there is room: the smallest detectable effect stands next to every verdict."""
    *text, word = figures(verdict)
    if verdict.judgement is None:
        return (*text, "", word)
    effect = verdict.judgement.effect
    seen = shown(effect.metric, effect.detectable).lstrip("+") if math.isfinite(effect.detectable) else ""
    return (*text, seen, verdict.word if verdict.word == "no difference" else word)


def p_text(p: float) -> str:
    """A probability with three digits."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def word_text(word: str, judgement: Judgement, of_what: str) -> str:
    """The verdict; with "no difference" the smallest detectable effect, with "too noisy" the blocks needed.

    ``of_what``: "a side" instead of blocks where runs are unpaired.
    """
    effect = judgement.effect
    if word == "no difference" and math.isfinite(effect.detectable):
        return f"no difference (sees {shown(effect.metric, effect.detectable).lstrip('+')})"
    if word == "too noisy" and judgement.blocks_needed:
        return f"too noisy (needs {judgement.blocks_needed} {of_what or 'blocks'})"
    return word


def shown(metric: Metric, effect: float) -> str:
    """An effect as text: a share for a ratio, else a figure with its unit."""
    value = metric.shown(effect)
    return f"{value:+.1%}" if metric.scale == "ratio" else f"{value:+.4g} {metric.unit}"


def noise_data(noise: Mapping[tuple[str, str], tuple[str, float]]) -> list[dict[str, Any]]:
    """Where the margins come from, as JSON data: one entry for each workload and metric."""
    return [
        {"workload": load, "metric": name, "from": source, "sd": sd} for (load, name), (source, sd) in noise.items()
    ]


def margin_text(name: str, judged: Judged) -> str:
    """The smallest difference that counts, and where that comes from; by workload where there are several."""
    verdicts = [each for each in judged.verdicts if each.metric == name]
    return margins_by_workload(verdicts, "blocks", judged.noise)


def margins_by_workload(
    verdicts: Sequence[Verdict] | Sequence[UnpairedVerdict],
    units: str,
    noise: Mapping[tuple[str, str], tuple[str, float]],
) -> str:
    """The same for verdicts on one metric; ``units``: what was counted, blocks or runs."""
    effects: dict[tuple[str, str], list[Effect]] = {}
    for each in verdicts:
        if each.judgement:
            effects.setdefault((each.workload, each.metric), []).append(each.judgement.effect)
    message = {key[0]: margins_text(found, units, _source(*noise[key])) for key, found in effects.items()}
    known = {load: text for load, text in message.items() if text}
    return "; ".join(f"{load}: {text}" if len(known) > 1 else text for load, text in known.items())


def _source(source: str, sd: float) -> str:
    return "noise unknown" if source == "unknown" else f"{source}, sd {sd:.3g}"


def margins_text(effects: Iterable[Effect], units: str, source: str) -> str:
    """The smallest difference that counts, by blocks (or runs) where cells have lost some; empty where none can."""
    margins = {each.blocks: shown(each.metric, each.margin).lstrip("+") for each in effects if each.interval}
    if not margins:
        return ""
    most, fewest = max(margins), min(margins)
    text = (
        margins[most] if most == fewest else f"{margins[most]} ({most} {units}) to {margins[fewest]} ({fewest} {units})"
    )
    return f"smallest difference that counts: {text} ({source})"


def calibrate_commands(part: MatrixPart, judged: Judged) -> list[str]:
    """Commands that calibrate this host for these runs where it is not calibrated: one for each workload."""
    asked = {each.workload: part.canary_workload or each.workload for each in judged.canary}  # a file by its path
    loads = {load for (load, _), (source, _) in judged.noise.items() if source == "canary"}
    words = sorted(asked.get(load, load) for load in loads)
    return [f"make calibrate{f' WORKLOAD={word}' if word else ''} SECONDS={part.seconds}" for word in words]


def notes(part: MatrixPart, judged: Judged) -> list[str]:
    """Notes on the figures: noise, marked blocks, what was left out or could not run."""
    text = []
    if judged.unfit:
        text.append("UNFIT: the canary, which is the baseline against itself, differs; no verdicts")
    if commands := calibrate_commands(part, judged):
        text.append(f"not calibrated: the canary's own noise sets the margin   ({'; '.join(commands)})")
    text += [f"not steady: {cell}: {changed}" for cell, changed in unsteady_text(judged.unsteady).items()]
    text += host_check_notes(part)
    text += [f"left out: {factor} {', '.join(levels)}" for factor, levels in part.left_out.items()]
    reasons: dict[str, list[str]] = {}
    for cell in part.cells:
        if cell.skipped:
            reasons.setdefault(cell.skipped, []).append(cell.name)
    return [*text, *(f"skipped: {', '.join(names)}: {reason}" for reason, names in reasons.items())]


def host_check_notes(part: MatrixPart) -> list[str]:
    """One note for all blocks before which the machine was faster or slower than usual; none where it never was."""
    blocks = [f"{block} ({off})" for block, off in marked_blocks(part.host_checks).items()]
    return [f"host check out of range before block {'; '.join(blocks)}"] if blocks else []


def _data(verdict: Verdict) -> dict[str, Any]:
    metric, judgement = METRICS[verdict.metric], verdict.judgement
    text: dict[str, Any] = {
        "cell": verdict.cell, "baseline": verdict.baseline, "metric": verdict.metric, "verdict": verdict.word,
        "missing_blocks": verdict.missing,
    }  # fmt: skip
    if judgement is None:
        return text
    effect, interval = judgement.effect, judgement.effect.interval
    return text | {
        "effect": metric.shown(effect.estimate),
        "interval_95": [metric.shown(interval.low), metric.shown(interval.high)] if interval else None,
        "blocks": effect.blocks,
        "p": effect.p,
        "adjusted_p": judgement.adjusted_p,
        "margin": metric.shown(effect.margin),
        "detectable": metric.shown(effect.detectable) if math.isfinite(effect.detectable) else None,
        "blocks_needed": judgement.blocks_needed,
    }  # fmt: skip
