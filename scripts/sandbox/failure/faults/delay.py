"""delay: what a node sends arrives later."""

from typing import ClassVar

from pydantic import Field

from sandbox.failure.fault import Ability
from sandbox.failure.faults.common.packets import TrafficFault

_LIMIT_PACKETS = 1_000_000


class Delay(TrafficFault):
    """Every packet that it sends arrives later, to whomever: round trips and commits take
    longer.
    """

    needs: ClassVar[frozenset[Ability]] = frozenset({"netem"})
    discipline: ClassVar[str] = "netem"
    delay_ms: float = Field(default=50, gt=0, le=60_000, description="delay of every packet")
    jitter_ms: float = Field(
        default=0, ge=0, le=60_000, description="how much the delay varies, up and down"
    )
    reorder_share: float = Field(
        default=0, ge=0, lt=1, description="share of the packets that overtake the others"
    )

    def arguments(self) -> str:
        # Source: tc-netem(8): it drops what exceeds its limit, of 1000 packets; a delay must lose
        # none.
        words = [f"limit {_LIMIT_PACKETS} delay {self.delay_ms:.3f}ms"]
        words += [f"{self.jitter_ms:.3f}ms"] if self.jitter_ms else []
        words += [f"reorder {100 * self.reorder_share:.4f}%"] if self.reorder_share else []
        return " ".join(words)
