"""Which blocks ran after a host check that was out of range (docs/statistics.md, rule 9)."""

import statistics
from collections.abc import Sequence

from sandbox.results.matrix_part import HostCheck

LARGEST_DEVIATION = 0.25
"""Of the median over all blocks."""


def marked_blocks(checks: Sequence[HostCheck]) -> dict[int, str]:
    """Blocks before which processor or disk was more than a quarter off the median of all, each with the deviation."""
    marked: dict[int, list[str]] = {}
    for name, figures in (
        ("processor", {check.block: float(check.cpu_turns) for check in checks}),
        ("fsync", {check.block: check.fsync_ms for check in checks}),
    ):
        middle = statistics.median(figures.values()) if figures else 0.0
        for block, figure in figures.items():
            if middle and abs(figure / middle - 1) > LARGEST_DEVIATION:
                marked.setdefault(block, []).append(f"{name} {figure / middle - 1:+.0%}")
    return {block: ", ".join(reasons) for block, reasons in sorted(marked.items())}
