"""PURE: what goes with the verdicts of a matrix: how they were measured, what is odd, the noise."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sandbox.judge.calibration import beside_trials
from sandbox.judge.compare import Judged
from sandbox.judge.rank_tests import hodges_lehmann
from sandbox.judge.verdict import margin_of
from sandbox.record.manifest import MatrixPart, marked_blocks
from sandbox.record.metrics import METRICS, PROCESSOR_TIME
from sandbox.record.record import Record
from sandbox.report.answer import expected_notes
from sandbox.report.document import Document, Medium, Said, Section, Table, TableCell
from sandbox.report.text import figure, levels_text, make_command, varied
from sandbox.report.trial_cells import of_trials
from sandbox.report.trial_matrix import trial_notes
from sandbox.report.verdicts import (
    LOG_RANK_TEXT,
    any_open,
    unsteady_text,
)

_CALIBRATED = (*PROCESSOR_TIME, "tps", "latency_avg_ms", "latency_p95_ms", "latency_p99_ms")
_EXAMPLES = (6, 8, 16)
"""Numbers of blocks for which a calibration shows the margin."""
_MOST_CELLS = 4
"""That lost runs, named in one line."""


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
