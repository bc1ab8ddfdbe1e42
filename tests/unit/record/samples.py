"""A record as a run could have left it, for tests to change."""

from datetime import UTC, datetime
from typing import Any

from sandbox.record.record import (
    CheckRecord,
    EntryRecord,
    Environment,
    HostLoad,
    Metrics,
    NodeRecord,
    PreparationRecord,
    Record,
    WorkloadRecord,
)

METRICS = Metrics(
    tps=1234.5,
    qps=24690.0,
    reads_per_s=17283.0,
    writes_per_s=4938.0,
    latency_avg_ms=6.47,
    latency_p50_ms=5.99,
    latency_p95_ms=10.27,
    latency_p99_ms=14.46,
    latency_max_ms=158.83,
    latency_precision_percent=1.82,
    latency_resolution_ms=0.001,
    tps_sd_1s=45.2,
    points_1s=30,
    transactions=37035,
    queries=740700,
    measured_s=30.0,
    errors=0,
    errors_by_code={},
    conflicts=158,
    conflicts_by_code={"1213": 150, "other": 8},
    reconnects=0,
    server_cpu_ms_per_tx=1.5119,
    client_cpu_ms_per_tx=0.4321,
)


def sample_record(**changed: Any) -> Record:
    """An ok bench of two nodes."""
    given: dict[str, Any] = {
        "run_id": "20250131T235959Z-mysql/bench.1",
        "profile": "mysql@9.7+replica1",
        "stack": "default",
        "started_utc": datetime(2025, 1, 31, 23, 59, 59, tzinfo=UTC),
        "seed": 4711,
        "cell": "bench",
        "block": 1,
        "status": "ok",
        "reason": None,
        "command": ["sandbox", "bench"],
        "nodes": [_node("mysql1", "writer"), _node("replica1", "reader")],
        "workload": WorkloadRecord(
            name="oltp_read_write",
            threads=8,
            seconds=30,
            warmup_s=5,
            tables=4,
            rows_per_table=100_000,
            distribution="uniform",
            rate_per_s=None,
            options={"script": "oltp_read_write"},
            entry=EntryRecord(
                via="writer",
                node="mysql1",
                host="mysql1",
                port=3306,
                multiplexes=False,
                answered={"mysql1": 740_990},
            ),
            preparation=PreparationRecord(
                tables=4, rows_per_table=100_000, reused=False, seconds=12.3
            ),
            load_command=["sysbench", "run"],
        ),
        "metrics": METRICS,
        "status_delta": {"mysql1": {"Com_select": 500}},
        "variables": {"mysql1": {"sync_binlog": "1"}},
        "environment": Environment(
            cpu_model="Test CPU", cpus=4, during=HostLoad(cpu_busy_percent=98.0)
        ),
        "checks": [
            CheckRecord(name="load_reached_server", verdict="pass", detail="all of it"),
            CheckRecord(
                name="settings_in_effect", verdict="skipped", detail="the profile has no setting"
            ),
        ],
        "files": {"load_log": "load.log"},
    }
    return Record(**{**given, **changed})


def _node(name: str, role: Any) -> NodeRecord:
    return NodeRecord(
        name=name,
        term="mysql@9.7",
        role=role,
        image="sandbox/mysql:9.7-sid",
        image_id="sha256:1",
        image_source="built",
        digest=None,
        package_version="9.7.4-2",
        server_version="9.7.4-2 (Debian)",
        cpu_s=28.0 if role == "writer" else 12.0,
        read_bytes=0,
        written_bytes=3_400_000,
    )
