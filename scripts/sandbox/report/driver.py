"""PURE: what is said about the driver of a trial, each of its times beside the prober's own."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from sandbox.judge.compare import lasted
from sandbox.record.manifest import MatrixPart
from sandbox.record.metrics import METRICS, in_group
from sandbox.record.record import Record
from sandbox.record.trial import DriverRecord, TrialRecord
from sandbox.report.document import Fact, Table
from sandbox.report.text import varied
from sandbox.report.trial_cells import (
    cell_table,
    cells_of,
    interval_text,
    median_of,
    median_text,
    ms_text,
)

PREFIX = "driver_"
"""What stands before the prober's name of a figure."""
_LONGEST_TEXT = 100
TimeText = Callable[[float, bool, str, TrialRecord], str]


def driver_facts(record: Record, time_text: TimeText) -> Iterator[Fact]:
    """The driver, its outages beside the prober's, its errors in its own words, its writes that are
    there twice; nothing for a trial without one.

    ``time_text``: the text of one of the prober's times.
    """
    trial = record.trial
    driver = trial.driver if trial else None
    if trial is None or driver is None:
        return
    yield Fact("driver", driver_text(driver))
    own = trial.model_copy(update={"figures": driver.figures})
    for name in in_group("driver"):
        of_prober = name.removeprefix(PREFIX)
        found = lasted(record, name) if METRICS[name].may_be_open else None
        if found is None:
            continue
        text = time_text(*found, of_prober, own) + _taken(driver, of_prober)
        yield Fact(METRICS[name].title, text + _beside(record, of_prober), found[0])
    yield from _errors(driver)
    if driver.ledger is not None:
        yield Fact("ledger of the driver", _ledger(driver))


def driver_text(driver: DriverRecord) -> str:
    """``connector-j:sequential (MariaDB Connector/J 3.5.10) at galera1, galera2; 50 writes/s``."""
    mode = "" if driver.mode == "one" else f":{driver.mode}"
    rates = driver.rates
    load = (
        f"{rates.get('pooled', 0)} writes/s pooled, {rates.get('fresh', 0)}/s on new connections,"
        f" {rates.get('writer', 0)} reads/s"
    )
    at = ", ".join(driver.hosts)
    return (
        f"{driver.name}{mode} ({driver.version}) at {at}; {load}, {driver.connections} connections"
    )


def _taken(driver: DriverRecord, name: str) -> str:
    node = driver.figures.recovered_by.get(name) if name not in driver.figures.censored else None
    return f", by {node}" if node else ""


def _beside(record: Record, name: str) -> str:
    """The prober's own figure."""
    found = lasted(record, name)
    if found is None:
        return ""
    return f"; the prober's own: {'at least ' if found[1] else ''}{ms_text(found[0])} ms"


def _errors(driver: DriverRecord) -> Iterator[Fact]:
    """Each error code that it got, how often in which phase, and the text that came with it."""
    counts: dict[str, dict[str, int]] = {}
    for phase in ("before", "during", "after"):
        by_kind: Mapping[str, Mapping[str, int]] = getattr(driver.figures, f"errors_{phase}")
        for by_code in by_kind.values():
            for code, count in by_code.items():
                of_code = counts.setdefault(code, {})
                of_code[phase] = of_code.get(phase, 0) + count
    for code, of_code in counts.items():
        text = driver.errors.get(code, "")
        said = f": {text[:_LONGEST_TEXT]}{'…' if len(text) > _LONGEST_TEXT else ''}" if text else ""
        often = ", ".join(f"{count:,} {phase}" for phase, count in of_code.items())
        yield Fact("driver's error", f"{code} ({often}){said}")


def _ledger(driver: DriverRecord) -> str:
    ledger = driver.ledger
    assert ledger is not None  # noqa: S101  (its caller has looked)
    twice = ledger.duplicate
    parts = [
        f"{ledger.acked:,} acknowledged, {ledger.failed:,} failed, {ledger.unknown:,} unknown",
        f"{'unknown' if ledger.lost is None else format(ledger.lost.count, ',')} lost",
    ]
    if twice is None:
        return ", ".join([*parts, "whether any is there twice is unknown"])
    ops = f" (op {', '.join(map(str, twice.examples[:5]))})" if twice.count else ""
    return ", ".join([*parts, f"{twice.count:,} there twice{ops}"])


def driver_tables(part: MatrixPart, records: Sequence[Record]) -> list[Table]:
    """The outage of each cell's driver beside the prober's own; none without a driver."""
    if not any(record.trial and record.trial.driver for record in records):
        return []
    shown = [name for name in in_group("driver") if name != "driver_rto_ms"]
    header = ["driver RTO", "95 % interval", "prober's RTO"]
    header += [METRICS[name].short for name in shown]
    rows = []
    for cell in cells_of(part, records):
        lengths = cell.lengths("driver_rto_ms")
        figures = [median_text(lengths), interval_text(lengths)]
        figures.append(median_text(cell.lengths("rto_ms")))
        for name in shown:
            is_time = METRICS[name].may_be_open
            figures.append(median_text(cell.lengths(name)) if is_time else median_of(cell, name))
        rows.append((cell.levels, figures))
    note = (
        "Medians of the trials. Of the driver: its writes from a pool, and on connections of their"
        " own (docs/drivers.md); beside it the prober's own RTO in the same trials."
    )
    return [cell_table(varied(part), header, rows, "Drivers, ms", note)]
