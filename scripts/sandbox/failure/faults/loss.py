"""loss: some packets between a node and its peers vanish."""

from typing import ClassVar

from pydantic import Field

from sandbox.failure.faults.common.packets import CHAIN, PacketFault


class Loss(PacketFault):
    """A share of the packets between it and the chosen peers vanishes: stalls while TCP sends
    again, few errors.
    """

    chain: ClassVar[str] = f"{CHAIN}-LOSS"
    away_from: str = Field(
        default="everyone",
        min_length=1,
        description=PacketFault.model_fields["away_from"].description,
    )
    share: float = Field(
        default=0.1,
        ge=0.0001,
        le=1,
        description="share of the packets that vanishes, in each direction",
    )

    def verdict(self) -> str:
        return f"-m statistic --mode random --probability {self.share:.6f} -j DROP"
