"""PURE: the answer that a judged matrix gives to its question, in one sentence."""

from collections.abc import Mapping, Sequence

from sandbox.report.places import places
from sandbox.results.compare import Judged, Verdict
from sandbox.results.matrix_part import MatrixPart
from sandbox.results.statistics.many import FEWEST_BLOCKS
from sandbox.results.statistics.metrics import METRICS

_TOO_FEW = "too few"
_PHRASES = {
    "better": "is better",
    "worse": "is worse",
    "no difference": "makes no difference",
    "too noisy": "cannot be told from noise",
    "not_steady": "did not run steadily",
    "infra_error": "failed for reasons of the environment",
    "failed": "failed",
    "not measured": "has no such figure",
    _TOO_FEW: f"has too few blocks to tell (it takes {FEWEST_BLOCKS})",
}


def answer(part: MatrixPart, judged: Judged) -> str:
    """By the first metric: what each change does, and at which levels of everything else.

    ``By tps: commits durable is worse at threads 4, 16 (-31.2 % to -12.0 %), makes no difference at threads 1.``
    """
    if judged.unfit:
        return "Nothing can be said: the baseline differs from itself."
    metric = part.metrics[0]
    verdicts = [verdict for verdict in judged.verdicts if verdict.metric == metric]
    if not verdicts:
        return "Nothing was compared: no cell could run beside its baseline."
    blocks = max((verdict.judgement.effect.blocks for verdict in verdicts if verdict.judgement), default=0)
    if 0 < blocks < FEWEST_BLOCKS:
        return f"{blocks} block{'s tell' if blocks > 1 else ' tells'} nothing: it takes {FEWEST_BLOCKS}."
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
    """Nobody can show that there is none: only that it is smaller than what counts."""
    metric = METRICS[verdicts[0].metric]
    largest = max(verdict.judgement.effect.margin for verdict in verdicts if verdict.judgement)
    return f"of {metric.shown(largest):.1%} or more" if metric.scale == "ratio" else f"of {largest:.4g} or more"


def _where(part: MatrixPart, cells: Sequence[Mapping[str, str]]) -> str:
    """The levels of the factors that the baseline leaves open; nothing where all of them are meant."""
    free = {name: levels for name, levels in part.factors.items() if name not in part.baseline and len(levels) > 1}
    return places(free, cells)


def _sizes(verdicts: Sequence[Verdict]) -> str:
    metric = METRICS[verdicts[0].metric]
    effects = sorted(metric.shown(verdict.judgement.effect.estimate) for verdict in verdicts if verdict.judgement)
    shown = [f"{effect:+.1%}" if metric.scale == "ratio" else f"{effect:+.4g} {metric.unit}" for effect in effects]
    return f"({shown[0]})" if len(shown) == 1 else f"({shown[0]} to {shown[-1]})"
