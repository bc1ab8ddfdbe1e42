"""The single table of metrics: which direction is better, and how two values are compared."""

import math
from dataclasses import dataclass
from typing import Literal

Scale = Literal["ratio", "difference"]
TRIAL_TIMES = (
    *("rto_ms", "rto_new_connection_ms", "outage_first_ms", "outage_longest_ms", "outage_total_ms", "detection_ms"),
    *("election_ms", "brownout_ms", "redundancy_ms", "join_ms", "lag_max_ms", "lateness_p99_ms"),
)
"""Times of a trial (docs/failover.md): zero where there was no outage, so never a ratio."""
CENSORABLE = (*TRIAL_TIMES, *(f"latency_p{percent}_ms" for percent in (50, 95, 99)))
"""What a trial may know only as "at least": a time still open at its end, a percentile of writes never acknowledged."""
TRIAL_COUNTS = ("write_errors", "read_errors", "lost", "phantom", "duplicate", "stale")
ANOMALY_COUNTS = (
    *("lost_updates", "lost_writes", "stale_reads", "fractured_reads", "non_monotonic_reads", "dirty_reads"),
    "dependency_cycles",
)
"""What a history of transactions shows (docs/isolation.md)."""
PROCESSOR_TIME = ("server_cpu_ms_per_tx", "proxy_cpu_ms_per_tx", "client_cpu_ms_per_tx")
"""The cost of a transaction, whatever else runs on the machine (docs/statistics.md, rule 11)."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of a record's metrics. ``scale``: the log ratio, or the difference where the figure can be zero.

    ``smallest_margin``: below it a difference never counts; a share for a ratio, else in the metric's own unit.
    """

    name: str
    unit: str
    higher_is_better: bool
    scale: Scale = "ratio"
    smallest_margin: float = 0.05

    @property
    def smallest_effect(self) -> float:
        """``smallest_margin`` on the metric's scale."""
        return math.log1p(self.smallest_margin) if self.scale == "ratio" else self.smallest_margin

    def difference(self, baseline: float, value: float) -> float | None:
        """What one block contributes to the comparison; None for a ratio with a value that is not positive."""
        if self.scale == "difference":
            return value - baseline
        return math.log(value / baseline) if value > 0 and baseline > 0 else None

    def shown(self, effect: float) -> float:
        """An effect for display: a share of the baseline (0.03 is 3 % more), or a difference in the unit."""
        return math.expm1(effect) if self.scale == "ratio" else effect

    def improves(self, effect: float) -> bool:
        """Whether an effect of this sign is an improvement."""
        return (effect > 0) == self.higher_is_better


METRICS = {
    metric.name: metric
    for metric in (
        Metric("tps", "1/s", True),
        Metric("qps", "1/s", True),
        Metric("reads_per_s", "1/s", True, "difference", 1.0),
        Metric("writes_per_s", "1/s", True, "difference", 1.0),
        *(Metric(f"latency_{which}_ms", "ms", False) for which in ("avg", "p50", "p95", "p99", "max")),
        Metric("tps_sd_1s", "1/s", False, "difference", 1.0),
        *(Metric(name, "1/run", False, "difference", 1.0) for name in ("errors", "conflicts", "reconnects")),
        *(Metric(name, "ms", False) for name in PROCESSOR_TIME),
        Metric("catch_up_s", "s", False),
        Metric("catch_up_tps", "1/s", True),
        *(Metric(name, "ms", False, "difference", 50.0) for name in TRIAL_TIMES),
        *(Metric(name, "1/run", False, "difference", 1.0) for name in (*TRIAL_COUNTS, *ANOMALY_COUNTS)),
        Metric("flow_control_paused_percent", "%", False, "difference", 1.0),
        Metric("queue_max", "transactions", False, "difference", 10.0),
        Metric("load_tps_change_percent", "%", True, "difference", 5.0),
    )
}
"""By name in a record. Reads and writes are zero for a workload that has none, so they cannot be ratios."""
