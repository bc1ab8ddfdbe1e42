"""Anomalies that an isolation level promises to be absent, by server and setting, with the source.
Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sandbox.load.common.isolation.history import Anomaly
from sandbox.record.metrics import in_group
from sandbox.record.record import CheckRecord, Metrics

Level = Literal["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"]

ANOMALIES = {
    "g0": "cycles of writes (G0)",
    "aborted_reads": "aborted reads (G1a)",
    "intermediate_reads": "intermediate reads (G1b)",
    "g1c": "cycles of writes and reads (G1c)",
    "unexplained_reads": "reads of what nobody wrote",
    "incompatible_orders": "incompatible orders of versions",
    "lost_updates": "lost updates (P4)",
    "lost_writes": "acknowledged writes that are not there in the end",
    "non_repeatable_reads": "non-repeatable reads (P2)",
    "internal_inconsistencies": "reads that contradict the transaction's own writes (internal)",
    "fractured_reads": "fractured reads",
    "wrong_totals": "wrong totals",
    "final_totals": "wrong totals in the end",
    "g_single": "cycles with one read-write dependency (G-single)",
    "g2_item": "cycles with several read-write dependencies (G2-item)",
    "stale_reads": "stale reads",
    "non_monotonic_reads": "non-monotonic reads",
    "divergence": "nodes that differ in the end",
}
"""Name → what is counted, by the words of Adya (1999), Berenson et al. (1995) and Elle (Kingsbury,
Alvaro 2020).
"""

_CYCLES = ("g0", "g1c", "g_single", "g2_item")
_DIRTY = ("aborted_reads", "intermediate_reads")

_ALWAYS = {
    "g0": "every level promises it: Adya 1999, PL-1",
    "unexplained_reads": "every level shows only what was written",
    "non_monotonic_reads": "a node commits in one order, and a later read begins later in it",
    "divergence": "all nodes apply the same transactions",
}
_PL_2 = "READ COMMITTED promises it: Adya 1999, PL-2"
_SNAPSHOT_READS = (
    "all plain reads of a transaction are of one snapshot: MySQL manual, Consistent Nonlocking"
    " Reads"
)
_LOCKED_READS = "SERIALIZABLE locks what it reads: MySQL manual, Transaction Isolation Levels"
_SNAPSHOT_WRITES = (
    "innodb_snapshot_isolation refuses to update what has changed since the snapshot: MDEV-35124;"
    " in Galera MDEV-38977 is open"
)


@dataclass(frozen=True)
class Guarantees:
    """The configuration of a load's sessions. ``spread``: clients on more than one node, or on one
    that receives from the writer.

    ``snapshot_isolation``: MariaDB's innodb_snapshot_isolation. ``causal_reads``: Galera's
    wsrep_sync_wait includes reads, or group_replication_consistency orders them after all that was
    acknowledged. ``overwrites``: the client writes a value that it computed, so that a lost update
    replaces what another one wrote.
    """

    level: Level
    snapshot_isolation: bool
    causal_reads: bool
    spread: bool
    overwrites: bool

    def promise(self, anomaly: str) -> str | None:
        """Why an anomaly must not occur; None where it may."""
        if anomaly in _ALWAYS:
            return _ALWAYS[anomaly]
        if anomaly == "stale_reads":
            return self._fresh()
        if anomaly in (
            "incompatible_orders",
            "lost_writes",
            "final_totals",
            "internal_inconsistencies",
        ):
            return self._kept(anomaly)
        if self.level == "READ-UNCOMMITTED":
            return None
        if anomaly in (*_DIRTY, "g1c"):
            return _PL_2
        return self._isolated(anomaly)

    @property
    def _serializable(self) -> bool:
        """Galera's locks end at the node: there, between nodes, SERIALIZABLE is no more than
        REPEATABLE READ.
        """
        return self.level == "SERIALIZABLE" and not self.spread

    @property
    def _repeatable(self) -> bool:
        return self.level in ("REPEATABLE-READ", "SERIALIZABLE")

    def _isolated(self, anomaly: str) -> str | None:
        if self._serializable:
            return _LOCKED_READS
        if anomaly in ("fractured_reads", "non_repeatable_reads"):
            return _SNAPSHOT_READS if self._repeatable else None
        if anomaly in ("lost_updates", "g_single", "wrong_totals"):
            return _SNAPSHOT_WRITES if self._repeatable and self.snapshot_isolation else None
        return None

    def _kept(self, anomaly: str) -> str | None:
        """Checks on writes that only a lost update explains, where one may replace a write; else a
        write must be there in any case.
        """
        if anomaly == "incompatible_orders" and self.level == "READ-UNCOMMITTED":
            return None  # what was read may be rolled back
        if anomaly in ("incompatible_orders", "lost_writes") and not self.overwrites:
            return "an acknowledged commit stays, and each write adds to the latest version"
        return self._isolated("lost_updates")

    def _fresh(self) -> str | None:
        if not self.spread:
            return "a transaction on the same node begins with all that is committed there"
        return (
            "the cluster is set to wait before it reads, or after it writes"
            if self.causal_reads
            else None
        )


def guarantees_of(
    variables: Mapping[str, Mapping[str, str]],
    topologies: Mapping[str, str],
    spread: bool,
    overwrites: bool,
) -> Guarantees:
    """From what the sessions answered: node → variable → value. The weakest node counts.

    ``topologies``: of the servers; a node that is none of them is a proxy in front of the first
    one's cluster.
    """
    behind = next(iter(topologies.values()), "single")
    nodes = list(variables.values())
    levels: list[Level] = ["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"]
    found = [node.get("transaction_isolation") or node.get("tx_isolation", "") for node in nodes]
    return Guarantees(
        level=min(
            (level for level in levels if level in found),
            key=levels.index,
            default="READ-UNCOMMITTED",
        ),
        snapshot_isolation=all(
            node.get("innodb_snapshot_isolation") in ("ON", "1") for node in nodes
        ),
        causal_reads=all(
            _causal(node, topologies.get(name, behind)) for name, node in variables.items()
        ),
        spread=spread,
        overwrites=overwrites,
    )


def _causal(variables: Mapping[str, str], topology: str) -> bool:
    if topology == "galera":
        return bool(int(variables.get("wsrep_sync_wait", "0")) & 1)
    return topology == "gr" and variables.get("group_replication_consistency", "") in (
        *("BEFORE", "AFTER", "BEFORE_AND_AFTER"),
    )


def verdicts(found: Mapping[str, Anomaly], guarantees: Guarantees) -> list[CheckRecord]:
    """One check for each anomaly that was looked for: it fails only where its absence is
    promised.
    """
    return [
        _verdict(name, found[name], guarantees.promise(name)) for name in ANOMALIES if name in found
    ]


def _verdict(name: str, anomaly: Anomaly, promise: str | None) -> CheckRecord:
    text = f"{anomaly.count:,} {ANOMALIES[name]}"
    known = f" ({promise})" if promise else " (not promised)"
    examples = f"; {'; '.join(anomaly.examples)}" if anomaly.count else ""
    verdict: Literal["pass", "fail"] = "fail" if promise and anomaly.count else "pass"
    return CheckRecord(name=f"no_{name}", verdict=verdict, detail=text + known + examples)


def counted(metrics: Metrics, found: Mapping[str, Anomaly]) -> Metrics:
    """Metrics with the counts that are compared."""
    counts = {name: found[name].count for name in in_group("anomalies") if name in found}
    sums = {"dirty_reads": _DIRTY, "dependency_cycles": _CYCLES}
    for name, parts in sums.items():
        if known := [found[part].count for part in parts if part in found]:
            counts[name] = sum(known)
    return metrics.model_copy(update=counts)
