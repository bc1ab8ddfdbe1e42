"""PURE: a smoke benchmark as Markdown, for a comment on a pull request."""

import statistics
from collections.abc import Sequence

from sandbox.experiment.gate import BASE, HEAD
from sandbox.report.load_text import options_text, tables_text
from sandbox.report.matrix_view import duration
from sandbox.report.smoke_report import SmokeLook, SmokeReport, shown
from sandbox.report.smoke_sentence import sentence
from sandbox.report.summary import again
from sandbox.report.verdict_table import calibrate_commands, host_check_notes
from sandbox.results.compare import Verdict
from sandbox.results.gate import BLOCKS, LARGEST_MARGIN, Finding, Outcome
from sandbox.results.manifest import MatrixPart
from sandbox.results.record import Record
from sandbox.results.statistics.metrics import METRICS
from sandbox.results.variants import differences

MOST_VARIABLES = 12
_HEADLINES: dict[Outcome, str] = {
    "no regression": "no regression",
    "worse": "worse",
    "inconclusive": "inconclusive",
    "environment": "the environment failed",
}
_COLUMNS = ("metric", BASE, HEAD, "effect", "95 % interval", "caught above", "n", "finding")


def smoke_markdown(report: SmokeReport) -> str:
    """``smoke.md``: outcome and reason, the figures of every look, what was compared, how, and how to reproduce it."""
    blocks = [f"## Smoke benchmark: {_HEADLINES[report.outcome]}", sentence(report)]
    if report.log:
        blocks.append("```text\n" + "\n".join(report.log) + "\n```")
    for name, look in zip(("First look", "Repetition: new stacks, new seed"), report.looks, strict=False):
        blocks += [f"### {name}, {look.part.blocks} blocks", _table(look)] if look.look.judged else []
    blocks += ["### What was compared", _sides(report), "### How it was measured", _how(report.looks[-1].part)]
    notes = [note for look in report.looks for note in _notes(look)]
    blocks.append("\n".join(f"- {note}" for note in [*_load(report), *dict.fromkeys(notes), *_variables(report)]))
    blocks.append("```sh\n" + again(report.looks[0].part, report.command) + "\n```")
    blocks.append("Records: " + ", ".join(f"`results/{look.result}`" for look in report.looks))
    return "\n\n".join(blocks) + "\n"


def _table(look: SmokeLook) -> str:
    judged = look.look.judged
    findings = {each.metric: each for each in look.look.findings}
    rows = [_row(look, each, each.metric, findings.get(each.metric)) for each in judged.verdicts] if judged else []
    rows += [_row(look, each, f"canary: {each.metric}") for each in judged.canary] if judged else []
    return _markdown_table(_COLUMNS, rows)


def _row(look: SmokeLook, verdict: Verdict, name: str, finding: Finding | None = None) -> list[str]:
    """``finding`` None: for a metric that decides nothing, and for the canary."""
    metric = METRICS[verdict.metric]
    values = [_median(look.records, cell, verdict.metric) for cell in (verdict.baseline, verdict.cell)]
    medians = ["" if value is None else f"{value:,.4g} {metric.unit}" for value in values]
    if verdict.judgement is None:
        return [name, *medians, "", "", "", "0", verdict.word]
    effect, interval = verdict.judgement.effect, verdict.judgement.effect.interval
    return [
        name,
        *medians,
        shown(metric, effect.estimate),
        f"{shown(metric, interval.low)} … {shown(metric, interval.high)}" if interval else "",
        f"{finding.caught:.1%}" if finding else "",
        str(effect.blocks),
        finding.word if finding else _beside(look, verdict),
    ]


def _beside(look: SmokeLook, verdict: Verdict) -> str:
    """For rows that decide nothing on their own; but a canary that differs makes the result inconclusive."""
    if verdict.cell != look.part.canary.cell or verdict.metric not in LARGEST_MARGIN:
        return "informational"
    return "differs from itself" if verdict.word in ("better", "worse") else "same"


def _median(records: Sequence[Record], cell: str, metric: str) -> float | None:
    values = [
        value
        for record in records
        if record.cell == cell and record.counts
        for value in [getattr(record.metrics, metric)]
        if value is not None
    ]
    return statistics.median(values) if values else None


def _sides(report: SmokeReport) -> str:
    rows = []
    for side in (BASE, HEAD):
        node = report.server_of(side)
        image = f"`{node.image_id or node.image}` ({node.image_source})" if node else ""
        rows.append([side, report.sides[side], image, (node.server_version if node else None) or ""])
    return _markdown_table(["", "requested", "image", "server"], rows)


def _how(part: MatrixPart) -> str:
    return (
        f"Randomized blocks of {part.seconds} s slices after {part.warmup_s} s of warm-up, after a discarded block; "
        f"base, head and canary (the base once more) each on a separate server, all up at the same time. "
        f"{BLOCKS} blocks, {BLOCKS} more on the same stacks if those are inconclusive; a worse result is repeated once "
        f"on new stacks. Paired by block: Hodges-Lehmann, exact 95 % interval. Processor time and throughput decide: "
        f"worse means an interval above zero loss and an estimate that counts, no regression an interval below a loss "
        f"that counts."
    )


def _load(report: SmokeReport) -> list[str]:
    record = next((record for look in report.looks for record in look.records), None)
    if record is None:
        return []
    load = record.workload
    writes = [each.metrics.writes_per_s for look in report.looks for each in look.records if each.status == "ok"]
    unseen = ["the load wrote nothing: writes, commits and flushes are not covered"] if set(writes) == {0} else []
    words = [load.name, f"{load.threads} threads", tables_text(load) or options_text(load)]
    return [f"load: {', '.join(filter(None, words))}; host: {report.looks[0].part.host_class}", *unseen]


def _notes(look: SmokeLook) -> list[str]:
    report = []
    judged, part = look.look.judged, look.part
    for command in calibrate_commands(part, judged) if judged else ():
        report.append(f"not calibrated on this host: the canary's own noise sets the margin (`{command}`)")
    report += [f"seed {part.seed}: {note}" for note in host_check_notes(part)]
    for record in look.records:
        if record.status not in ("ok", "infra_error"):
            report.append(f"{record.cell}, block {record.block}: {record.status}: {record.reason}")
    if look.seconds is not None:
        report.append(f"seed {part.seed}: took {duration(look.seconds)}")
    return report


def _variables(report: SmokeReport) -> list[str]:
    """Server variables that differ between the sides, requested or not."""
    found = differences(report.variables_of(BASE), report.variables_of(HEAD))
    lines = [f"`{each.variable}` on {each.server}: {each.baseline} → {each.variant}" for each in found[:MOST_VARIABLES]]
    more = len(found) - len(lines)
    return [*lines, *([f"{more} more server variables differ: see the records"] if more else [])]


def _markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; pipes in cells are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
