"""The evidence of a trial, and the checks on it: each passes, fails, does not know, or does not
apply.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sandbox.core.errors import states
from sandbox.core.plugins import plugins_of_functions
from sandbox.record.consistency import ConsistencyRecord
from sandbox.record.record import CheckRecord, Verdict
from sandbox.record.trial import LedgerCounts, OpCount

CHECKS = plugins_of_functions(
    "sandbox.measure.trial.checks", "check", "judge", "make trial FAULT=server-crash", separator="_"
)
"""The checks: the function ``judge`` of each file takes the evidence and returns its finding."""
Finding = tuple[Verdict, str]
"""The verdict, and what was seen."""


@dataclass(frozen=True)
class Evidence:
    """The traces of a trial, from which checks judge. ``ledger`` None: the prober's log could not
    be judged.
    """

    ledger: LedgerCounts | None
    unread: Mapping[str, str] = field(default_factory=dict)
    """Nodes whose ledger could not be read, each with the reason."""
    behind: Mapping[str, str] = field(default_factory=dict)
    """Nodes that had not caught up with the writer when they were read, each with the reason."""
    idle: Collection[str] = ()
    """Nodes of ``behind`` that are out of their group, such as an old source that may not rejoin:
    no readers.
    """
    transactions: Mapping[str, str | None] = field(default_factory=dict)
    """Node → its GTID set or position; none where those of several nodes cannot be compared."""
    single_writer: bool = True
    """Whether the topology has one writer at a time."""
    elected: bool = False
    """Whether another writer was seen than the one before the fault."""
    writer: str | None = None
    """The writer when the ledgers were read."""
    refused: int = 0
    """Operations of the prober that were refused because a server had too many connections."""
    refused_by: Mapping[str, int] = field(default_factory=dict)
    """Server → connections that it refused so, by its own count."""
    consistency: Sequence[ConsistencyRecord] = ()
    """What came of the comparison of the servers' rows and GTIDs; empty: nobody compared them."""
    actions: Sequence[tuple[str, str, bool]] = ()
    """Of each action of the schedule: its name, what became of it, and whether it was refused or
    failed.
    """


def judge_all(evidence: Evidence, wanted: Iterable[str] | None = None) -> list[CheckRecord]:
    """Every check's verdict; one that crashes does not know."""
    return [_judged(name, evidence) for name in wanted or CHECKS.names()]


def _judged(name: str, evidence: Evidence) -> CheckRecord:
    try:
        verdict, detail = CHECKS.named(name)(evidence)
    except Exception as crash:  # noqa: BLE001  (a crashed check is no verdict, and no end of the run: Jepsen's rule)
        verdict = "unknown"
        detail = f"the check crashed: {type(crash).__name__}: {crash}"
    return CheckRecord(name=name, verdict=verdict, detail=detail)


def shown(ops: OpCount) -> str:
    """The first few of some operations, for a detail."""
    return "op " + ", ".join(str(op) for op in ops.examples[:5]) + (", …" if ops.count > 5 else "")


def of_acked(ledger: LedgerCounts, ops: OpCount) -> str:
    """``12 of 3,400 acknowledged writes``."""
    return f"{ops.count:,} of {ledger.acked:,} acknowledged writes"


def unread(evidence: Evidence) -> str:
    """Why there is nothing to judge."""
    return states(evidence.unread) or "the prober's log or the writer's rows could not be read"
