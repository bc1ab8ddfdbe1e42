"""The result of a trial: its figures, its ledger and the verdicts on it, as parts of the run's
record.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from sandbox.measure.run import RunEndedError
from sandbox.measure.trial.check import Evidence, judge_all
from sandbox.measure.trial.driver_result import (
    driver_checks,
    driver_counts,
    driver_record,
    driver_times,
)
from sandbox.measure.trial.figures import Cause, figures_of, nearest_rank
from sandbox.measure.trial.ledger import Ledger, rows_of, split_brain
from sandbox.measure.trial.ledger_on_servers import NodeReading
from sandbox.measure.trial.observers import UNDATED, elections, writers_seen
from sandbox.measure.trial.prober_log import ProberLog, read_prober_log
from sandbox.measure.trial.run import StepTimes, Timeline, TrialRun
from sandbox.measure.trial.series import (
    cluster_samples,
    load_change_percent,
    load_seconds,
    paused_percent,
    queue_max,
)
from sandbox.record.metrics import METRICS
from sandbox.record.record import Metrics, Record
from sandbox.record.trial import (
    Figures,
    Lasted,
    LedgerCounts,
    OpCount,
    TrialRecord,
    TrialStep,
    WritersSeen,
)

_TOO_MANY = "1040"
"""A server's error for one connection more than max_connections."""
NOTHING_BREAKS = "none"
"""The fault that is a control."""
LATEST_MS = 20.0
"""A prober that is later than this before anything breaks measures the host, not the stack."""


def judge_trial(
    run: TrialRun,
    writer: str | None,
    readings: Mapping[str, NodeReading],
    behind: Mapping[str, str],
    idle: Collection[str] = (),
    of_driver: Mapping[str, NodeReading] | None = None,
) -> None:
    """Adds the trial, its metrics and its checks to the run. A lost write is a result, and no
    failure of the run.

    ``writer``: the writer when the ledgers were read; ``behind``: nodes that had not caught up
    then, each with the reason; ``idle``: those of them that are out of their group;
    ``of_driver``: the readings of the driver's ledger, where there is one. Raises
    RunEndedError where the prober itself was too late to measure anything, or ended before the
    trial, and where an action was not done.
    """
    log = _log(run)
    timeline = run.timeline
    timeline.steps.sort(key=lambda each: each.began_us)
    t0_us = _t0_us(timeline, log)
    end_us = timeline.end_us or t0_us
    healed_us = max((each.healed_us or each.ended_us for each in timeline.steps), default=t0_us)
    figures = _figures(log, timeline, t0_us, end_us)
    rows = {node: rows_of(each.rows) for node, each in readings.items() if each.rows is not None}
    ledger = Ledger(log, rows, writer)
    counts = _counts(ledger, figures, t0_us, run.writers_at_start > 1)
    driver = driver_record(
        run,
        lambda other: _figures(other, timeline, t0_us, end_us),
        log.observations,
        of_driver,
        writer,
    )
    lengths = _latencies(log, t0_us, healed_us) | _join(timeline) | driver_times(driver)
    still_open = [name for name, (_, is_open) in lengths.items() if is_open]
    recovered_by = {name: ledger.taker(op) for name, op in figures.recovered_by_op.items()}
    figures = figures.model_copy(
        update={"censored": (*figures.censored, *still_open), "recovered_by": recovered_by}
    )
    known: dict[str, float | None] = {name: ms for name, (ms, _) in lengths.items()}
    known |= _beside(run, log, t0_us, healed_us) | driver_counts(driver)
    run.metrics = _metrics(figures, counts, timeline, t0_us).model_copy(update=known)
    judged = _record(run, log, figures, counts, (t0_us, end_us))
    run.judged = judged.model_copy(update={"driver": driver})
    evidence = _evidence(run, readings, figures, counts, writer)
    evidence = replace(evidence, behind=behind, idle=idle)
    run.checks += judge_all(evidence)
    if driver is not None:
        run.checks += driver_checks(evidence, driver, of_driver)
    _require_measured(figures, timeline)


def _figures(log: ProberLog, timeline: Timeline, t0_us: float, end_us: float) -> Figures:
    """The figures of the log; none of replication lag where a fault leaves the observers' rows
    undated.
    """
    steps = timeline.steps
    actions = [each.began_us for each in steps if each.step.action is not None]
    gave_up = [each.heal_began_us or math.inf for each in steps if each.gave_up]
    figures = figures_of(
        log,
        t0_us,
        [(each.began_us, each.ended_us, each.healed_us) for each in steps],
        end_us,
        broken=steps[0].nodes if steps and steps[0].step.action is None else (),
        acted_us=min(actions, default=math.inf),
        clock_us=timeline.clock_us or 0.0,
        gave_up_us=min(gave_up, default=math.inf),
        causes=_causes(timeline),
    )
    if any(each.step.fault == UNDATED for each in steps):
        return figures.model_copy(update={"lag": {}})
    return figures


def _causes(timeline: Timeline) -> list[Cause]:
    """When something was broken or an operator was at work; ``none`` breaks nothing, so that no
    stall is an outage.
    """
    causes: list[Cause] = []
    for each in timeline.steps:
        if each.step.action is not None:
            causes.append((each.began_us, math.inf if each.outcome is None else each.ended_us))
        elif each.step.fault != NOTHING_BREAKS:
            causes.append((each.began_us, math.inf if each.healed_us is None else each.healed_us))
    return causes


def is_brownout_over(run: TrialRun, now_us: float) -> bool:
    """Whether writes are as quick as before the fault, by what the prober has logged so far; where
    unknown, yes.
    """
    path = run.folder / run.files["probe"]
    whole_lines = path.read_text(encoding="utf-8").rpartition("\n")[0]
    try:
        log = read_prober_log(whole_lines.splitlines())
    except ValueError:  # it is judged, and refused, at the end
        return True
    figures = _figures(log, run.timeline, _t0_us(run.timeline, log), now_us)
    return "brownout_ms" not in figures.censored or "rto_ms" in figures.censored


def _require_measured(figures: Figures, timeline: Timeline) -> None:
    """Raises RunEndedError where the prober was late before anything broke, and where an action was
    not done.
    """
    late = figures.lateness_p99_ms
    if late is None or late > LATEST_MS:
        shown = "unknown" if late is None else f"{late:.1f} ms"
        raise RunEndedError(
            "infra_error",
            f"the prober was late before the fault (p99 {shown}): the host is too busy",
        )
    undone = "; ".join(
        f"{each.step.name} was not done: {each.outcome}" for each in timeline.steps if each.undone
    )
    if undone:
        raise RunEndedError("failed", undone)


def prober_was_late(record: Record) -> bool:
    """Whether a trial measured the host: another one may not."""
    return record.status == "infra_error" and (record.metrics.lateness_p99_ms or 0.0) > LATEST_MS


def _log(run: TrialRun) -> ProberLog:
    """The prober's log. Raises RunEndedError for one without its end: what came later would look
    like an outage.
    """
    said = run.prober.last_words
    try:
        with (run.folder / run.files["probe"]).open(encoding="utf-8") as lines:
            log = read_prober_log(lines)
    except ValueError as error:
        raise RunEndedError(
            "infra_error", f"the prober's log cannot be read: {error}; it printed last: {said}"
        ) from error
    if not log.ended:
        raise RunEndedError(
            "infra_error", f"the prober ended before the trial did; it printed last: {said}"
        )
    return log


def _t0_us(timeline: Timeline, log: ProberLog) -> float:
    """Start of the first fault or action; of a trial in which nothing was done, the end of the
    log.
    """
    if timeline.steps:
        return min(each.began_us for each in timeline.steps)
    return timeline.end_us or float(log.acks("pooled")[-1:].max(initial=0.0))


def _counts(ledger: Ledger, figures: Figures, t0_us: float, writers_at_once: bool) -> LedgerCounts:
    """The verdicts; those on a split brain only where another writer was elected."""
    elected = elections(ledger.log.observations, t0_us)
    split = None
    if elected:
        split = split_brain(ledger, elected, 1000 * figures.resolution_ms["election_ms"])
    return ledger.counts(split, writers_at_once)


def _evidence(
    run: TrialRun,
    readings: Mapping[str, NodeReading],
    figures: Figures,
    counts: LedgerCounts,
    writer: str | None,
) -> Evidence:
    transactions = {node: each.gtid for node, each in readings.items()}
    if any(node.topology == "galera" for node in run.servers_of_group):
        # A member of a Galera cluster numbers what it does on its own, too: its sets differ from
        # others by design.
        transactions = {}
    actions = [each for each in run.timeline.steps if each.step.action is not None]
    return Evidence(
        ledger=counts,
        unread={node: each.problem for node, each in readings.items() if each.problem is not None},
        transactions=transactions,
        single_writer=run.writers_at_start <= 1,
        elected=figures.election_ms is not None,
        writer=writer,
        refused=_refused(figures),
        refused_by=run.refused,
        consistency=run.consistency,
        actions=[
            (each.step.name, each.outcome or "it did not end", each.refused) for each in actions
        ],
    )


def _refused(figures: Figures) -> int:
    phases = (figures.errors_before, figures.errors_during, figures.errors_after)
    return sum(by_code.get(_TOO_MANY, 0) for phase in phases for by_code in phase.values())


def _metrics(figures: Figures, counts: LedgerCounts, timeline: Timeline, t0_us: float) -> Metrics:
    named = METRICS.keys() & Figures.model_fields.keys()
    redundancy_ms = None
    if timeline.whole_us is not None:
        redundancy_ms = round((timeline.whole_us - t0_us) / 1000, 1)
    return Metrics(
        **{name: getattr(figures, name) for name in named},
        redundancy_ms=redundancy_ms,
        lag_max_ms=max((lag.max_ms for lag in figures.lag.values()), default=None),
        write_errors=_errors_since_t0(figures, "writes"),
        read_errors=_errors_since_t0(figures, "reads"),
        lost=_count_of(counts.lost),
        phantom=_count_of(counts.phantom),
        duplicate=_count_of(counts.duplicate),
        stale=sum(each.stale for each in counts.stale.values()),
    )


def _errors_since_t0(figures: Figures, kind: str) -> int:
    """Slots of ``writes`` or ``reads`` that failed or are unknown, during the fault and after."""
    phases = (figures.errors_during, figures.errors_after)
    return sum(sum(phase.get(kind, {}).values()) for phase in phases)


def _count_of(ops: OpCount | None) -> int | None:
    return None if ops is None else ops.count


def _join(timeline: Timeline) -> dict[str, Lasted]:
    """The longest of all joins; still open where any was."""
    joined = [each for step in timeline.steps for each in step.joined_s]
    if not joined:
        return {}
    longest_s = max(took_s for took_s, _ in joined)
    still_open = any(still_open for _, still_open in joined)
    return {"join_ms": (round(1000 * longest_s, 1), still_open)}


def _latencies(log: ProberLog, t0_us: float, healed_us: float) -> dict[str, Lasted]:
    """Percentiles of pooled writes due while something was broken, ms, and whether each is open.

    Where so many were never acknowledged it is open, and at least the time-out and the slowest
    write that was.
    """
    latencies = log.latency_ms("pooled", t0_us, healed_us)
    timeout_ms = 1000 * float(log.request["timeout_s"])
    slowest_ms = float(latencies.max(initial=0, where=~np.isinf(latencies)))
    found: dict[str, Lasted] = {}
    for percent in (50, 95, 99):
        ms = nearest_rank(latencies, percent)
        if ms is None:
            continue
        is_open = math.isinf(ms)
        if is_open:
            ms = max(timeout_ms, slowest_ms)
        found[f"latency_p{percent}_ms"] = (round(ms, 3), is_open)
    return found


def _beside(
    run: TrialRun, log: ProberLog, t0_us: float, healed_us: float
) -> dict[str, float | None]:
    """Metrics of the fault's effect on the cluster and on the load; None where neither the samples
    nor the load say it.
    """
    end_us = run.timeline.end_us or healed_us
    samples = cluster_samples(_lines(run, "samples"), log.began_utc_s)
    load = load_seconds(_lines(run, "load_seconds"))
    return {
        "flow_control_paused_percent": paused_percent(samples, t0_us, healed_us),
        "queue_max": queue_max(samples, t0_us, end_us),
        "load_tps_change_percent": load_change_percent(load, t0_us, healed_us),
    }


def _lines(run: TrialRun, word: str) -> list[bytes]:
    path = run.folder / run.files.get(word, "")
    return path.read_bytes().splitlines() if path.is_file() else []


def _record(
    run: TrialRun,
    log: ProberLog,
    figures: Figures,
    counts: LedgerCounts,
    window_us: tuple[float, float],
) -> TrialRecord:
    timeline = run.timeline
    t0_us, end_us = window_us
    return TrialRecord(
        steps=[_step(each) for each in timeline.steps],
        t0_ms=_ms(t0_us) if timeline.steps else None,
        end_ms=_ms(end_us),
        whole_ms=_known_ms(timeline.whole_us),
        watched_ms=_known_ms(timeline.watched_us),
        direct=len(log.request["write"]) > 1,
        rates=dict(log.request["rates"]),
        timeout_s=float(log.request["timeout_s"]),
        transaction=bool(log.request["transaction"]),
        load_rate_per_s=run.load.rate_per_s if run.load else None,
        load_starts=run.load.starts if run.load else None,
        writers=[
            WritersSeen(at_ms=at / 1000, nodes=list(nodes))
            for at, nodes in writers_seen(log.observations)
        ],
        moved=dict(timeline.moved),
        clock_uncertainty_ms=_known_ms(timeline.clock_us),
        figures=figures,
        ledger=counts,
    )


def _ms(us: float) -> float:
    """A time of a record, to the microsecond."""
    return round(us / 1000, 3)


def _known_ms(us: float | None) -> float | None:
    return None if us is None else _ms(us)


def _step(times: StepTimes) -> TrialStep:
    step = times.step
    return TrialStep(
        fault=step.fault,
        action=step.action,
        target=step.target,
        nodes=times.nodes,
        options=dict(step.options),
        at_s=step.at_s,
        began_ms=_ms(times.began_us),
        ended_ms=_ms(times.ended_us),
        heal_began_ms=_known_ms(times.heal_began_us),
        healed_ms=_known_ms(times.healed_us),
        gave_up=times.gave_up,
        outcome=times.outcome,
        refused=times.refused,
    )
