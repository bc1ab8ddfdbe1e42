"""reset: TCP between a node and its peers is refused."""

from typing import ClassVar

from sandbox.failure.faults.common.packets import CHAIN, Severance


class Reset(Severance):
    """TCP between it and the chosen peers is refused at once (RST): open connections break, new
    ones fail.
    """

    chain: ClassVar[str] = f"{CHAIN}-RESET"
    refuses: ClassVar[bool] = True

    def verdict(self) -> str:
        protocol = "" if self.port else "-p tcp "
        # The RST that a rule sends passes the other hook, where it must not be refused in turn.
        return f"{protocol}! --tcp-flags RST RST -j REJECT --reject-with tcp-reset"
