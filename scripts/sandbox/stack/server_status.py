"""The state of a database server, and the facts that it follows from: its answer and its log."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Repair = Literal["", "wait", "restart", "rejoin", "rebuild"]
"""The way back of a server: nothing is wrong; it comes back by itself; it must be restarted; it
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
_ON_THEIR_WAY = ("joiner", "leaving")


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The facts known of a server. ``members``: how many its cluster has as planned.

    ``container``: the engine's word, such as ``running`` or ``exited (137)``; ``role``: its answer
    about its role.
    """

    topology: str
    members: int = 1
    container: str = "running"
    status: Mapping[str, str] | None = None
    """Name → value, in lower case; None: it does not answer."""
    channels: Sequence[Row] = ()
    """Channels of asynchronous replication: SHOW REPLICA STATUS, a row a channel, in the words of
    any version.
    """
    links: frozenset[str] = frozenset()
    """Names of the channels that ``REPLICATE=`` asked for: replication from another group, which
    says nothing of its place in its own.
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
    links: tuple[str, ...] = ()
    """How replication from other groups stands, a text for each link: from which server, or why
    not."""
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
    def is_lost(self) -> bool:
        """Whether it serves nobody and is on no way back, once there was time for one."""
        gone = self.word in ("down", "no answer", *OUT_OF_SERVICE)
        return self.needs_repair or (gone and self.word not in _ON_THEIR_WAY)

    @property
    def text(self) -> str:
        """``evicted: Inconsistent by consensus``."""
        return f"{self.word}: {self.reason}" if self.reason else self.word


_REASONS = {
    "galera": (
        r"Inconsistent by consensus.*",
        r"Inconsistency detected: .*",
        r"(?:errno|Error_code): ?1950.*|.*\berrno:? 1950\b.*",
        r"Failed to (?:apply write set|report last committed|apply app buffer).*",
        r"(?:SST|State transfer) (?:request )?failed.*|SST (?:sending|script|disabled).*failed.*",
        r"Process completed with error: .*",
        r"Node consistency compromi[sz]ed.*|.*consistency compromi[sz]ed.*",
        r"failed to open gcomm backend connection: .*|failed to reach primary view.*",
        r".*backend must be restarted.*|Exception in .*gcomm.*",
    ),
    "gr": (
        r"Member was expelled from the group.*",
        r"Worker \d+ failed executing transaction .*",
        r"This member has more executed transactions than those present in the group.*",
        (
            r"Fatal error during the (?:incremental )?[Rr]ecovery process.*|Maximum number of"
            r" retries.*"
        ),
        r"The member was unable to reconnect.*|This server is not able to reach a majority.*",
    ),
}
"""Patterns in the order of their weight: causes come before their consequences."""
_ERRORS = {
    "galera": re.compile(r"\[ERROR\] (?:\[[^\]]*\] )*(WSREP.*|.*Slave.*|.*Replica.*)"),
    "gr": re.compile(r"\[ERROR\] (?:\[[^\]]*\] )*(Plugin group_replication.*|Replica.*|Slave.*)"),
}
_NOISE = re.compile(r"^(?:\[[^\]]*\] )*(?:WSREP: |Plugin group_replication reported: )?")
LIMIT = 300


def reason_in(log: str, topology: str) -> str:
    """Why a server left; else its last error; empty where the log has none. At most ``LIMIT``
    characters.
    """
    lines = log.splitlines()
    for pattern in _REASONS.get(topology, ()):
        for line in reversed(lines):
            if found := re.search(pattern, line):
                return _tidy(found[0])
    errors = _ERRORS.get(topology)
    for line in reversed(lines):
        if errors and (error := errors.search(line)):
            return _tidy(error[1])
    return ""


def channel_of(row: Row) -> str:
    """The name of a channel (MariaDB: of a connection)."""
    return row.get("Channel_Name") or row.get("Connection_name", "")


def _tidy(text: str) -> str:
    plain = _NOISE.sub("", text.strip()).strip("' ")
    return plain if len(plain) <= LIMIT else f"{plain[: LIMIT - 1]}…"


def field_of(row: Row, name: str) -> str:
    """A field in the words of any version: Replica_… or Slave_…, Source_… or Master_…."""
    for prefix in ("", "Replica_", "Slave_", "Source_", "Master_"):
        if f"{prefix}{name}" in row:
            return row[f"{prefix}{name}"]
    return ""


def facts_from(answer: str) -> tuple[dict[str, str], list[Row]]:
    """The status and the replication channels in the answer to a node's question ``state``.

    A line is ``name<TAB>value``, or vertical output: ``name: value``, with a line of asterisks
    before each row.
    """
    status: dict[str, str] = {}
    channels: list[dict[str, str]] = []
    for line in answer.splitlines():
        if line.startswith("****"):
            channels.append({})
        elif "\t" in line:
            name, _, value = line.partition("\t")
            status[name.strip().lower()] = value.strip()
        elif channels and (field := re.match(r"\s*(\w+): ?(.*)", line)):
            channels[-1][field[1]] = field[2].strip()
    workers = {row.get("Channel_Name", ""): row for row in channels if "Worker_Errno" in row}
    followed = [row for row in channels if field_of(row, "IO_Running")]
    return status, [row | workers.get(row.get("Channel_Name", ""), {}) for row in followed]
