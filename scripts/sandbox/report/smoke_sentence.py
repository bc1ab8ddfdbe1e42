"""PURE: the outcome of a smoke benchmark in one line: what was found, and what would have been caught."""

import math
from collections.abc import Callable, Container, Sequence

from sandbox.report.smoke_report import SmokeReport, shown
from sandbox.results.gate import LARGEST_MARGIN, Finding, Look, worse_in_both

SPOKEN = {"server_cpu_ms_per_tx": "processor time", "tps": "throughput"}


def sentence(report: SmokeReport) -> str:
    """The outcome and its reason, in one line."""
    if report.outcome == "environment":
        return _environment(report.repetition or report.first)
    if report.outcome == "worse" and report.repetition:
        return _worse(report.first, report.repetition)
    if report.outcome == "no regression":
        excluded = _each(report.first, lambda finding: finding.excluded)
        return f"No regression: losses above {excluded} are excluded ({_found(report.first)})."
    if report.repetition is None:
        return f"Inconclusive: {_reason(report.first)} ({_found(report.first)}). {_would_have(report.first)}"
    return (
        f"Inconclusive: the first look found {_found(report.first, report.first.worse)}; a fresh repetition did not "
        f"confirm it: {_reason(report.repetition)} ({_found(report.repetition)}). {_would_have(report.repetition)}"
    )


def _worse(first: Look, again: Look) -> str:
    both = worse_in_both(first, again)
    return (
        f"Worse: {_found(first, both)}; a fresh repetition, on new stacks and with a new seed, confirmed it: "
        f"{_found(again, both)}. Losses above {_caught(again)} are caught."
    )


def _reason(look: Look) -> str:
    """Why a look is not a green light; for one that would be, why it does not confirm the other."""
    if look.incomplete:
        missing = [SPOKEN[each.metric] for each in look.findings if each.word == "not measured"]
        if missing and not look.failed:
            return f"{' and '.join(missing)} could not be measured"
        failed = f": {look.failed}" if look.failed else ""
        return f"fewer good blocks than the {look.blocks} planned{failed}"
    if look.unfit:
        return "the base differs from itself"
    report = [reason for each in look.findings if (reason := _unclear(each))]
    return "; ".join(report) or ("another metric is worse" if look.worse else "no loss that counts")


def _unclear(finding: Finding) -> str | None:
    name = SPOKEN[finding.metric]
    if finding.word == "too noisy":
        return f"{name} is too noisy here: only a loss of {finding.caught:.1%} or more can be seen"
    return f"a loss of {name} that counts is neither shown nor excluded" if finding.word == "inconclusive" else None


def _would_have(look: Look) -> str:
    caught = _caught(look)
    return f"Losses above {caught} would have been caught." if caught else "No loss would have been caught."


def _caught(look: Look) -> str:
    """``5.0% of processor time or 10.1% of throughput``."""
    return _each(look, lambda finding: finding.caught)


def _each(look: Look, share: Callable[[Finding], float]) -> str:
    shares = [(share(each), SPOKEN[each.metric]) for each in look.findings]
    return " or ".join(f"{value:.1%} of {metric}" for value, metric in shares if math.isfinite(value))


def _found(look: Look, metrics: Container[str] = tuple(LARGEST_MARGIN)) -> str:
    """``processor time +0.4% [-1.2%, +2.0%], throughput -0.8% [-5.1%, +3.9%]``: more of the one and less of the other
    is worse."""
    return ", ".join(_figure(each) for each in look.findings if each.metric in metrics)


def _figure(finding: Finding) -> str:
    if finding.effect is None:
        return f"{SPOKEN[finding.metric]} unknown"
    effect, interval = finding.effect, finding.effect.interval
    ends: Sequence[float] = (interval.low, interval.high) if interval else ()
    within = f" [{', '.join(shown(effect.metric, end) for end in ends)}]" if ends else ""
    return f"{SPOKEN[finding.metric]} {shown(effect.metric, effect.estimate)}{within}"


def _environment(look: Look) -> str:
    if look.lost is None and look.failed:
        return f"No conclusion: no run succeeded ({look.failed})."
    reason = look.lost or "no run succeeded"
    return f"No conclusion: {reason}. An environment failure is never a regression."
