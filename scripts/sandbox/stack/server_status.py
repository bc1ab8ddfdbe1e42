"""What the state of a database server is called, why, and what repairs it; and the facts that it
follows from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Repair = Literal["", "wait", "restart", "rejoin", "rebuild"]
"""What brings a server back: nothing is wrong; it comes back by itself; it must be restarted; it
must be pointed at the writer again; its data must be replaced by a copy of another server's.
"""
Row = Mapping[str, str]
WELL = ("synced", "ONLINE", "replicating", "running")
OUT_OF_SERVICE = (
    "evicted",
    "left",
    "non-primary",
    "joiner",
    "ERROR",
    "OFFLINE",
    "expelled",
    "leaving",
    "blocked",
)
"""Members that serve no client, whatever role they say they have."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What is known of a server. ``members``: how many its cluster has as planned.

    ``container``: the engine's word, such as ``running`` or ``exited (137)``; ``role``: its answer
    about its role.
    """

    topology: str
    members: int = 1
    container: str = "running"
    status: Mapping[str, str] | None = None
    """Name → value, in lower case; None: it does not answer."""
    channels: Sequence[Row] = ()
    """Of asynchronous replication: SHOW REPLICA STATUS, a row a channel, in the words of any
    version.
    """
    role: str = ""
    log: str = ""
    """The end of its log since it started, where it was read."""
    error: str = ""
    """Why there is no answer."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """``word``: evicted, donor, ONLINE, …; ``reason``: why, or how far; ``view``: the members that
    it sees.
    """

    word: str
    reason: str = ""
    view: tuple[str, ...] = ()
    repair: Repair = ""
    has_cause: bool = True
    """False: nothing reports why it is away, and it may be about to come back."""

    @property
    def is_well(self) -> bool:
        """Whether it is where its configuration wants it, to the full extent."""
        return self.word in WELL

    @property
    def is_unexplained(self) -> bool:
        """Whether its log may say why, or how far it is."""
        return self.word in ("evicted", "left", "joiner", "ERROR", "OFFLINE", "no answer")

    @property
    def is_final(self) -> bool:
        """Whether no time changes it: else its cluster may take it back, or it may try again by
        itself.
        """
        return self.word in ("evicted", "stopped") or self.repair == "rebuild"

    @property
    def needs_repair(self) -> bool:
        """Whether it does not come back by itself."""
        return self.repair in ("restart", "rejoin", "rebuild")

    @property
    def text(self) -> str:
        """``evicted: Inconsistent by consensus``."""
        return f"{self.word}: {self.reason}" if self.reason else self.word
