"""The record of one run as a model; missing is null and never 0, units are in the names."""

from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, create_model

from sandbox.core.words import ImageOrigin
from sandbox.record.consistency import ConsistencyRecord
from sandbox.record.metrics import METRICS
from sandbox.record.repro import ReproRecord
from sandbox.record.trial import TrialRecord
from sandbox.record.upgrade import UpgradeRecord

Status = Literal["ok", "failed", "infra_error", "skipped", "interrupted"]
Verdict = Literal["pass", "fail", "unknown", "skipped"]
NodeRole = Literal[
    "writer", "reader", "stale", "arbitrator", "proxy", "manager", "monitor", "client"
]


class Part(BaseModel):
    """Base of everything in a record: no unknown keys, immutable."""

    model_config = ConfigDict(
        defer_build=True, extra="forbid", frozen=True, serialize_by_alias=True
    )


class NodeRecord(Part):
    """One node as it was when the run started."""

    name: str
    term: str
    role: NodeRole | None
    """As the server reports it; null if it did not answer, or neither takes writes nor follows a
    server.
    """
    image: str | None
    image_id: str | None
    image_source: ImageOrigin | None
    digest: str | None
    package_version: str | None
    server_version: str | None
    cpu_s: float | None = None
    """Processor time of its control group during the measured window, seconds; this one and the
    next two: null where there is no container, or where its counters could not be read.
    """
    read_bytes: int | None = None
    """From block devices; a stacked one (LVM, RAID) counts at each level, as in `docker stats`."""
    written_bytes: int | None = None


class Absence(Part):
    """A member of a cluster that took none of the load on all members for a while; from the start
    of the load on.
    """

    member: str
    from_s: float
    until_s: float | None
    """Null: it was away to the end."""
    error: str
    """The error that its first client got."""
    on_purpose: bool = False
    """Whether somebody had stopped or broken it."""


class EntryRecord(Part):
    """Where the load went, and which servers answered it."""

    via: str
    node: str
    host: str
    port: int
    multiplexes: bool
    answered: dict[str, int] | None = None
    """Servers that answered the load, each with the statements it counted from clients during the
    measured window.
    """
    absences: list[Absence] = Field(default_factory=list)
    """Of a load on all members of a cluster: when some were away, so that its figures are those of
    the others.
    """


class PreparationRecord(Part):
    """The data, and where it came from."""

    tables: int
    rows_per_table: int | None
    """Null where tables differ in their rows."""
    details: str | None = None
    """Anything else that distinguishes this data from other data: ``2 warehouses``."""
    reused: bool
    seconds: float | None
    """Duration of the preparation; null when the data was reused."""


class WorkloadRecord(Part):
    """The load on the stack, with everything needed to repeat it by hand."""

    name: str
    threads: int
    seconds: int
    warmup_s: int
    tables: int | None
    """This one and the next two: null for a workload that does not support them."""
    rows_per_table: int | None
    distribution: str | None
    rate_per_s: int | None
    """Target transactions per second; null: as fast as possible."""
    options: dict[str, str | int | float | bool]
    """The workload's own options: the name of the sysbench script, the number of warehouses."""
    file_name: str | None = None
    """For a user-defined workload."""
    file_sha256: str | None = None
    entry: EntryRecord | None = None
    """Null for a run that never started."""
    preparation: PreparationRecord | None = None
    load_command: list[str] | None = None
    """The command as it ran in the client node."""


class KindMetrics(Part):
    """Figures of one kind of transaction; those of a ``background`` one are not the load's."""

    transactions: int
    tps: float | None = None
    latency_avg_ms: float | None = None
    latency_p50_ms: float | None = None
    latency_p95_ms: float | None = None
    latency_p99_ms: float | None = None
    latency_max_ms: float | None = None
    background: bool = False


def _with_every_metric(model: type[Part]) -> type[Part]:
    """The model with a field for each metric of the table that it does not declare itself.

    Such a field comes after the declared ones, and is null until known.
    """
    others: dict[str, Any] = {
        metric.name: (int | None if metric.whole else float | None, None)
        for metric in METRICS.values()
        if metric.name not in model.model_fields
    }
    if not others:
        return model
    return create_model(
        model.__name__,
        __base__=model,
        __module__=model.__module__,
        __doc__=model.__doc__,
        **others,
    )


@_with_every_metric
class Metrics(Part):
    """Figures of the measured window. Latency is that of a transaction (sysbench: of an event).

    In a trial it is that of the prober's writes on pooled connections that were due between the
    first injection and the last heal; at least that (its name is in ``censored``) where so many of
    them were never acknowledged.
    """

    tps: float | None = None
    qps: float | None = None
    reads_per_s: float | None = None
    writes_per_s: float | None = None
    latency_avg_ms: float | None = None
    latency_p50_ms: float | None = None
    latency_p95_ms: float | None = None
    latency_p99_ms: float | None = None
    latency_max_ms: float | None = None
    latency_precision_percent: float | None = None
    """Width of the histogram's buckets: a percentile is known to within this share of itself."""
    latency_resolution_ms: float | None = None
    """No percentile is more precise than this, however short."""
    tps_sd_1s: float | None = None
    """Standard deviation of the one-second series; seconds of one run are not replicates."""
    points_1s: int | None = None
    """Number of one-second points behind ``tps_sd_1s``."""
    transactions: int | None = None
    queries: int | None = None
    connections: int | None = None
    """Opened by the load; null where it does not count them. A server may count each disconnect as
    a statement.
    """
    measured_s: float | None = None
    errors: int | None = None
    errors_by_code: dict[str, int] | None = None
    conflicts: int | None = None
    """Transactions rolled back as expected: retried after a deadlock, a lock wait or a
    certification conflict; or given up where the workload itself says so (code ``expected``).
    """
    conflicts_by_code: dict[str, int] | None = None
    """As the load counted them, else from the servers' own counters; ``other``: what they do not
    count; null where they count none.
    """
    reconnects: int | None = None
    server_cpu_ms_per_tx: float | None = None
    """Processor time of all servers of the group that was loaded, divided by the load's
    transactions (statistics.md, rule 11); this one and the next two: null without such a container,
    or without a transaction.
    """
    proxy_cpu_ms_per_tx: float | None = None
    client_cpu_ms_per_tx: float | None = None
    """Of the client node: the load generator, and the sampler."""
    by_kind: dict[str, KindMetrics] | None = None
    """By kind of transaction; null where the load does not distinguish kinds."""
    catch_up_s: float | None = None
    """Time in which the slowest replica applied all transactions of the run, from the start of its
    applier on; this one and the next two: of the workload replica-catch-up, null for any other.
    """
    catch_up_tps: float | None = None
    """Transactions that the slowest replica applied in a second."""
    catch_up_s_by_replica: dict[str, float] | None = None
    rto_ms: float | None = None
    """From the first injection to the end of the first outage, by writes on pooled connections; 0
    without an outage. This one and all below: of a trial (docs/failover.md); null where nothing
    breaks, and where undefined.
    """
    rto_new_connection_ms: float | None = None
    """The RTO by writes that open a connection each."""
    outage_first_ms: float | None = None
    outage_longest_ms: float | None = None
    outage_total_ms: float | None = None
    detection_ms: float | None = None
    """From the first injection to the first observation of a node that misses the broken one; null
    where none did.
    """
    election_ms: float | None = None
    """From the first injection to the first observation of a new writer; null where the writer
    stayed.
    """
    brownout_ms: float | None = None
    """From the end of the first outage to the first of five seconds whose p99 is below twice the
    baseline's.
    """
    redundancy_ms: float | None = None
    """From the first injection to the moment when every node is ready again and has caught up."""
    join_ms: float | None = None
    """From the start of a server by an action to the moment when every node is ready again: the
    longest; the limit where one was not ready by then, or ended (its name is in ``censored``).
    """
    lag_max_ms: float | None = None
    write_errors: int | None = None
    """Writes that failed or whose outcome is unknown, from the first injection on."""
    read_errors: int | None = None
    lost: int | None = None
    """Acknowledged writes that the writer does not have in the end."""
    phantom: int | None = None
    duplicate: int | None = None
    stale: int | None = None
    """Reads that missed a write acknowledged before they began."""
    flow_control_paused_percent: float | None = None
    """Share of the time from the first injection to the last heal in which flow control paused the
    cluster; null where the servers do not count it (Group Replication).
    """
    queue_max: int | None = None
    """The largest number of transactions that a node had received and not yet applied, from the
    first injection on.
    """
    load_tps_change_percent: float | None = None
    """Throughput of the load beside the prober, from the first injection to the last heal against
    before it.
    """
    lateness_p99_ms: float | None = None
    """Of the prober's slots before the first injection."""
    lost_updates: int | None = None
    """Anomalies of a history (docs/isolation.md), this one and all below; null for a load without
    one. P4.
    """
    lost_writes: int | None = None
    """Acknowledged, but not there in the end."""
    stale_reads: int | None = None
    fractured_reads: int | None = None
    non_monotonic_reads: int | None = None
    dirty_reads: int | None = None
    """Of what was rolled back, or overwritten by the same transaction: G1a, G1b."""
    dependency_cycles: int | None = None
    """G0, G1c, G-single, G2-item."""


class HostLoad(Part):
    """The machine during the measured window, from the one-second samples; null where the kernel
    does not report it.
    """

    seconds: float | None = None
    cpu_busy_percent: float | None = None
    steal_percent: float | None = None
    steal_percent_max_1s: float | None = None
    pressure_cpu_some_percent: float | None = None
    pressure_io_some_percent: float | None = None
    pressure_io_full_percent: float | None = None
    pressure_memory_some_percent: float | None = None
    load_average_1min_max: float | None = None


class Inputs(Part):
    """Changes that the user asked for at ``up`` besides the profile; files by name and sha256."""

    assignments: list[str] = Field(default_factory=list)
    cpus: str | None = None
    memory: str | None = None
    cpuset: str | None = None
    disk: str | None = None
    """File system and size of each data directory's own disk; null: the engine's."""
    image: str | None = None
    """The user's own images, as IMAGE= takes them."""
    binary: str | None = None
    """The servers that the user built, as BINARY= takes them; the tag of a node's image says what
    was in them.
    """
    replicate: list[str] = Field(default_factory=list)
    """Replication between groups."""
    cnf_name: str | None = None
    cnf_sha256: str | None = None
    cnf_files: dict[str, str] = Field(default_factory=dict)
    """File of a single node or term, as typed (``haproxy:my.cfg``) → its sha256."""
    init_name: str | None = None
    init_sha256: str | None = None


class Environment(Part):
    """The machine where the containers ran (with Docker Desktop: its virtual machine)."""

    cpu_model: str | None = None
    cpus: int | None = None
    cpu_governor: str | None = None
    memory_bytes: int | None = None
    kernel: str | None = None
    architecture: str | None = None
    operating_system: str | None = None
    virtualization: str | None = None
    cgroup_version: str | None = None
    engine_version: str | None = None
    storage_driver: str | None = None
    data_file_system: dict[str, str | None] = Field(default_factory=dict)
    """Type of the file system under each server's data directory."""
    during: HostLoad = HostLoad()
    inputs: Inputs = Inputs()


class CheckRecord(Part):
    """One verdict on the run. ``detail`` says what was seen."""

    name: str
    verdict: Verdict
    detail: str


class Record(Part):
    """One cell in one block. JSON Schema: ``tests/golden/record.schema.json``."""

    schema_version: Literal[1] = 1
    run_id: str
    """``<result folder>/<cell>.<block>``."""
    profile: str
    stack: str
    started_utc: AwareDatetime
    seed: int
    cell: str
    block: int
    status: Status
    reason: str | None
    command: list[str]
    nodes: list[NodeRecord]
    workload: WorkloadRecord
    metrics: Metrics
    status_delta: dict[str, dict[str, int | float]]
    variables: dict[str, dict[str, str]]
    environment: Environment
    checks: list[CheckRecord]
    files: dict[str, str]
    """The files next to the record: label → path relative to the record."""
    trial: TrialRecord | None = None
    """Null in a run in which nothing breaks."""
    repro: ReproRecord | None = None
    upgrade: UpgradeRecord | None = None
    """Each null in a run of another kind."""
    consistency: list[ConsistencyRecord] = Field(default_factory=list)
    """Whether the servers held the same in the end; empty where nobody looked."""

    @property
    def counts(self) -> bool:
        """Whether its figures count: it is ok, and not of block 0, a discarded warm-up
        (docs/statistics.md, rule 4).

        Those of a load on all members of which one was away are of fewer members.
        """
        entry = self.workload.entry
        return self.status == "ok" and self.block > 0 and not (entry and entry.absences)

    def to_json(self) -> str:
        """The record as it is stored and printed."""
        return self.model_dump_json(indent=2) + "\n"
