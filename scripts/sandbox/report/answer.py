"""PURE: the answer that a judged matrix gives to its question, in one sentence that names exactly
where it holds.
"""

from collections.abc import Mapping, Sequence

from sandbox.judge.compare import Judged, Verdict
from sandbox.judge.verdict import FEWEST_BLOCKS
from sandbox.record.manifest import MatrixPart
from sandbox.record.metrics import METRICS
from sandbox.report.text import figure, levels_text, shown, varied

Levels = Mapping[str, str]
"""Of one cell, by factor."""

MOST_PLACES = 3
"""Nobody reads more than these: beyond that, the cells are only counted."""
_TOO_FEW = "too few"
_PHRASES = {
    "better": "is better",
    "worse": "is worse",
    "no difference": "makes no difference",
    "too noisy": "cannot be distinguished from noise",
    "not_steady": "did not run steadily",
    "infra_error": "failed because of the environment",
    "failed": "failed",
    "skipped": "was skipped",
    "not run": "was not run",
    "not measured": "has no value for this metric",
    _TOO_FEW: f"has too few blocks for a verdict (at least {FEWEST_BLOCKS} are needed)",
}


def answer(part: MatrixPart, judged: Judged) -> str:
    """The effect of each change on the first metric, and the levels of the other factors where it
    holds.

    ``By tps: commits durable is worse at threads 4, 16 (-31.2 % to -12.0 %), makes no difference at
    threads 1.``
    """
    if judged.unfit:
        return "No conclusion: the baseline differs from itself."
    metric = part.metrics[0]
    verdicts = [verdict for verdict in judged.verdicts if verdict.metric == metric]
    if not verdicts:
        return "Nothing was compared: no cell could run alongside its baseline."
    blocks = max(
        (verdict.judgement.effect.blocks for verdict in verdicts if verdict.judgement), default=0
    )
    if 0 < blocks < FEWEST_BLOCKS:
        return (
            f"{blocks} block{'s are' if blocks > 1 else ' is'} too few: at least {FEWEST_BLOCKS}"
            " are needed."
        )
    levels = {cell.name: cell.levels for cell in part.cells}
    changes: dict[str, dict[str, list[Verdict]]] = {}
    for verdict in verdicts:
        own = levels[verdict.cell]
        changed = [
            factor for factor, level in own.items() if part.baseline.get(factor, level) != level
        ]
        by_word = changes.setdefault(levels_text(own, changed), {})
        too_few = verdict.judgement is not None and verdict.judgement.effect.interval is None
        by_word.setdefault(_TOO_FEW if too_few else verdict.word, []).append(verdict)
    phrases = [
        f"{change} {', '.join(_word(part, levels, word, found) for word, found in by_word.items())}"
        for change, by_word in changes.items()
    ]
    return f"By {metric}: {'; '.join(phrases)}."


def _word(
    part: MatrixPart, levels: Mapping[str, Levels], word: str, verdicts: Sequence[Verdict]
) -> str:
    free = {factor: part.factors[factor] for factor in varied(part) if factor not in part.baseline}
    at = places(free, [levels[verdict.cell] for verdict in verdicts])
    metric, effects = (
        METRICS[verdicts[0].metric],
        [each.judgement.effect for each in verdicts if each.judgement],
    )
    margin = sizes = ""
    # No test can show a difference of zero, only one smaller than the margin.
    if word == "no difference":
        largest = max(effect.margin for effect in effects)
        margin = (
            f"of {metric.shown(largest):.1%} or more"
            if metric.scale == "ratio"
            else f"of {figure(largest)} or more"
        )
    if word in ("better", "worse"):
        estimates = [effect.estimate for effect in effects]
        ends = [min(estimates), max(estimates)] if len(estimates) > 1 else estimates
        sizes = f"({' to '.join(shown(metric, end) for end in ends)})"
    return " ".join(filter(None, (_PHRASES[word], margin, at, sizes)))


def places(factors: Mapping[str, Sequence[str]], cells: Sequence[Levels]) -> str:
    """``at threads 1, 4 and workload a, also at threads 1 and workload b``; empty where every level
    is meant.

    ``factors``: those that distinguish the cells, with all their levels.
    """
    found = products(list(factors), cells)
    if len(found) > MOST_PLACES:
        return f"in {len(cells)} cells"
    text = [_place(factors, product) for product in found]
    return ", also ".join(place for place in text if place)


def products(factors: Sequence[str], cells: Sequence[Levels]) -> list[dict[str, list[str]]]:
    """Cells as disjoint products of levels, split by factors in the order that gives the fewest."""
    if not factors:
        return [{}]
    return min(
        (_split(factor, [each for each in factors if each != factor], cells) for factor in factors),
        key=len,
    )


def _split(
    factor: str, others: Sequence[str], cells: Sequence[Levels]
) -> list[dict[str, list[str]]]:
    """Groups the levels of a factor that occur with the same levels of the others."""
    by_level: dict[str, list[Levels]] = {}
    for cell in cells:
        by_level.setdefault(cell[factor], []).append(cell)
    alike: dict[frozenset[tuple[str, ...]], list[str]] = {}
    for level, found in by_level.items():
        alike.setdefault(
            frozenset(tuple(cell[each] for each in others) for cell in found), []
        ).append(level)
    return [
        {factor: levels, **product}
        for levels in alike.values()
        for product in products(others, by_level[levels[0]])
    ]


def _place(factors: Mapping[str, Sequence[str]], product: Mapping[str, Sequence[str]]) -> str:
    text = [
        f"{factor} {', '.join(product[factor])}"
        for factor, levels in factors.items()
        if len(product[factor]) < len(levels)
    ]
    return f"at {' and '.join(text)}" if text else ""
