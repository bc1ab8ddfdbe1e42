"""How large a difference must be to matter, and how large to be detected at all."""

import math
import statistics
from collections.abc import Sequence

SMALLEST_MARGIN = 0.05
"""As a share of the value; a smaller difference is never called better or worse."""

# The smallest difference detected with 80 % power, in standard deviations of one block's difference, by blocks.
_DETECTABLE = {6: 1.77, 8: 1.27, 10: 1.00, 16: 0.80, 20: 0.67}
_BEYOND = _DETECTABLE[20] * math.sqrt(20)


def margin(sd: float, blocks: int, smallest: float = SMALLEST_MARGIN) -> float:
    """δ(n) = max(smallest, exp(3.9 · sd / √n) − 1), as a share; ``sd`` of the calibrated log ratios of one block."""
    return max(smallest, math.expm1(3.9 * sd / math.sqrt(blocks)))


def absolute_margin(sd: float, blocks: int, smallest: float) -> float:
    """The same for a metric that can be zero, in the metric's own unit."""
    return max(smallest, 3.9 * sd / math.sqrt(blocks))


def detectable(sd: float, blocks: int) -> float:
    """The difference that so many blocks detect with 80 % power, on the scale of ``sd`` (log ratio or metric unit)."""
    return _detectable_in_sds(blocks) * sd


def blocks_to_see(sd: float, difference: float) -> int | None:
    """Blocks (at least six) that detect such a difference with 80 % power; None if 10,000 are not enough."""
    for blocks in range(min(_DETECTABLE), 10_001):
        if detectable(sd, blocks) <= difference:
            return blocks
    return None


def spread(differences: Sequence[float]) -> float:
    """Standard deviation of the blocks' differences; 0 for fewer than two."""
    return statistics.stdev(differences) if len(differences) > 1 else 0.0


def _detectable_in_sds(blocks: int) -> float:
    """Linear between the simulated points; above 20 it falls with √n, below six nothing is guaranteed."""
    if blocks < min(_DETECTABLE):
        return math.inf
    if blocks >= max(_DETECTABLE):
        return _BEYOND / math.sqrt(blocks)
    below = max(known for known in _DETECTABLE if known <= blocks)
    above = min(known for known in _DETECTABLE if known > blocks)
    share = (blocks - below) / (above - below)
    return _DETECTABLE[below] + share * (_DETECTABLE[above] - _DETECTABLE[below])
