"""PURE: what is said about a smoke benchmark, its outcome in one line, and the same as data."""

import math
import statistics
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sandbox.judge.compare import Verdict
from sandbox.judge.gate import (
    BLOCKS,
    EXIT_CODES,
    LARGEST_MARGIN,
    Finding,
    Look,
    Outcome,
    losses_beside,
    outcome_of,
)
from sandbox.judge.variants import differences
from sandbox.record.manifest import MatrixPart
from sandbox.record.metrics import METRICS
from sandbox.record.record import NodeRecord, Record
from sandbox.report.document import (
    Column,
    Document,
    Lines,
    Medium,
    Notes,
    Part,
    Row,
    Said,
    Section,
    Table,
    TableCell,
)
from sandbox.report.matrix_notes import again, calibrate_commands, host_check_notes
from sandbox.report.text import duration, figure, options_text, shown, tables_text
from sandbox.report.verdicts import effect_data, verdict_data

MOST_VARIABLES = 12
_COLUMNS = ("metric", "base", "head", "effect", "95 % interval", "detectable loss", "n", "finding")
_NUMBERS = _COLUMNS[1:-1]
_OF_A_MATRIX = ("matrix", "question", "skipped", "left_out")


@dataclass(frozen=True, slots=True)
class SmokeLook:
    """One look with its inputs. ``seconds``: from the first stack to the last record."""

    result: str
    part: MatrixPart
    records: Sequence[Record]
    look: Look
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class SmokeReport:
    """Everything that a smoke benchmark reports. ``sides``: the user's words by side, the base
    first.
    """

    looks: Sequence[SmokeLook]
    sides: Mapping[str, str]
    command: Sequence[str]
    log: Sequence[str] = ()
    """After an environment failure: the end of the failed node's log."""

    @property
    def first(self) -> Look:
        """The look that decides, unless it finds worse."""
        return self.looks[0].look

    @property
    def repetition(self) -> Look | None:
        """The look that decides in that case."""
        return self.looks[1].look if len(self.looks) > 1 else None

    @property
    def outcome(self) -> Outcome:
        """The gate's outcome."""
        return outcome_of(self.first, self.repetition)

    def records_of(self, side: str) -> list[Record]:
        """The runs of one side, the newest first."""
        every = [record for look in self.looks for record in look.records]
        return [record for record in reversed(every) if record.cell == f"variant-{side}"]

    def server_of(self, side: str) -> NodeRecord | None:
        """The side's first server, from its newest record."""
        nodes = (node for record in self.records_of(side) for node in record.nodes)
        return next((node for node in nodes if node.role in ("writer", "reader")), None)

    def variables_of(self, side: str) -> Mapping[str, Mapping[str, str]]:
        """Variables of the side's servers, from its newest record with any."""
        return next((record.variables for record in self.records_of(side) if record.variables), {})


def sentence(report: SmokeReport) -> str:
    """The outcome and its reason, in one line."""
    if report.outcome == "environment":
        look = report.repetition or report.first
        if look.lost is None and look.failed:
            return f"No conclusion: no run succeeded ({look.failed})."
        return (
            f"No conclusion: {look.lost or 'no run succeeded'}. An environment failure is never a"
            " regression."
        )
    if report.outcome == "worse" and report.repetition:
        return _worse(report.first, report.repetition)
    if report.outcome == "no regression":
        excluded = _each(report.first, lambda finding: finding.excluded)
        return f"No regression: losses above {excluded} are excluded ({_found(report.first)})."
    if report.repetition is None:
        return (
            f"Inconclusive: {_reason(report.first)} ({_found(report.first)})."
            f" {_would_have(report.first)}"
        )
    contradicted = report.repetition.state == "suspected"
    reason = (
        "one look rules out the loss that the other found"
        if contradicted
        else _reason(report.repetition)
    )
    return (
        f"Inconclusive: the first look found {_found(report.first, report.first.worse)}; a fresh"
        f" repetition did not confirm it: {reason} ({_found(report.repetition)})."
        f" {_would_have(report.repetition)}"
    )


def _worse(first: Look, again: Look) -> str:
    return (
        f"Worse: {_found(first, losses_beside(first, again))} in the first look;"
        f" {_found(again, losses_beside(again, first))} in a fresh repetition, on new stacks and"
        f" with a new seed. Losses above {_caught(again)} are caught."
    )


def _reason(look: Look) -> str:
    """Why a look alone decides nothing; for a green one, why it does not confirm the other."""
    if look.incomplete:
        unmeasured = [each for each in look.findings if each.word == "not measured"]
        missing = [METRICS[each.metric].short for each in unmeasured]
        if missing and not look.failed:
            return f"{' and '.join(missing)} could not be measured"
        failed = f": {look.failed}" if look.failed else ""
        return f"fewer good blocks than the {look.blocks} planned{failed}"
    if look.unfit:
        return "the base differs from itself"
    unclear = []
    for each in look.findings:
        name = METRICS[each.metric].short
        if each.word == "too noisy":
            unclear.append(
                f"{name} is too noisy here: only a loss of {each.caught:.1%} or more can be seen"
            )
        elif each.word == "inconclusive":
            unclear.append(f"a relevant loss of {name} is neither confirmed nor ruled out")
    return "; ".join(unclear) or (
        "a loss that was not repeated" if look.worse else "no loss that counts"
    )


def _would_have(look: Look) -> str:
    caught = _caught(look)
    return (
        f"Losses above {caught} would have been caught."
        if caught
        else "No loss would have been caught."
    )


def _caught(look: Look) -> str:
    """``5.0% of processor time or 10.1% of throughput``."""
    return _each(look, lambda finding: finding.caught)


def _each(look: Look, share: Callable[[Finding], float]) -> str:
    shares = [(share(each), METRICS[each.metric].short) for each in look.findings]
    return " or ".join(
        f"{value:.1%} of {metric}" for value, metric in shares if math.isfinite(value)
    )


def _found(look: Look, metrics: Container[str] = tuple(LARGEST_MARGIN)) -> str:
    """``processor time +0.4% [-1.2%, +2.0%], throughput -0.8% [-5.1%, +3.9%]``: more of the one and
    less of the other is worse.
    """
    return ", ".join(_figure(each) for each in look.findings if each.metric in metrics)


def _figure(finding: Finding) -> str:
    if finding.effect is None:
        return f"{METRICS[finding.metric].short} unknown"
    metric, interval = finding.effect.metric, finding.effect.interval
    within = f" [{shown(metric, interval.low)}, {shown(metric, interval.high)}]" if interval else ""
    return f"{METRICS[finding.metric].short} {shown(metric, finding.effect.estimate)}{within}"


def smoke_document(report: SmokeReport) -> Document:
    """Outcome and reason, the figures of every look, what was compared, how, and how to reproduce
    it.
    """
    outcome = "the environment failed" if report.outcome == "environment" else report.outcome
    sides = Table.of(
        ["", "requested", "image", "server"], [_side_row(report, each) for each in report.sides]
    )
    found: list[Part] = [
        Lines(report.log, "text", Medium.EVERYWHERE),
        *_look_tables(report.looks),
        replace(sides, title="What was compared"),
    ]
    records = ", ".join(f"`results/{look.result}`" for look in report.looks)
    how: list[Part] = [
        Said(_how(report.looks[-1].part)),
        Notes.of(_all_notes(report)),
        Lines([again(report.looks[0].part, report.command)], medium=Medium.EVERYWHERE),
        Said(f"Records: {records}"),
    ]
    sections = [Section(found), Section(how, "How it was measured", headed=Medium.EVERYWHERE)]
    return Document(Said(f"Smoke benchmark: {outcome}"), sections, answer=Said(sentence(report)))


def _how(part: MatrixPart) -> str:
    return (
        f"Randomized blocks of {part.seconds} s slices after {part.warmup_s} s of warm-up, after a"
        " discarded block; base, head and canary (the base once more) each on a separate server,"
        f" all up at the same time. {BLOCKS} blocks, {BLOCKS} more on the same stacks if those are"
        " inconclusive; a worse result is repeated once on new stacks. Paired by block:"
        " Hodges-Lehmann, exact 95 % interval. Processor time and throughput decide: worse means"
        " an interval above zero loss and an estimate that counts, no regression an interval below"
        " a loss that counts."
    )


def _all_notes(report: SmokeReport) -> Iterator[str]:
    """The load; what is odd about the looks; variables that differ."""
    records = [record for look in report.looks for record in look.records]
    if records:
        load = records[0].workload
        words = ", ".join(
            filter(
                None,
                (load.name, f"{load.threads} threads", tables_text(load) or options_text(load)),
            )
        )
        yield f"load: {words}; host: {report.looks[0].part.host_class}"
    if {record.metrics.writes_per_s for record in records if record.status == "ok"} == {0}:
        yield "the load wrote nothing: writes, commits and flushes are not covered"
    yield from dict.fromkeys(note for look in report.looks for note in _notes(look))
    different = differences(*map(report.variables_of, report.sides))
    for each in different[:MOST_VARIABLES]:
        yield f"`{each.variable}` on {each.server}: {each.baseline} → {each.variant}"
    if len(different) > MOST_VARIABLES:
        yield f"{len(different) - MOST_VARIABLES} more server variables differ: see the records"


def _look_tables(looks: Sequence[SmokeLook]) -> Iterator[Table]:
    columns = [
        Column(title, number=title in _NUMBERS, kept=title == _COLUMNS[-1]) for title in _COLUMNS
    ]
    for number, look in enumerate(looks):
        rows = _rows(look)
        title = "Repetition: new stacks, new seed" if number else "First look"
        if rows:
            yield Table(columns, rows, f"{title}, {look.part.blocks} blocks")


def _rows(look: SmokeLook) -> list[Row]:
    judged = look.look.judged
    if judged is None:
        return []
    findings = {each.metric: each for each in look.look.findings}
    rows = [_row(look, each, each.metric, findings.get(each.metric)) for each in judged.verdicts]
    return [*rows, *(_row(look, each, f"canary: {each.metric}") for each in judged.canary)]


def _row(look: SmokeLook, verdict: Verdict, name: str, finding: Finding | None = None) -> Row:
    """``finding`` None: for a metric that decides nothing, and for the canary."""
    medians = [
        _median(look.records, cell, verdict.metric) for cell in (verdict.baseline, verdict.cell)
    ]
    values = [_value(verdict.metric, median) for median in medians]
    if verdict.judgement is None:
        return Row.of([name, *values, "", "", "", "0", verdict.word])
    effect = verdict.judgement.effect
    metric = effect.metric
    interval = effect.interval
    ends = f"{shown(metric, interval.low)} … {shown(metric, interval.high)}" if interval else ""
    size = TableCell(shown(metric, effect.estimate), metric.shown(effect.estimate))
    caught = TableCell(f"{finding.caught:.1%}", finding.caught) if finding else TableCell("")
    word = finding.word if finding else _beside(look, verdict)
    return Row.of([name, *values, size, ends, caught, str(effect.blocks), word])


def _value(metric: str, median: float | None) -> TableCell:
    if median is None:
        return TableCell("")
    return TableCell(f"{figure(median)} {METRICS[metric].unit}", median)


def _beside(look: SmokeLook, verdict: Verdict) -> str:
    """For rows that decide nothing on their own; but a canary that differs makes the result
    inconclusive.
    """
    if verdict.cell != look.part.canary.cell or verdict.metric not in LARGEST_MARGIN:
        return "informational"
    return "differs from itself" if verdict.word in ("better", "worse") else "same"


def _median(records: Sequence[Record], cell: str, metric: str) -> float | None:
    values = [
        getattr(record.metrics, metric)
        for record in records
        if record.cell == cell and record.counts
    ]
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _side_row(report: SmokeReport, side: str) -> list[str]:
    node = report.server_of(side)
    image = f"`{node.image_id or node.image}` ({node.image_source})" if node else ""
    return [side, report.sides[side], image, (node.server_version if node else None) or ""]


def _notes(look: SmokeLook) -> list[str]:
    judged, part = look.look.judged, look.part
    commands = calibrate_commands(part, judged) if judged else ()
    text = [
        f"not calibrated on this host: the canary's own noise sets the margin (`{each}`)"
        for each in commands
    ]
    text += [f"seed {part.seed}: {note}" for note in host_check_notes(part)]
    lost = (record for record in look.records if record.status not in ("ok", "infra_error"))
    text += [
        f"{record.cell}, block {record.block}: {record.status}: {record.reason}" for record in lost
    ]
    return [
        *text,
        *([f"seed {part.seed}: took {duration(look.seconds)}"] if look.seconds is not None else []),
    ]


def smoke_data(report: SmokeReport) -> dict[str, Any]:
    """The contents of ``smoke.md``; verdicts and effects as in a matrix."""
    return {
        "outcome": report.outcome,
        "exit_code": int(EXIT_CODES[report.outcome]),
        "reason": sentence(report),
        "sides": {side: _side(report, side) for side in report.sides},
        "looks": [_look(look) for look in report.looks],
        "log": list(report.log),
    }


def _side(report: SmokeReport, side: str) -> dict[str, Any]:
    node = report.server_of(side)
    fields = ("image", "image_id", "image_source", "digest", "package_version", "server_version")
    return {
        "asked": report.sides[side],
        **{name: getattr(node, name) if node else None for name in fields},
    }


def _finding(finding: Finding) -> dict[str, Any]:
    """``caught``: the smallest loss that counts; ``excluded``: the one that "not worse"
    excludes.
    """
    return {
        "metric": finding.metric,
        "finding": finding.word,
        **effect_data(finding.effect),
        "caught": finding.caught if finding.effect else None,
        "excluded": finding.excluded if finding.word == "not worse" else None,
    }


def _look(look: SmokeLook) -> dict[str, Any]:
    judged = look.look.judged
    data = verdict_data(look.part, judged) if judged else {"verdicts": [], "canary": []}
    return {
        "result": look.result,
        "state": look.look.state,
        "lost": look.look.lost,
        "seed": look.part.seed,
        "blocks": look.part.blocks,
        "findings": [_finding(each) for each in look.look.findings],
        "seconds": look.seconds,
        **{name: value for name, value in data.items() if name not in _OF_A_MATRIX},
    }
