"""bandwidth: a node sends slowly."""

from typing import ClassVar

from pydantic import Field

from sandbox.failure.fault import Ability
from sandbox.failure.faults.common.packets import TrafficFault

_LEAST_BURST = 32 * 1024
_TIMER_HZ = 100  # the slowest that kernels are built with


class Bandwidth(TrafficFault):
    """Caps the node's outbound bandwidth: large results, state transfers and replication slow
    down.
    """

    needs: ClassVar[frozenset[Ability]] = frozenset({"tbf"})
    discipline: ClassVar[str] = "tbf"
    mbit_per_s: float = Field(
        default=10, ge=0.01, le=10_000, description="rate of what it sends, in 10^6 bits"
    )
    latency_ms: float = Field(
        default=400, gt=0, le=60_000, description="longest wait of a packet before it is dropped"
    )

    def arguments(self) -> str:
        # Source: tc-tbf(8): a burst must hold what the rate allows between two timer ticks.
        burst = max(_LEAST_BURST, round(self.mbit_per_s * 1e6 / 8 / _TIMER_HZ))
        return (
            f"rate {round(self.mbit_per_s * 1e6)}bit burst {burst} latency {self.latency_ms:.3f}ms"
        )
