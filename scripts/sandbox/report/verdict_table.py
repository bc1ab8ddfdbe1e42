"""PURE: the figures, margins and notes of verdicts as text, and a judged matrix as data."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sandbox.judge.calibration import beside_trials
from sandbox.judge.changes import Shift
from sandbox.judge.compare import Judged, Noise, Verdict
from sandbox.judge.open_trials import CensoredVerdict
from sandbox.judge.rank_tests import hodges_lehmann
from sandbox.judge.verdict import Effect, Judgement, margin_of
from sandbox.record.manifest import MatrixPart, marked_blocks
from sandbox.record.metrics import METRICS, PROCESSOR_TIME
from sandbox.record.record import Record
from sandbox.report.answer import expected_data, expected_notes
from sandbox.report.censored_text import (
    LOG_RANK_TEXT,
    any_open,
    censored_data,
    censored_figures,
    log_rank_text,
)
from sandbox.report.document import Document, Medium, Said, Section, Table, TableCell
from sandbox.report.text import figure, levels_text, make_command, p_text, shown, varied
from sandbox.report.trial_cells import of_trials
from sandbox.report.trial_matrix import trial_notes

FIGURES = ("effect", "95 % interval", "n", "adj. p", "verdict")
MDE_TEXT = "MDE: the smallest difference that this many blocks detect with 80 % power"
_CALIBRATED = (*PROCESSOR_TIME, "tps", "latency_avg_ms", "latency_p95_ms", "latency_p99_ms")
_EXAMPLES = (6, 8, 16)
"""Numbers of blocks for which a calibration shows the margin."""
_MOST_CELLS = 4
"""That lost runs, named in one line."""


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


def how(part: MatrixPart, records: Sequence[Record]) -> str:
    """Order, estimator, servers and host, in a few sentences."""
    versions = sorted(
        {node.server_version for record in records for node in record.nodes if node.server_version}
    )
    by_work = {record.metrics.catch_up_s is not None for record in records if record.counts}
    length = "until their work is done" if by_work == {True} else f"of {part.seconds} s"
    also = ", or until their work is done," if len(by_work) > 1 else ""
    runs = f"runs {length}{also} after {part.warmup_s} s of warm-up"
    if of_trials(records):
        runs = (
            "in each a trial of every cell on a fresh stack, pairs with open trials by the log-rank"
            " test"
        )
    return (
        f"{part.blocks} randomized blocks (seed {part.seed}), depth {part.depth}, {runs}; "
        f"each cell against {levels_text(part.baseline)}, all other levels equal, "
        f"paired by block: Hodges-Lehmann, exact 95 % interval, p adjusted ({part.adjustment}). "
        f"Servers: {'; '.join(versions) or 'unknown'}. Host: {part.host_class}."
    )


def again(part: MatrixPart, command: Sequence[str]) -> str:
    """The command as typed, with the seed that was drawn."""
    return make_command(command, {"SEED": str(part.seed)})


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


def calibrate_commands(
    part: MatrixPart, judged: Judged, records: Sequence[Record] = ()
) -> list[str]:
    """Commands that calibrate this host for these runs where it is not calibrated: one for each
    workload.

    None for trials and for metrics that two runs of one server do not have.
    """
    # A file by its path.
    asked = {each.workload: part.canary_workload or each.workload for each in judged.canary}
    unknown = {
        load
        for (load, metric), (source, _) in judged.noise.items()
        if source == "canary" and METRICS[metric].of_one_server
    }
    loads = unknown - beside_trials(records)
    words = sorted(asked.get(load, load) for load in loads)
    return [
        f"make calibrate{f' WORKLOAD={word}' if word else ''} SECONDS={part.seconds}"
        for word in words
    ]


def matrix_notes(part: MatrixPart, judged: Judged, records: Sequence[Record] = ()) -> list[str]:
    """Notes on the figures: few trials, noise, marked blocks, what was left out or could not
    run.
    """
    text = [
        *expected_notes(part, records),
        *trial_notes(part, records),
        *([LOG_RANK_TEXT] if any_open(judged) else []),
    ]
    if judged.unfit:
        text.append("UNFIT: the canary, which is the baseline against itself, differs; no verdicts")
    if commands := calibrate_commands(part, judged, records):
        text.append(
            f"not calibrated: the canary's own noise sets the margin   ({'; '.join(commands)})"
        )
    effects = [each.judgement.effect for each in judged.verdicts if each.judgement]
    unknown = dict.fromkeys(effect.metric.name for effect in effects if not effect.noise_known)
    if unknown:
        text.append(
            f"no canary for {', '.join(unknown)}: the noise is unknown, so nothing is better or"
            " worse"
        )
    text += [
        f"not steady: {cell}: {changed}" for cell, changed in unsteady_text(judged.unsteady).items()
    ]
    text += host_check_notes(part)
    text += [f"left out: {factor} {', '.join(levels)}" for factor, levels in part.left_out.items()]
    reasons: dict[str, list[str]] = {}
    for cell in part.cells:
        if cell.skipped:
            reasons.setdefault(cell.skipped, []).append(cell.name)
    return [*text, *(f"skipped: {', '.join(names)}: {reason}" for reason, names in reasons.items())]


def host_check_notes(part: MatrixPart) -> list[str]:
    """One note for all blocks before which the machine was faster or slower than usual; none where
    it never was.
    """
    blocks = [f"{block} ({off})" for block, off in marked_blocks(part.host_checks).items()]
    return [f"host check out of range before block {'; '.join(blocks)}"] if blocks else []


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


def lost_runs(part: MatrixPart, records: Sequence[Record]) -> list[str]:
    """One line for each status and variant, or reason to skip: number of runs, their cells, the
    reason of the first.

    ``2 runs infra_error (variant-router.threads-256, …): the proxy does not share server
    connections: …``
    """
    variant_of = {cell.name: cell.variant for cell in part.cells}
    lost: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record.status in ("failed", "infra_error", "skipped"):
            variant = variant_of.get(record.cell, record.cell)
            alike = record.reason or "" if record.status == "skipped" else variant
            lost.setdefault((record.status, alike), []).append(record)
    lines = []
    for (status, _), runs in lost.items():
        cells = list(dict.fromkeys(run.cell for run in runs))
        named = ", ".join([*cells[:_MOST_CELLS], *(["…"] if len(cells) > _MOST_CELLS else [])])
        count = f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}"
        lines.append(f"{count} {status} ({named}): {runs[0].reason or 'no reason given'}")
    return lines


def asked_first(part: MatrixPart) -> bool:
    """Whether the first metric of the matrix is processor time."""
    return part.metrics[0] in PROCESSOR_TIME


def processor_table(part: MatrixPart, records: Sequence[Record]) -> list[list[str]]:
    """Headings, then for each cell with any figure its levels and one for each kind of node; empty
    without figures.
    """
    factors, data = varied(part), processor_data(part, records)
    rows = [
        [
            *(cell.levels[factor] for factor in factors),
            *("" if value is None else figure(value) for value in data[cell.name].values()),
        ]
        for cell in part.cells
        if any(value is not None for value in data[cell.name].values())
    ]
    return [[*factors, *(name.partition("_")[0] for name in PROCESSOR_TIME)], *rows] if rows else []


def processor_data(
    part: MatrixPart, records: Sequence[Record]
) -> dict[str, dict[str, float | None]]:
    """Processor time per transaction by cell and metric, null where there is no such figure."""
    found = {metric: middles(records, metric) for metric in PROCESSOR_TIME}
    return {
        cell.name: {metric: found[metric].get(cell.name) for metric in PROCESSOR_TIME}
        for cell in part.cells
    }


def middles(records: Iterable[Record], metric: str) -> dict[str, float]:
    """By cell, the pseudo-median (Hodges-Lehmann) of the runs that count and have the metric."""
    values: dict[str, list[float]] = {}
    for record in records:
        value = getattr(record.metrics, metric)
        if record.counts and value is not None:
            values.setdefault(record.cell, []).append(value)
    return {cell: hodges_lehmann(found) for cell, found in values.items()}


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


def calibration_document(kind: str, pairs: int, sds: Mapping[str, float]) -> Document:
    """The noise that a calibration found: by metric the sd of one pair, and from which difference
    on one counts.
    """
    names = [name for name in _CALIBRATED if name in sds and METRICS[name].scale == "ratio"]
    margins = [f"margin, n = {blocks}" for blocks in _EXAMPLES]
    table = Table.of(
        ("metric", "sd of one pair", *margins),
        [_noise_row(name, sds[name]) for name in names],
        title=f"{kind}, {pairs} pairs",
        note="margin: from which difference on one counts with n blocks",
        numbers=1 + len(margins),
    )
    return Document(Said("Noise of this host", Medium.PAPER), [Section([table])])


def _noise_row(name: str, sd: float) -> list[str | TableCell]:
    metric = METRICS[name]
    margins = [metric.shown(margin_of(metric, sd, blocks)) for blocks in _EXAMPLES]
    cells = [TableCell(f"{margin:.1%}", margin) for margin in margins]
    return [name, TableCell(f"{sd:.3f}", sd), *cells]


def calibration_data(kind: str, pairs: int, sds: Mapping[str, float], file: str) -> dict[str, Any]:
    """The same as JSON data. ``file``: where it is kept."""
    return {"kind": kind, "pairs": pairs, "sd": dict(sds), "file": file}
