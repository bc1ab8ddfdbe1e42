"""PURE: the answer that a judged matrix gives to its question, in one sentence."""

from collections.abc import Mapping, Sequence

from sandbox.report.places import places
from sandbox.results.compare import Judged, Verdict
from sandbox.results.manifest import MatrixPart
from sandbox.results.statistics.metrics import METRICS
from sandbox.results.statistics.verdict import FEWEST_BLOCKS

_TOO_FEW = "too few"
_PHRASES = {
    "better": "is better",
    "worse": "is worse",
    "no difference": "makes no difference",
    "too noisy": "cannot be distinguished from noise",
    "not_steady": "did not run steadily",
    "infra_error": "failed because of the environment",
    "failed": "failed",
    "not measured": "has no value for this metric",
    _TOO_FEW: f"has too few blocks for a verdict (at least {FEWEST_BLOCKS} are needed)",
}


def answer(part: MatrixPart, judged: Judged) -> str:
    """The effect of each change on the first metric, and the levels of the other factors where it holds.

    ``By tps: commits durable is worse at threads 4, 16 (-31.2 % to -12.0 %), makes no difference at threads 1.``
    """
    if judged.unfit:
        return "No conclusion: the baseline differs from itself."
    metric = part.metrics[0]
    verdicts = [verdict for verdict in judged.verdicts if verdict.metric == metric]
    if not verdicts:
        return "Nothing was compared: no cell could run alongside its baseline."
    blocks = max((verdict.judgement.effect.blocks for verdict in verdicts if verdict.judgement), default=0)
    if 0 < blocks < FEWEST_BLOCKS:
        return f"{blocks} block{'s are' if blocks > 1 else ' is'} too few: at least {FEWEST_BLOCKS} are needed."
    levels = {cell.name: cell.levels for cell in part.cells}
    changes: dict[str, dict[str, list[Verdict]]] = {}
    for verdict in verdicts:
        by_word = changes.setdefault(_change(part, levels[verdict.cell]), {})
        too_few = verdict.judgement is not None and verdict.judgement.effect.interval is None
        by_word.setdefault(_TOO_FEW if too_few else verdict.word, []).append(verdict)
    phrases = []
    for change, by_word in changes.items():
        words = [_word(part, levels, word, found) for word, found in by_word.items()]
        phrases.append(f"{change} {', '.join(words)}")
    return f"By {metric}: {'; '.join(phrases)}."


def _change(part: MatrixPart, levels: Mapping[str, str]) -> str:
    changed = [f"{factor} {level}" for factor, level in levels.items() if part.baseline.get(factor, level) != level]
    return ", ".join(changed)


def _word(part: MatrixPart, levels: Mapping[str, Mapping[str, str]], word: str, verdicts: Sequence[Verdict]) -> str:
    at = _where(part, [levels[verdict.cell] for verdict in verdicts])
    sizes = _sizes(verdicts) if word in ("better", "worse") else ""
    margin = _margin(verdicts) if word == "no difference" else ""
    return " ".join(filter(None, (_PHRASES[word], margin, at, sizes)))


def _margin(verdicts: Sequence[Verdict]) -> str:
    """No test can show a difference of zero, only one smaller than the margin."""
    metric = METRICS[verdicts[0].metric]
    largest = max(verdict.judgement.effect.margin for verdict in verdicts if verdict.judgement)
    return f"of {metric.shown(largest):.1%} or more" if metric.scale == "ratio" else f"of {largest:.4g} or more"


def _where(part: MatrixPart, cells: Sequence[Mapping[str, str]]) -> str:
    """Levels of the factors that the baseline does not set; empty where all levels are meant."""
    free = {name: levels for name, levels in part.factors.items() if name not in part.baseline and len(levels) > 1}
    return places(free, cells)


def _sizes(verdicts: Sequence[Verdict]) -> str:
    metric = METRICS[verdicts[0].metric]
    effects = sorted(metric.shown(verdict.judgement.effect.estimate) for verdict in verdicts if verdict.judgement)
    shown = [f"{effect:+.1%}" if metric.scale == "ratio" else f"{effect:+.4g} {metric.unit}" for effect in effects]
    return f"({shown[0]})" if len(shown) == 1 else f"({shown[0]} to {shown[-1]})"
