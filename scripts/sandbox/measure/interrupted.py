"""A run that is ended from outside, by Ctrl-C, TERM or a time limit: what it has measured by then is kept."""

import statistics
import time
from collections.abc import Sequence

from sandbox.core.errors import SandboxError
from sandbox.load.common.workload import Second
from sandbox.measure import counters
from sandbox.measure.run import Run, RunEndedError
from sandbox.measure.trial.prober import RunningProbe
from sandbox.measure.trial.result import judge_trial
from sandbox.record.record import Metrics


def keep_figures(run: Run, step: str) -> str:
    """Adds the figures so far to the run; the reason of its record. ``step``: the one that was interrupted."""
    reason = f"interrupted during {step}"
    if run.request.trial is not None:
        return "; ".join([reason, *_keep_trial(run)])
    measured = [second for second in run.series if second.phase == "measure"]
    if run.metrics.tps is None and measured:
        run.metrics = _metrics_so_far(run, measured)
        asked_s = run.session.parameters.seconds
        reason += f"; the figures are those of its first {len(measured)} of {asked_s} s"
    return reason


def _metrics_so_far(run: Run, measured: Sequence[Second]) -> Metrics:
    metrics = metrics_of(measured)
    group = run.session.entry.group_index
    cpu = counters.cpu_per_transaction(run.usage, run.live_nodes, group, metrics.transactions)
    return metrics.model_copy(update=cpu)


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


def _keep_trial(run: Run) -> list[str]:
    """Heals first; then the probe ends in order, and its log is judged up to now. What else is to be said."""
    said: list[str] = []
    try:
        if run.probe is not None and not run.probe.ended:
            _end_probe(run, run.probe)
        if run.trial is None and "probe" in run.files:
            judge_trial(run, None, {}, {})
            said.append("its figures end there, and no ledger was read")
    except RunEndedError as end:  # a log that cannot be judged leaves no figures
        said.append(end.reason)
    except SandboxError as error:  # a fault that cannot be healed
        said.append(f"{error.what}: {error.known}")
    except KeyboardInterrupt:  # of the second one nothing but the healing is waited for
        pass
    return said


def _end_probe(run: Run, probe: RunningProbe) -> None:
    clock, timeline = probe.clock(), run.timeline
    timeline.end_us = clock.probe_us(time.monotonic_ns())
    if run.breaking is not None:
        run.breaking.close()
    healed_us = clock.probe_us(time.monotonic_ns())
    for each in timeline.steps:
        if each.step.fault is not None and each.healed_us is None:
            each.heal_began_us, each.healed_us = timeline.end_us, healed_us
    probe.stop()
