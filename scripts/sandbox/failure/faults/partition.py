"""partition: packets between a node and its peers vanish."""

from typing import ClassVar

from sandbox.failure.faults.common.packets import CHAIN, Severance


class Partition(Severance):
    """Packets between it and the chosen peers vanish: connections hang without an error, all others
    work.
    """

    chain: ClassVar[str] = f"{CHAIN}-PARTITION"

    def verdict(self) -> str:
        return "-j DROP"
