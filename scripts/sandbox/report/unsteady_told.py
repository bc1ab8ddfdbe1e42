"""PURE: what changed in cells that were too unsteady to be compared."""

from sandbox.plan.matrix import Depth
from sandbox.results.compare import Judged
from sandbox.results.statistics.steadiness import Change


def unsteady_told(judged: Judged, depth: Depth) -> dict[str, str]:
    """By cell: ``tps +48% of its mean from block 6 on``.

    Slices are one series over all blocks; where every run has a server of its own, so has it a series. A drift is
    told where there is no step: a series that steps also has a slope.
    """
    told = {}
    for cell, changes in judged.unsteady.items():
        steps = [change for change in changes if change.kind == "step"]
        told[cell] = f"tps {', '.join(_told(change, depth) for change in steps or changes)}"
    return told


def _told(change: Change, depth: Depth) -> str:
    if depth == "restart":
        where = f"within block {change.block}"
    else:
        where = "over all blocks" if change.kind == "drift" else f"from block {change.block} on"
    return f"{'drifts by ' if change.kind == 'drift' else ''}{change.share:+.0%} of its mean {where}"
