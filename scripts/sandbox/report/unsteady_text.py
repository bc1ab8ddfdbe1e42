"""PURE: what changed in cells that were too unsteady to be compared."""

from collections.abc import Mapping, Sequence

from sandbox.results.statistics.steadiness import Shift


def unsteady_text(unsteady: Mapping[str, Sequence[Shift]]) -> dict[str, str]:
    """By cell: ``tps, of its mean: +48% within block 6``.

    A drift is told where there is no step: a series that steps also has a slope.
    """
    text = {}
    for cell, changes in unsteady.items():
        steps = [change for change in changes if change.kind == "step"]
        text[cell] = f"tps, of its mean: {', '.join(map(_shift_text, steps or changes))}"
    return text


def _shift_text(change: Shift) -> str:
    return f"{'drifts by ' if change.kind == 'drift' else ''}{change.share:+.0%} within block {change.block}"
