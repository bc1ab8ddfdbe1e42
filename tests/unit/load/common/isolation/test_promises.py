"""What is promised, by level, server and setting; a broken promise fails its check, anything else
is a count.
"""

import pytest

from sandbox.load.common.isolation.history import Anomaly, read_history
from sandbox.load.common.isolation.promises import (
    ANOMALIES,
    Guarantees,
    counted,
    guarantees_of,
    verdicts,
)
from sandbox.record.metrics import METRICS, in_group
from sandbox.record.record import Metrics

SNAPSHOT = {"transaction_isolation": "REPEATABLE-READ", "innodb_snapshot_isolation": "ON"}
PLAIN = {"transaction_isolation": "REPEATABLE-READ"}


def of(
    variables: dict[str, str],
    topology: str = "single",
    spread: bool = False,
    overwrites: bool = True,
) -> set[str]:
    """What is promised to be absent."""
    made = guarantees_of(
        {"n1": variables, "n2": variables}, {"n1": topology, "n2": topology}, spread, overwrites
    )
    return {name for name in ANOMALIES if made.promise(name)}


@pytest.mark.parametrize(
    ("variables", "topology", "spread", "promised", "not_promised"),
    [
        (
            PLAIN,
            "single",
            False,
            {"fractured_reads", "stale_reads"},
            {"lost_updates", "g_single", "lost_writes"},
        ),
        (
            SNAPSHOT,
            "single",
            False,
            {"lost_updates", "g_single", "lost_writes", "wrong_totals"},
            {"g2_item"},
        ),
        (
            SNAPSHOT,
            "galera",
            True,
            {"lost_updates", "fractured_reads", "divergence"},
            {"stale_reads", "g2_item"},
        ),
        ({**SNAPSHOT, "wsrep_sync_wait": "7"}, "galera", True, {"stale_reads"}, {"g2_item"}),
        ({**SNAPSHOT, "wsrep_sync_wait": "6"}, "galera", True, set(), {"stale_reads"}),
        (
            {**PLAIN, "group_replication_consistency": "BEFORE"},
            "gr",
            True,
            {"stale_reads"},
            {"lost_updates"},
        ),
        (
            {**PLAIN, "group_replication_consistency": "EVENTUAL"},
            "gr",
            True,
            set(),
            {"stale_reads"},
        ),
        ({"tx_isolation": "SERIALIZABLE"}, "single", False, set(ANOMALIES), set()),
        (
            {"tx_isolation": "SERIALIZABLE"},
            "galera",
            True,
            {"fractured_reads"},
            {"g2_item", "lost_updates"},
        ),
        (
            {"transaction_isolation": "READ-COMMITTED"},
            "single",
            False,
            {"aborted_reads"},
            {"fractured_reads"},
        ),
        (
            {"transaction_isolation": "READ-UNCOMMITTED"},
            "single",
            False,
            {"g0"},
            {"aborted_reads", "g1c"},
        ),
    ],
)
def test_promises(
    variables: dict[str, str],
    topology: str,
    spread: bool,
    promised: set[str],
    not_promised: set[str],
) -> None:
    found = of(variables, topology, spread)
    assert promised <= found and not not_promised & found


def test_a_client_that_lets_the_server_extend_loses_nothing_at_any_level() -> None:
    assert {"lost_writes", "incompatible_orders"} <= of(
        {"transaction_isolation": "READ-COMMITTED"}, overwrites=False
    )


def test_what_is_read_before_its_writer_commits_promises_no_order() -> None:
    found = of({"transaction_isolation": "READ-UNCOMMITTED"}, overwrites=False)
    assert "lost_writes" in found and "incompatible_orders" not in found


def test_an_asynchronous_replica_waits_for_nothing_before_it_reads() -> None:
    """MariaDB has wsrep_sync_wait without a provider, too; a proxy is in front of the cluster."""
    nodes = {
        name: {**SNAPSHOT, "wsrep_sync_wait": "7"} for name in ("galera1", "galera2", "replica1")
    }
    cluster = {"galera1": "galera", "galera2": "galera"}
    assert not guarantees_of(nodes, {**cluster, "replica1": "single"}, True, True).causal_reads
    del nodes["replica1"]
    assert guarantees_of(nodes, cluster, True, True).causal_reads
    assert guarantees_of({"haproxy1": nodes["galera1"]}, cluster, True, True).causal_reads


def test_the_weakest_node_counts() -> None:
    nodes = {"n1": SNAPSHOT, "n2": {"transaction_isolation": "READ-COMMITTED"}}
    made = guarantees_of(nodes, {"n1": "galera", "n2": "galera"}, True, True)
    assert made == Guarantees("READ-COMMITTED", False, False, True, True)


def test_a_broken_promise_fails_and_all_else_is_a_count() -> None:
    made = guarantees_of({"n1": SNAPSHOT}, {"n1": "galera"}, True, True)
    found = {
        "lost_updates": Anomaly.of(["one", "two"]),
        "stale_reads": Anomaly.of(["three"]),
        "g0": Anomaly(),
    }
    checks = {check.name: check for check in verdicts(found, made)}
    assert {name: check.verdict for name, check in checks.items()} == {
        "no_g0": "pass", "no_lost_updates": "fail", "no_stale_reads": "pass",
    }  # fmt: skip
    assert (
        "2 lost updates (P4)" in checks["no_lost_updates"].detail
        and "one; two" in checks["no_lost_updates"].detail
    )
    assert "(not promised); three" in checks["no_stale_reads"].detail


def test_counts_become_metrics() -> None:
    found = {name: Anomaly.of(["x"]) for name in ANOMALIES}
    metrics = counted(Metrics(), found)
    given = {name: getattr(metrics, name) for name in in_group("anomalies")}
    assert given == {**dict.fromkeys(given, 1), "dirty_reads": 2, "dependency_cycles": 4}
    assert counted(Metrics(), {"lost_updates": Anomaly()}).dependency_cycles is None
    rows = [METRICS[name] for name in given]
    assert all(row.scale == "difference" and not row.higher_is_better for row in rows)


def test_a_history_pairs_events_by_process_and_an_open_one_is_unknown() -> None:
    event = (
        '{"index": %d, "time_ns": %d, "type": "%s", "f": "txn", "process": %d, "node": "n1",'
        ' "value": %s}'
    )
    lines = [
        event % (0, 10, "invoke", 0, '[["r", 1, null]]'),
        event % (1, 11, "invoke", 1, '[["append", 1, 5]]'),
        event % (2, 12, "ok", 0, '[["r", 1, [4]]]'),
        event % (3, 13, "invoke", 0, '[["append", 1, 6]]'),
        event % (4, 14, "fail", 0, '[["append", 1, 6]]'),
    ]
    first, second, third = read_history(lines)
    assert (first.outcome, first.ops, first.began_ns, first.ended_ns) == (
        "ok",
        [["r", 1, [4]]],
        10,
        12,
    )
    assert (second.outcome, second.ended_ns, third.outcome) == ("info", 14, "fail")
    assert str(first) == "#0 on n1 (r 1 [4])"
