"""Many comparisons at once: p adjusted for how many were made, and the blocks that a single difference needs."""

import math
from collections.abc import Sequence

ALPHA = 0.05
FEWEST_BLOCKS = 6
"""With five, an exact two-sided p of 0.05 cannot be reached."""


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p, in the order given: no false alarm among all of them, with probability 1 − α (Holm 1979)."""
    count = len(p_values)
    adjusted, highest = [0.0] * count, 0.0
    for position, index in enumerate(_ascending(p_values)):
        highest = max(highest, min(1.0, (count - position) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p, in the order given: of differences called real, the expected share of false alarms is α (1995)."""
    count = len(p_values)
    adjusted, lowest = [0.0] * count, 1.0
    for position, index in reversed(list(enumerate(_ascending(p_values), start=1))):
        lowest = min(lowest, count / position * p_values[index])
        adjusted[index] = lowest
    return adjusted


def blocks_for_one(comparisons: int) -> int:
    """Blocks with which a single difference among so many can be called real: 1 + log2(m / α), at least six."""
    return max(FEWEST_BLOCKS, math.ceil(1 + math.log2(max(comparisons, 1) / ALPHA)))


def _ascending(p_values: Sequence[float]) -> list[int]:
    return sorted(range(len(p_values)), key=p_values.__getitem__)
