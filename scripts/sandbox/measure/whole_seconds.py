"""The figures of whole seconds of load: of a bench that ended before its time. Pure."""

import statistics
from collections.abc import Sequence

from sandbox.load.common.workload import Second
from sandbox.record.record import Metrics


def metrics_of(seconds: Sequence[Second]) -> Metrics:
    """Means and sums of whole seconds; no latency, since their percentiles cannot be combined."""
    tps = [each.tps for each in seconds]
    means = {
        name: round(statistics.fmean(getattr(each, name) for each in seconds), 2)
        for name in ("tps", "qps", "reads_per_s", "writes_per_s")
    }
    return Metrics(
        **means,
        transactions=round(sum(tps)),
        measured_s=float(len(seconds)),
        points_1s=len(seconds),
        tps_sd_1s=round(statistics.stdev(tps), 2) if len(tps) > 1 else None,
        errors=seconds[-1].errors,
        conflicts=round(sum(each.conflicts_per_s for each in seconds)),
        reconnects=round(sum(each.reconnects_per_s for each in seconds)),
    )
