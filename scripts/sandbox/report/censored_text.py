"""PURE: verdicts on pairs with open trials as text and data: what the difference is at least, and
the log-rank p.
"""

from typing import Any

from sandbox.judge.compare import Judged, Verdict
from sandbox.judge.open_trials import Bounds, CensoredVerdict
from sandbox.record.metrics import METRICS, Metric
from sandbox.report.text import p_text, shown

LOG_RANK = "log-rank p"
_OPEN = "open"
LOG_RANK_TEXT = (
    "censored: in trials of the pair the figure was still open (writes not back, or never"
    " acknowledged), so the log-rank test decides; the effect is a bound that holds however long"
    " they would have lasted"
)


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
