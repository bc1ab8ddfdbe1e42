"""PURE: what changed in cells that were too unsteady to be compared."""

from collections.abc import Mapping, Sequence

from sandbox.results.statistics.steadiness import Change


def unsteady_told(unsteady: Mapping[str, Sequence[Change]]) -> dict[str, str]:
    """By cell: ``tps, of its mean: +48% within block 6``.

    A drift is told where there is no step: a series that steps also has a slope.
    """
    told = {}
    for cell, changes in unsteady.items():
        steps = [change for change in changes if change.kind == "step"]
        told[cell] = f"tps, of its mean: {', '.join(map(_told, steps or changes))}"
    return told


def _told(change: Change) -> str:
    return f"{'drifts by ' if change.kind == 'drift' else ''}{change.share:+.0%} within block {change.block}"
