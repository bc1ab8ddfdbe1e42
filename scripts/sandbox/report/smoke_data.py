"""PURE: a smoke benchmark as JSON data."""

from typing import Any

from sandbox.report.smoke_report import SmokeLook, SmokeReport
from sandbox.report.smoke_sentence import sentence
from sandbox.report.verdict_table import verdict_data
from sandbox.results.gate import EXIT_CODES, Finding
from sandbox.results.statistics.metrics import METRICS

_OF_A_MATRIX = ("matrix", "question", "skipped", "left_out")


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
    """Effect and interval as shares of the base; ``caught``: the smallest loss that counts.

    ``excluded``: the loss that "not worse" excludes.
    """
    effect, interval = finding.effect, finding.effect and finding.effect.interval
    shown = METRICS[finding.metric].shown
    return {
        "metric": finding.metric,
        "finding": finding.word,
        "effect": shown(effect.estimate) if effect else None,
        "interval_95": [shown(interval.low), shown(interval.high)] if interval else None,
        "caught": finding.caught if effect else None,
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
