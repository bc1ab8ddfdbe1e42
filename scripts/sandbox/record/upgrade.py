"""The part of a record that an upgrade check adds: what differs between two servers for one log."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

FindingKind = Literal[
    "refused",
    "error",
    "rows",
    "order",
    "warning",
    "time",
    "plan",
    "conflict",
    "collation",
    "configuration",
    "dump",
    "data",
    "replication",
    "crash",
]
"""``refused``: syntax, a variable or a function that the server does not know; ``conflict``: error
1020 where a row changed since the transaction began to read.
"""
LogFormat = Literal["slow log", "general log", "SQL file"]


class UpgradePart(BaseModel):
    """Base of what a record holds of an upgrade check: no unknown keys, immutable."""

    model_config = ConfigDict(
        defer_build=True, extra="forbid", frozen=True, serialize_by_alias=True
    )


class UpgradeFinding(UpgradePart):
    """A difference between the two servers."""

    kind: FindingKind
    matters: bool
    """Whether it is a difference that decides; else it is worth a look."""
    on_from: str
    on_to: str
    query: str | None = None
    """An example from the log, on one line; null where it is about none."""
    count: int | None = None
    """Statements of the log that are alike; null where it is about none."""
    note: str | None = None
    """What is known about it."""


class Unjudged(UpgradePart):
    """A query of which nobody can say whether it differs, and why."""

    why: str
    query: str
    count: int
    needs_data: bool
    """Whether a table is missing that a dump would bring."""


class DefaultRecord(UpgradePart):
    """A variable whose default is another one."""

    variable: str
    on_from: str
    on_to: str
    met: str | None = None
    """What in the log meets it; null: nothing is known to."""
    meaning: str | None = None


class RemovedRecord(UpgradePart):
    """A variable that the newer server does not have."""

    variable: str
    instead: str | None = None
    """Its new name, where it is known."""
    named_by: str | None = None
    """Where it stands: ``the log`` or the configuration file; null: nowhere."""


class ProbedTransaction(UpgradePart):
    """A transaction that reads, then writes, tried with a second session that changes the row in
    between.
    """

    statements: list[str]
    """Up to the statement that is tried."""
    other: str
    """What the second session does."""
    count: int
    """Transactions of the log that are alike."""
    on_from: str
    on_to: str
    fails_on_to: bool | None
    """Null where nobody can say."""


class ReplicationRecord(UpgradePart):
    """A replica of the newer version that applied what the log wrote on the older server."""

    replica: str | None
    """Null: there was none; ``seen`` says why."""
    caught_up_s: float | None = None
    """Seconds from the end of the load until it had applied everything; null where it did not."""
    seen: str


class UpgradeRecord(UpgradePart):
    """An upgrade check that was carried out."""

    from_server: str
    """As it was asked for: ``mariadb@10.11``."""
    to_server: str
    from_version: str | None
    """As the server reports it."""
    to_version: str | None
    log: str
    log_format: LogFormat
    log_sha256: str
    dump: str | None
    dump_sha256: str | None
    configuration: str | None = None
    """Name of the option file that was checked."""
    statements: int
    distinct: int
    left_out: dict[str, int] = Field(default_factory=dict)
    """Why statements were not run → how many."""
    pt_upgrade: dict[str, int] = Field(default_factory=dict)
    """Its own statistics."""
    findings: list[UpgradeFinding] = Field(default_factory=list)
    unjudged: list[Unjudged] = Field(default_factory=list)
    defaults: list[DefaultRecord] = Field(default_factory=list)
    removed: list[RemovedRecord] = Field(default_factory=list)
    transactions: list[ProbedTransaction] = Field(default_factory=list)
    replication: ReplicationRecord | None = None
    troubles: list[str] = Field(default_factory=list)
    """Parts of the check that could not be carried out."""
    seconds: float
