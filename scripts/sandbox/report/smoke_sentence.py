"""PURE: the outcome of a smoke benchmark in a sentence or two, with its reason."""

from sandbox.report.smoke_told import SmokeTold, shown
from sandbox.report.unsteady_told import unsteady_told
from sandbox.results.compare import Verdict
from sandbox.results.gate import GREEN, Look
from sandbox.results.statistics.metrics import METRICS


def sentence(told: SmokeTold) -> str:
    """What came out, and why."""
    if told.outcome == "worse":
        return _worse(told)
    last = told.repetition or told.first
    text = {"no regression": _no_regression, "undecided": _undecided, "environment": _environment}[told.outcome](last)
    if told.repetition is None:
        return text
    return f"{text} The first look had {_effects(told.first, told.first.worse)} as worse; a fresh repetition decides."


def _worse(told: SmokeTold) -> str:
    first, again = told.first, told.repetition or told.first
    both = first.worse & again.worse
    return (
        f"The head is worse by {_effects(first, both)}; "
        f"a fresh repetition, on new stacks and with a new seed, says so again: {_effects(again, both)}."
    )


def _no_regression(look: Look) -> str:
    better = frozenset(each.metric for each in look.verdicts if each.word == "better")
    same = [_within(each) for each in look.verdicts if each.word != "better"]
    told = [f"The head is better by {_effects(look, better)}."] if better else []
    return " ".join([*told, f"No difference that counts: {', '.join(same)}."] if same else told)


def _undecided(look: Look) -> str:
    judged = [(each.metric, each.judgement) for each in look.verdicts if each.judgement]
    seen = frozenset(metric for metric, judgement in judged if judgement.of_figures_alone == "worse")
    if seen and look.state != "suspected":
        return f"{_why(look)} The figures alone would be worse by {_effects(look, seen)}: measure again."
    return f"{_why(look)} This is no regression that was seen, and no absence of one."


def _why(look: Look) -> str:
    if look.incomplete:
        reason = f" ({look.failed})" if look.failed else ""
        return f"Fewer blocks than the {look.blocks} that were planned came out good{reason}."
    if look.worse:
        return f"The looks contradict each other: {_effects(look, look.worse)} is worse in the repetition alone."
    if look.judged and look.judged.unfit:
        return "Unfit: the base differs from itself, or is noisier than this host is known to be."
    if look.judged and look.judged.unsteady:
        told = unsteady_told(look.judged.unsteady, "slices")
        sides = [f"{cell.removeprefix('arm-')} ({changed})" for cell, changed in told.items()]
        return f"Not steady: {'; '.join(sides)}."
    unclear: dict[str, list[str]] = {}
    for each in look.verdicts:
        if each.word not in GREEN:
            unclear.setdefault(each.word, []).append(_with_blocks(each))
    text = "; ".join(f"{word} by {', '.join(metrics)}" for word, metrics in unclear.items())
    return f"{text[:1].upper()}{text[1:]}."


def _with_blocks(verdict: Verdict) -> str:
    """A metric; where it was too noisy, with the blocks that it would take."""
    needed = verdict.judgement.blocks_needed if verdict.judgement else None
    return f"{verdict.metric} (takes {needed} blocks)" if needed else verdict.metric


def _environment(look: Look) -> str:
    if look.lost is None and look.failed:
        return f"Nothing can be said: no run was any good ({look.failed})."
    reason = look.lost or "no run was any good"
    return f"Nothing can be said: {reason}. Trouble of the environment is never a regression."


def _effects(look: Look, metrics: frozenset[str]) -> str:
    return ", ".join(
        f"{each.metric} ({shown(METRICS[each.metric], each.judgement.effect.estimate)})"
        for each in look.verdicts
        if each.metric in metrics and each.judgement
    )


def _within(verdict: Verdict) -> str:
    """Nobody can show that there is none: only that it is smaller than what counts."""
    if verdict.judgement is None:
        return verdict.metric
    effect = verdict.judgement.effect
    return f"{verdict.metric} within ±{shown(effect.metric, effect.margin, sign=False)}"
