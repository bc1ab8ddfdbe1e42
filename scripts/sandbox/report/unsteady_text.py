"""PURE: what changed in cells that were too unsteady to compare."""

from collections.abc import Mapping, Sequence

from sandbox.results.statistics.changes import Shift


def unsteady_text(unsteady: Mapping[str, Sequence[Shift]]) -> dict[str, str]:
    """By cell: ``tps, relative to its mean: +48% within block 6``.

    A drift is shown only without a step: a series that steps also has a slope.
    """
    text = {}
    for cell, changes in unsteady.items():
        steps = [change for change in changes if change.kind == "step"]
        text[cell] = f"tps, relative to its mean: {', '.join(map(_shift_text, steps or changes))}"
    return text


def _shift_text(change: Shift) -> str:
    return f"{'drifts by ' if change.kind == 'drift' else ''}{change.share:+.0%} within block {change.block}"
