"""Whether the servers of a group hold the same: what was compared, and each difference."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class ConsistencyPart(BaseModel):
    """Base of what is stored of a comparison: no unknown keys, immutable."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)


class Written(ConsistencyPart):
    """The last transaction in a server's binary log that changed a row."""

    gtid: str
    server_id: int | None
    """Of the server on which it was committed first."""
    at: str
    """In the server's own time zone, ``2026-11-30 01:00:00``."""
    kind: Literal["insert", "update", "delete"]


class RowDifference(ConsistencyPart):
    """A difference in a table: one row, a row without a key in other numbers, or the table
    itself.
    """

    table: str
    """``schema.table``."""
    what: str | None = None
    """Of the table as a whole: missing on a server, other columns; null: a row."""
    key: dict[str, str | None] | None = None
    """Column → value; null where the table has no key."""
    rows: dict[str, dict[str, str | None] | None] = Field(default_factory=dict)
    """Server → column → value, null where it has no such row; binary values as 0x…"""
    counts: dict[str, int] = Field(default_factory=dict)
    """Server → how often it has the row; of a table without a key."""
    row: dict[str, str | None] | None = None
    """The row; of a table without a key."""
    written: dict[str, Written | None] = Field(default_factory=dict)
    """Server → who changed it last; null where its binary log does not say."""


class TransactionDifference(ConsistencyPart):
    """A GTID that does not stand for the same on all servers."""

    gtid: str
    contents: dict[str, list[str]]
    """Server → the first changes and statements of the transaction."""


class LogRead(ConsistencyPart):
    """How much of a server's binary log was read. ``why_not``: null where it was."""

    transactions: int = 0
    first_file: str | None = None
    first_position: int = 0
    """Of the first transaction that was read in that file, in bytes; 0: from its beginning."""
    is_whole: bool = False
    """Whether it was read from its first file on."""
    why_not: str | None = None


class ConsistencyRecord(ConsistencyPart):
    """The servers that hold one writer's data, compared with it."""

    reference: str
    """The server with which the others were compared."""
    servers: list[str] = Field(default_factory=list)
    """All servers that are to hold the same."""
    compared: list[str] = Field(default_factory=list)
    """Servers that were brought to one position; the reference is the first."""
    unread: dict[str, str] = Field(default_factory=dict)
    """Server → why it was not compared."""
    problem: str | None = None
    """Why nothing was compared."""
    positions: dict[str, str] = Field(default_factory=dict)
    held_ms: float = 0.0
    """How long writes were held."""
    tables: int = 0
    rows: int = 0
    """Of the reference."""
    differences: list[RowDifference] = Field(default_factory=list)
    more: int = 0
    """Further rows that differ."""
    unread_tables: dict[str, str] = Field(default_factory=dict)
    logs: dict[str, LogRead] = Field(default_factory=dict)
    """By server; empty: the binary logs were not looked at."""
    logs_skipped: str | None = None
    """Why the transactions behind the GTIDs were not compared."""
    transactions: list[TransactionDifference] = Field(default_factory=list)
    seconds: float = 0.0

    @property
    def differs(self) -> bool:
        """Whether rows or tables differ."""
        return bool(self.differences)
