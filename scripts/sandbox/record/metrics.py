"""The one table of metrics: all that the program knows of a figure, a row each."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

Scale = Literal["ratio", "difference"]
Group = Literal[
    "throughput",
    "latency",
    "errors",
    "processor time",
    "catch-up",
    "failover",
    "driver",
    "prober",
    "trial counts",
    "anomalies",
    "cluster",
]
Producer = Literal["load", "counters", "trial"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of a record's metrics: how it is called, shown, compared and exported."""

    name: str
    """In records, matrices, queries and JSON; it includes the unit where it has one."""
    title: str
    """In headings, in titles of charts, and in the tables of a trial."""
    export_unit: str
    """In Go's benchmark format; a time is exported in seconds."""
    unit: str
    """Of the stored value, as shown after it."""
    group: Group
    """``failover``: times of an outage and of the recovery from it, in their order; ``cluster``:
    what a fault does to the cluster as a whole; ``driver``: the same of a driver as others are of
    the prober."""
    produced_by: tuple[Producer, ...]
    """``load``: what the load counts itself; ``counters``: control groups and servers, around the
    load; ``trial``: the prober and its ledger."""
    higher_is_better: bool
    scale: Scale = "ratio"
    """Compared by the log ratio, or by the difference where the figure can be zero."""
    smallest_margin: float = 0.05
    """Below it a difference never counts; a share for a ratio, else in the metric's unit."""
    whole: bool = False
    """Whether values are whole numbers."""
    may_be_open: bool = False
    """Whether a trial may know it only as "at least": a time still open at its end, a percentile of
    writes never acknowledged."""
    of_one_server: bool = True
    """Whether a bench of a single server without a proxy has it, so that it can be calibrated."""
    short_title: str = ""
    """Where a column is narrow; empty: the title."""

    @property
    def short(self) -> str:
        """The title for a narrow column."""
        return self.short_title or self.title

    @property
    def export_factor(self) -> float:
        """A stored value times this is one in ``export_unit``."""
        return 1e-3 if self.unit == "ms" else 1.0

    @property
    def smallest_effect(self) -> float:
        """``smallest_margin`` on the metric's scale."""
        return math.log1p(self.smallest_margin) if self.scale == "ratio" else self.smallest_margin

    def difference(self, baseline: float, value: float) -> float | None:
        """The difference that one block adds to a comparison; None for a ratio of which a side is
        not positive.
        """
        if self.scale == "difference":
            return value - baseline
        return math.log(value / baseline) if value > 0 and baseline > 0 else None

    def shown(self, effect: float) -> float:
        """An effect for display: a share of the baseline (0.03 is 3 % more), or a difference."""
        return math.expm1(effect) if self.scale == "ratio" else effect

    def improves(self, effect: float) -> bool:
        """Whether an effect of this sign is an improvement."""
        return (effect > 0) == self.higher_is_better


_rate = partial(
    Metric,
    unit="1/s",
    group="throughput",
    produced_by=("load",),
    higher_is_better=True,
)
_rate_or_zero = partial(_rate, scale="difference", smallest_margin=1.0)
"""Zero for a workload without reads, or without writes, so never a ratio."""
_latency = partial(
    Metric,
    unit="ms",
    group="latency",
    produced_by=("load",),
    higher_is_better=False,
)
_percentile = partial(_latency, produced_by=("load", "trial"), may_be_open=True)
_count = partial(
    Metric,
    unit="1/run",
    higher_is_better=False,
    scale="difference",
    smallest_margin=1.0,
    whole=True,
)
_error = partial(_count, group="errors", produced_by=("load",))
_processor_time = partial(
    Metric,
    unit="ms",
    group="processor time",
    produced_by=("counters",),
    higher_is_better=False,
)
"""The cost of a transaction, whatever else runs on the machine (docs/statistics.md, rule 11)."""
_catch_up = partial(Metric, group="catch-up", produced_by=("load",), of_one_server=False)
_trial_time = partial(
    Metric,
    unit="ms",
    group="failover",
    produced_by=("trial",),
    higher_is_better=False,
    scale="difference",
    smallest_margin=50.0,
    may_be_open=True,
    of_one_server=False,
)
"""Of a trial (docs/failover.md): zero where there was no outage, so never a ratio."""
_driver_time = partial(_trial_time, group="driver")
_trial_count = partial(_count, group="trial counts", produced_by=("trial",), of_one_server=False)
_driver_count = partial(_trial_count, group="driver")
"""Of the driver beside the prober (docs/drivers.md)."""
_anomaly = partial(_count, group="anomalies", produced_by=("load",))
"""An anomaly that a history of transactions shows (docs/isolation.md)."""
_cluster = partial(
    Metric,
    group="cluster",
    produced_by=("trial",),
    scale="difference",
    of_one_server=False,
)

_ROWS = (
    _rate("tps", "throughput (tps)", "transaction/s", short_title="throughput"),
    _rate("qps", "throughput (qps)", "query/s"),
    _rate_or_zero("reads_per_s", "reads per s", "read/s"),
    _rate_or_zero("writes_per_s", "writes per s", "write/s"),
    _latency("latency_avg_ms", "latency avg", "avg-sec"),
    _percentile("latency_p50_ms", "latency p50", "p50-sec"),
    _percentile("latency_p95_ms", "latency p95", "p95-sec"),
    _percentile("latency_p99_ms", "latency p99", "p99-sec"),
    _latency("latency_max_ms", "latency max", "max-sec"),
    _rate_or_zero("tps_sd_1s", "tps sd 1s", "sd-transaction/s", higher_is_better=False),
    _error("errors", "errors", "error/run"),
    _error("conflicts", "conflicts", "conflict/run"),
    _error("reconnects", "reconnects", "reconnect/run"),
    _processor_time(
        "server_cpu_ms_per_tx",
        "processor time of the server per transaction",
        "server-cpu-sec/transaction",
        short_title="processor time",
    ),
    _processor_time(
        "proxy_cpu_ms_per_tx",
        "processor time of the proxy per transaction",
        "proxy-cpu-sec/transaction",
        of_one_server=False,
    ),
    _processor_time(
        "client_cpu_ms_per_tx",
        "processor time of the client per transaction",
        "client-cpu-sec/transaction",
    ),
    _catch_up("catch_up_s", "catch up s", "catch-up-sec", unit="s", higher_is_better=False),
    _catch_up(
        "catch_up_tps",
        "catch up tps",
        "applied-transaction/s",
        unit="1/s",
        higher_is_better=True,
    ),
    _trial_time("rto_ms", "RTO", "rto-sec"),
    _trial_time(
        "rto_new_connection_ms",
        "RTO, new connections",
        "rto-new-connection-sec",
        short_title="RTO, new conn.",
    ),
    _trial_time("outage_first_ms", "first outage", "outage-first-sec"),
    _trial_time("outage_longest_ms", "longest outage", "outage-longest-sec"),
    _trial_time("outage_total_ms", "all outages", "outage-total-sec"),
    _trial_time("detection_ms", "detected by other nodes", "detection-sec", short_title="detected"),
    _trial_time("election_ms", "new writer seen", "election-sec", short_title="election"),
    _trial_time("brownout_ms", "brownout after it", "brownout-sec", short_title="brownout"),
    _trial_time("redundancy_ms", "redundancy restored", "redundancy-sec"),
    _trial_time("join_ms", "joined again", "join-sec"),
    _trial_time("lag_max_ms", "largest lag", "lag-max-sec"),
    _driver_time("driver_rto_ms", "RTO of the driver", "driver-rto-sec", short_title="driver RTO"),
    _driver_time(
        "driver_rto_new_connection_ms",
        "RTO of the driver on new connections",
        "driver-rto-new-connection-sec",
        short_title="driver, new conn.",
    ),
    _driver_time(
        "driver_outage_longest_ms",
        "longest outage of the driver",
        "driver-outage-longest-sec",
        short_title="driver, longest",
    ),
    _driver_time(
        "driver_outage_total_ms",
        "all outages of the driver",
        "driver-outage-total-sec",
        short_title="driver, all",
    ),
    _driver_count("driver_write_errors", "write errors of the driver", "driver-write-errors/run"),
    _driver_count("driver_read_errors", "read errors of the driver", "driver-read-errors/run"),
    _driver_count("driver_lost", "lost by the driver", "driver-lost/run"),
    _driver_count(
        "driver_duplicate",
        "written twice by the driver",
        "driver-duplicate/run",
        short_title="driver, twice",
    ),
    _trial_time("lateness_p99_ms", "lateness p99", "lateness-p99-sec", group="prober"),
    _trial_count("write_errors", "write errors", "write-errors/run"),
    _trial_count("read_errors", "read errors", "read-errors/run"),
    _trial_count("lost", "lost", "lost/run"),
    _trial_count("phantom", "phantom", "phantom/run"),
    _trial_count("duplicate", "duplicate", "duplicate/run"),
    _trial_count("stale", "stale", "stale/run"),
    _anomaly("lost_updates", "lost updates", "lost-updates/run"),
    _anomaly("lost_writes", "lost writes", "lost-writes/run"),
    _anomaly("stale_reads", "stale reads", "stale-reads/run"),
    _anomaly("fractured_reads", "fractured reads", "fractured-reads/run"),
    _anomaly("non_monotonic_reads", "non monotonic reads", "non-monotonic-reads/run"),
    _anomaly("dirty_reads", "dirty reads", "dirty-reads/run"),
    _anomaly("dependency_cycles", "dependency cycles", "dependency-cycles/run"),
    _cluster(
        "flow_control_paused_percent",
        "paused by flow control",
        "flow-control-paused-percent",
        unit="%",
        higher_is_better=False,
        smallest_margin=1.0,
        short_title="paused %",
    ),
    _cluster(
        "queue_max",
        "largest queue",
        "queued-transaction",
        unit="transactions",
        higher_is_better=False,
        smallest_margin=10.0,
        whole=True,
    ),
    _cluster(
        "load_tps_change_percent",
        "change of the load",
        "load-tps-change-percent",
        unit="%",
        higher_is_better=True,
        smallest_margin=5.0,
        short_title="load %",
    ),
)
METRICS = {metric.name: metric for metric in _ROWS}
"""By name in a record, in the order in which they are shown and exported."""


def in_group(group: Group) -> tuple[str, ...]:
    """Names of the metrics of a group, in the order of the table."""
    return tuple(metric.name for metric in METRICS.values() if metric.group == group)


PROCESSOR_TIME = in_group("processor time")
