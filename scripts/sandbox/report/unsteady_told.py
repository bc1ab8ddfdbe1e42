"""PURE: what changed in cells that were too unsteady to be compared."""

from collections.abc import Mapping, Sequence

from sandbox.plan.matrix import Depth
from sandbox.results.statistics.steadiness import Change


def unsteady_told(unsteady: Mapping[str, Sequence[Change]], depth: Depth) -> dict[str, str]:
    """By cell: ``tps, of its mean: +48% from block 6 on``.

    Slices are one series over all blocks; where every run has a server of its own, so has it a series. A drift is
    told where there is no step: a series that steps also has a slope.
    """
    told = {}
    for cell, changes in unsteady.items():
        steps = [change for change in changes if change.kind == "step"]
        told[cell] = f"tps, of its mean: {', '.join(_told(change, depth) for change in steps or changes)}"
    return told


def _told(change: Change, depth: Depth) -> str:
    if depth == "restart":
        where = f"within block {change.block}"
    else:
        where = "over all blocks" if change.kind == "drift" else f"from block {change.block} on"
    return f"{'drifts by ' if change.kind == 'drift' else ''}{change.share:+.0%} {where}"
