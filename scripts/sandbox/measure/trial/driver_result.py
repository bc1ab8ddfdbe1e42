"""The result of the driver of a trial: its figures beside the prober's, its ledger, its checks."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from sandbox.measure.run import RunEndedError
from sandbox.measure.trial.check import Evidence, judge_all
from sandbox.measure.trial.driver_client import DriverClient
from sandbox.measure.trial.ledger import Ledger, rows_of
from sandbox.measure.trial.ledger_on_servers import NodeReading
from sandbox.measure.trial.prober_log import ProberLog, Seen, read_prober_log
from sandbox.measure.trial.run import TrialRun
from sandbox.record.record import CheckRecord
from sandbox.record.trial import DriverRecord, Figures, Lasted

TIMES = ("rto_ms", "rto_new_connection_ms", "outage_longest_ms", "outage_total_ms")
"""Figures of the prober that the driver has, too, under its own names."""
CHECKS = ("lost", "phantom", "duplicate", "divergence", "stale_reads")
"""Checks of the prober's ledger that the driver's has, too."""
PREFIX = "driver_"


def driver_log(run: TrialRun, driver: DriverClient) -> ProberLog:
    """Its log. Raises RunEndedError for one that cannot be read."""
    name = run.files["driver"]
    try:
        with (run.folder / name).open(encoding="utf-8") as lines:
            log = read_prober_log(lines)
    except ValueError as error:
        reason = f"the driver's log cannot be read: {error}; it printed last: {driver.last_words}"
        raise RunEndedError("infra_error", reason) from error
    return log


def driver_record(
    run: TrialRun,
    figures_of: Callable[[ProberLog], Figures],
    seen: Seen,
    readings: Mapping[str, NodeReading] | None,
    writer: str | None,
) -> DriverRecord | None:
    """The record of the driver; None in a trial without one, and in one that was interrupted before
    its first slot, or in which it did not end in order.

    ``figures_of``: the figures of a log in this trial; ``seen``: what the prober observed;
    ``readings``: of the driver's ledger, None where the trial was interrupted. Raises RunEndedError
    where it ended before the trial.
    """
    driver = run.driver
    if driver is None or (readings is None and not _has_log(run)):
        return None
    log = driver_log(run, driver)
    if not log.ended:
        if readings is None:
            return None
        reason = f"the driver ended before the trial did; it printed last: {driver.last_words}"
        raise RunEndedError("infra_error", reason)
    choice = driver.plan.choice
    known = readings or {}
    rows = {node: rows_of(each.rows) for node, each in known.items() if each.rows is not None}
    ledger = Ledger(replace(log, observations=seen), rows, writer)
    figures = figures_of(log)
    takers = {name: ledger.taker(op) for name, op in figures.recovered_by_op.items()}
    return DriverRecord(
        name=choice.name,
        mode=choice.mode,
        version=str(log.request["version"]),
        hosts=[node for node, _ in driver.plan.hosts],
        connections=log.request["connections"],
        rates=dict(log.request["rates"]),
        errors=dict(log.error_texts),
        figures=figures.model_copy(update={"recovered_by": takers}),
        ledger=ledger.counts(None, run.writers_at_start > 1) if readings else None,
    )


def _has_log(run: TrialRun) -> bool:
    """Whether its first slot began."""
    path = run.folder / run.files.get("driver", "")
    return path.is_file() and path.stat().st_size > 0


def driver_checks(
    evidence: Evidence, driver: DriverRecord, readings: Mapping[str, NodeReading] | None
) -> list[CheckRecord]:
    """The verdicts on its ledger; ``evidence``: that of the trial; ``readings``: as for its record,
    whose problems come beside the trial's.
    """
    known = readings or {}
    problems = {node: each.problem for node, each in known.items() if each.problem is not None}
    unread = {**evidence.unread, **problems}
    of_driver = replace(evidence, ledger=driver.ledger, unread=unread, transactions={})
    found = judge_all(of_driver, CHECKS)
    return [each.model_copy(update={"name": PREFIX + each.name}) for each in found]


def driver_times(driver: DriverRecord | None) -> dict[str, Lasted]:
    """Its times by the names of its metrics, ms, and whether each was still open at the end."""
    if driver is None:
        return {}
    figures = driver.figures
    known = {name: getattr(figures, name) for name in TIMES}
    return {
        PREFIX + name: (ms, name in figures.censored)
        for name, ms in known.items()
        if ms is not None
    }


def driver_counts(driver: DriverRecord | None) -> dict[str, int | None]:
    """Its errors from t0 on, and its lost and repeated writes, by the names of its metrics."""
    if driver is None:
        return {}
    phases = (driver.figures.errors_during, driver.figures.errors_after)
    found: dict[str, int | None] = {
        f"{PREFIX}{word}_errors": sum(sum(phase.get(kind, {}).values()) for phase in phases)
        for word, kind in {"write": "writes", "read": "reads"}.items()
    }
    ledger = driver.ledger
    for name, ops in {
        "lost": ledger.lost if ledger else None,
        "duplicate": ledger.duplicate if ledger else None,
    }.items():
        found[PREFIX + name] = None if ops is None else ops.count
    return found
