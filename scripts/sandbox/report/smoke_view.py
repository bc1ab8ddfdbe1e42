"""PURE: a smoke benchmark: what it reports, its outcome in one line, as Markdown for a pull request, as data."""

import math
import statistics
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.judge.compare import Verdict
from sandbox.judge.gate import BLOCKS, EXIT_CODES, LARGEST_MARGIN, Finding, Look, Outcome, losses_beside, outcome_of
from sandbox.judge.variants import differences
from sandbox.record.manifest import MatrixPart
from sandbox.record.metrics import METRICS
from sandbox.record.record import NodeRecord, Record
from sandbox.report.rendering import rendered
from sandbox.report.text import duration, figure, shown
from sandbox.report.verdict_table import again, calibrate_commands, effect_data, host_check_notes, verdict_data

MOST_VARIABLES = 12
_COLUMNS = ("metric", "base", "head", "effect", "95 % interval", "detectable loss", "n", "finding")
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
    """Everything that a smoke benchmark reports. ``sides``: the user's words by side, the base first."""

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
        return f"No conclusion: {look.lost or 'no run succeeded'}. An environment failure is never a regression."
    if report.outcome == "worse" and report.repetition:
        return _worse(report.first, report.repetition)
    if report.outcome == "no regression":
        excluded = _each(report.first, lambda finding: finding.excluded)
        return f"No regression: losses above {excluded} are excluded ({_found(report.first)})."
    if report.repetition is None:
        return f"Inconclusive: {_reason(report.first)} ({_found(report.first)}). {_would_have(report.first)}"
    contradicted = report.repetition.state == "suspected"
    reason = "one look rules out the loss that the other found" if contradicted else _reason(report.repetition)
    return (
        f"Inconclusive: the first look found {_found(report.first, report.first.worse)}; a fresh repetition did not "
        f"confirm it: {reason} ({_found(report.repetition)}). {_would_have(report.repetition)}"
    )


def _worse(first: Look, again: Look) -> str:
    return (
        f"Worse: {_found(first, losses_beside(first, again))} in the first look; "
        f"{_found(again, losses_beside(again, first))} in a fresh repetition, on new stacks and with a new seed. "
        f"Losses above {_caught(again)} are caught."
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
            unclear.append(f"{name} is too noisy here: only a loss of {each.caught:.1%} or more can be seen")
        elif each.word == "inconclusive":
            unclear.append(f"a relevant loss of {name} is neither confirmed nor ruled out")
    return "; ".join(unclear) or ("a loss that was not repeated" if look.worse else "no loss that counts")


def _would_have(look: Look) -> str:
    caught = _caught(look)
    return f"Losses above {caught} would have been caught." if caught else "No loss would have been caught."


def _caught(look: Look) -> str:
    """``5.0% of processor time or 10.1% of throughput``."""
    return _each(look, lambda finding: finding.caught)


def _each(look: Look, share: Callable[[Finding], float]) -> str:
    shares = [(share(each), METRICS[each.metric].short) for each in look.findings]
    return " or ".join(f"{value:.1%} of {metric}" for value, metric in shares if math.isfinite(value))


def _found(look: Look, metrics: Container[str] = tuple(LARGEST_MARGIN)) -> str:
    """``processor time +0.4% [-1.2%, +2.0%], throughput -0.8% [-5.1%, +3.9%]``: more of the one and less of the other
    is worse."""
    return ", ".join(_figure(each) for each in look.findings if each.metric in metrics)


def _figure(finding: Finding) -> str:
    if finding.effect is None:
        return f"{METRICS[finding.metric].short} unknown"
    metric, interval = finding.effect.metric, finding.effect.interval
    within = f" [{shown(metric, interval.low)}, {shown(metric, interval.high)}]" if interval else ""
    return f"{METRICS[finding.metric].short} {shown(metric, finding.effect.estimate)}{within}"


def smoke_markdown(report: SmokeReport) -> str:
    """``smoke.md``: outcome and reason, the figures of every look, what was compared, how, and how to reproduce it."""
    records = [record for look in report.looks for record in look.records]
    return rendered(
        "smoke.md",
        report=report,
        sentence=sentence(report),
        columns=_COLUMNS,
        looks=[(look.part.blocks, _rows(look)) for look in report.looks],
        sides=[_side_row(report, side) for side in report.sides],
        part=report.looks[-1].part,
        blocks=BLOCKS,
        load=records[0].workload if records else None,
        read_only={record.metrics.writes_per_s for record in records if record.status == "ok"} == {0},
        notes=dict.fromkeys(note for look in report.looks for note in _notes(look)),
        different=differences(*map(report.variables_of, report.sides)),
        most=MOST_VARIABLES,
        again=again(report.looks[0].part, report.command),
    )


def _rows(look: SmokeLook) -> list[list[str]]:
    judged = look.look.judged
    if judged is None:
        return []
    findings = {each.metric: each for each in look.look.findings}
    rows = [_row(look, each, each.metric, findings.get(each.metric)) for each in judged.verdicts]
    return [*rows, *(_row(look, each, f"canary: {each.metric}") for each in judged.canary)]


def _row(look: SmokeLook, verdict: Verdict, name: str, finding: Finding | None = None) -> list[str]:
    """``finding`` None: for a metric that decides nothing, and for the canary."""
    metric = METRICS[verdict.metric]
    values = [_median(look.records, cell, verdict.metric) for cell in (verdict.baseline, verdict.cell)]
    medians = ["" if value is None else f"{figure(value)} {metric.unit}" for value in values]
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
    values = [getattr(record.metrics, metric) for record in records if record.cell == cell and record.counts]
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _side_row(report: SmokeReport, side: str) -> list[str]:
    node = report.server_of(side)
    image = f"`{node.image_id or node.image}` ({node.image_source})" if node else ""
    return [side, report.sides[side], image, (node.server_version if node else None) or ""]


def _notes(look: SmokeLook) -> list[str]:
    judged, part = look.look.judged, look.part
    commands = calibrate_commands(part, judged) if judged else ()
    text = [f"not calibrated on this host: the canary's own noise sets the margin (`{each}`)" for each in commands]
    text += [f"seed {part.seed}: {note}" for note in host_check_notes(part)]
    lost = (record for record in look.records if record.status not in ("ok", "infra_error"))
    text += [f"{record.cell}, block {record.block}: {record.status}: {record.reason}" for record in lost]
    return [*text, *([f"seed {part.seed}: took {duration(look.seconds)}"] if look.seconds is not None else [])]


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
    return {"asked": report.sides[side], **{name: getattr(node, name) if node else None for name in fields}}


def _finding(finding: Finding) -> dict[str, Any]:
    """``caught``: the smallest loss that counts; ``excluded``: the one that "not worse" excludes."""
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
