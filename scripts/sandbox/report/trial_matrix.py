"""PURE: a matrix of trials: its tables and notes, and its answer in up to three sentences."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from sandbox.judge.compare import Judged
from sandbox.judge.rank_tests import median_interval
from sandbox.judge.verdict import FEWEST_BLOCKS, FEWEST_TRIALS
from sandbox.record.manifest import MatrixPart
from sandbox.record.metrics import METRICS, in_group
from sandbox.record.record import Record
from sandbox.record.trial import LedgerCounts
from sandbox.report.answer import answer, expected_sentence, places
from sandbox.report.document import Table
from sandbox.report.driver import driver_tables
from sandbox.report.published import published_sentence
from sandbox.report.text import UNKNOWN, figure, varied
from sandbox.report.trial_cells import (
    LATER_MS,
    CellTrials,
    asked,
    cell_table,
    cells_of,
    interval_text,
    is_open,
    longest_text,
    lost_in,
    median_of,
    median_text,
    ms_text,
    of_trials,
    only_healed,
    seen_median,
    trials_text,
)

_OUTAGES = ("trials", "RTO", "95 % interval", "longest", "still out", "once healed", "first outage")
_RECOVERY = (
    "rto_new_connection_ms",
    "detection_ms",
    "election_ms",
    "brownout_ms",
    "redundancy_ms",
    "lag_max_ms",
)
_ERRORS = ("write_errors", "read_errors")
_LEDGER = (
    "acked",
    "failed",
    "unknown",
    "lost",
    "phantom",
    "duplicate",
    "stale at writer",
    "stale at readers",
)
STALLED_MS = 500.0
"""Where an outage must be longer than this to count, the reader should know."""
_EVERYWHERE = "in every cell"
_RTO = "rto_ms"
_UNITS = {"1/run": "per trial"}


def trial_tables(part: MatrixPart, records: Sequence[Record]) -> list[Table]:
    """Outages, recovery, the ledger, and the checks that failed; none where nothing breaks."""
    if not of_trials(records):
        return []
    found = cells_of(part, records)
    factors = varied(part)

    def table(
        title: str, note: str, header: Sequence[str], row: Callable[[CellTrials], Sequence[str]]
    ) -> Table:
        return cell_table(
            factors, header, [(cell.levels, row(cell)) for cell in found], title, note
        )

    shown = ("rto_ms", *_RECOVERY, *in_group("driver"))
    asked_too = [name for name in part.metrics if METRICS[name].may_be_open and name not in shown]
    times = [*_RECOVERY, *asked_too]
    of_cluster = in_group("cluster")
    known = (getattr(each.metrics, name) for each in records for name in of_cluster)
    clusters = any(value is not None for value in known)
    tables = [
        table(
            "Outage of writes, ms",
            "RTO: from the first injection to the end of the first outage, median of the trials; 0:"
            " no outage. Still out: trials in which writes were not back at the end, or when the"
            " fault was healed for that. Once healed: trials in which they came back only with the"
            " heal. First outage: its own length, where it began late.",
            _OUTAGES,
            _outage,
        ),
        table(
            "Recovery, ms",
            "Medians of the trials that have the figure; errors from the first injection on.",
            [METRICS[name].short for name in (*times, *_ERRORS)],
            lambda cell: _recovery(cell, times),
        ),
        table(
            "Ledger, all trials",
            "Acknowledged writes that the writer lacks in the end are lost.",
            _LEDGER,
            _ledger,
        ),
        *_checks(found, factors),
    ]
    flow = table(
        "Flow control and load",
        "Medians: share of the time until the heal in which flow control paused the cluster;"
        " transactions that a node had received and not yet applied; throughput of the load until"
        " the heal against before the fault.",
        [METRICS[name].short for name in of_cluster],
        lambda cell: [median_of(cell, name) for name in of_cluster],
    )
    beside = [*([flow] if clusters else []), *driver_tables(part, records)]
    return [*tables[:2], *beside, *tables[2:]]


def trial_notes(part: MatrixPart, records: Sequence[Record]) -> list[str]:
    """Which cells have few trials, and which too few for a verdict; in which trials only long
    outages count.
    """
    cells = cells_of(part, records) if of_trials(records) else []
    named = [(cell.count, f"{cell.name} ({cell.count})") for cell in cells]
    none = [name for count, name in named if count < FEWEST_BLOCKS]
    few = [name for count, name in named if FEWEST_BLOCKS <= count < FEWEST_TRIALS]
    text = [f"fewer than {FEWEST_BLOCKS} trials, so no verdict: {'; '.join(none)}"] if none else []
    text += [f"fewer than {FEWEST_TRIALS} trials: {'; '.join(few)}"] if few else []
    return [*text, *_stalled(cells)]


def _stalled(cells: Sequence[CellTrials]) -> Iterator[str]:
    """An outage is longer than twice the longest gap before the fault (docs/failover.md)."""
    found = [
        (least_ms, f"{record.cell}.{record.block}")
        for cell in cells
        for record in cell.records
        if record.trial
        and record.trial.figures
        and (least_ms := record.trial.figures.threshold_ms.get("pooled", 0.0)) > STALLED_MS
    ]
    if found:
        most_ms, name = max(found)
        where = f"{len(found)} trial{'s' if len(found) > 1 else ''}"
        yield (
            f"writes stalled before the fault in {where}: only outages above {most_ms:,.0f} ms"
            f" count in {name}"
        )


def _outage(cell: CellTrials) -> Sequence[str]:
    lengths, first = cell.lengths("rto_ms"), cell.lengths("outage_first_ms")
    late = lengths and first and seen_median(lengths) - seen_median(first) >= LATER_MS
    still_out = str(sum(still_open for _, still_open in lengths)) if lengths else ""
    return (
        trials_text(cell),
        median_text(lengths),
        interval_text(lengths),
        longest_text(lengths),
        still_out,
        str(sum(map(only_healed, cell.records)) or ""),
        median_text(first) if late else "",
    )


def _recovery(cell: CellTrials, times: Sequence[str]) -> Sequence[str]:
    counts = [median_of(cell, name) for name in _ERRORS]
    return (*(median_text(cell.lengths(name)) for name in times), *counts)


def _ledger(cell: CellTrials) -> Sequence[str]:
    """Sums over all trials; where some could not be judged, how many."""
    ledgers = [record.trial.ledger for record in cell.records if record.trial]
    plain = [
        _sum([None if each is None else getattr(each, name) for each in ledgers])
        for name in _LEDGER[:3]
    ]
    verdicts = [_sum([_found(each, name) for each in ledgers]) for name in _LEDGER[3:6]]
    return (*plain, *verdicts, _stale(ledgers, "writer"), _stale(ledgers, "reader"))


def _found(ledger: LedgerCounts | None, name: str) -> int | None:
    ops = getattr(ledger, name, None)
    return None if ops is None else int(ops.count)


def _sum(values: Sequence[int | None]) -> str:
    known = [value for value in values if value is not None]
    if not values:
        return ""
    if not known:
        return UNKNOWN
    unknown = len(values) - len(known)
    return f"{sum(known):,}" + (
        f" ({unknown} trial{'s' if unknown > 1 else ''} {UNKNOWN})" if unknown else ""
    )


def _stale(ledgers: Sequence[LedgerCounts | None], stream: str) -> str:
    """``12 of 9,800``: of the reads that were answered."""
    found = [each.stale[stream] for each in ledgers if each is not None and stream in each.stale]
    if not ledgers:
        return ""
    return (
        f"{sum(each.stale for each in found):,} of {sum(each.reads for each in found):,}"
        if found
        else UNKNOWN
    )


def _checks(cells: Sequence[CellTrials], factors: Sequence[str]) -> Iterator[Table]:
    """A column for each check that failed anywhere: ``3 of 10``; of those trials that it judged."""
    counts = {
        cell.name: Counter[tuple[str, str]](
            (each.name, each.verdict) for run in cell.records for each in run.checks
        )
        for cell in cells
    }
    failed = [name for name in dict.fromkeys(name for found in counts.values() for name, _ in found)
              if any(found[name, "fail"] for found in counts.values())]  # fmt: skip
    if not failed:
        return
    rows = [
        (cell.levels, [_check_text(counts[cell.name], name) for name in failed]) for cell in cells
    ]
    yield cell_table(factors, failed, rows, "Checks that failed", "In how many of the trials.")


def _check_text(found: Counter[tuple[str, str]], name: str) -> str:
    judged = found[name, "pass"] + found[name, "fail"]
    unknown = found[name, "unknown"]
    text = f"{found[name, 'fail']} of {judged}" if judged else ""
    return ", ".join(filter(None, (text, f"{unknown} {UNKNOWN}" if unknown else "")))


def answer_of(part: MatrixPart, judged: Judged, records: Sequence[Record]) -> str:
    """The answer of a matrix, whether or not something breaks in it."""
    found = trial_answer(part, judged, records) if of_trials(records) else answer(part, judged)
    beside = (expected_sentence(part, records), published_sentence(judged))
    return " ".join(filter(None, (found, *beside)))


def trial_answer(part: MatrixPart, judged: Judged, records: Sequence[Record]) -> str:
    """``Writes were back first at …: after 310 ms (median of 10 trials), … No acknowledged write
    was lost …``

    By another metric, where the matrix asks for one; what was lost is the whole answer to a
    question of that.
    """
    cells, metric = cells_of(part, records), asked(part)
    best = [] if metric == "lost" else [_best(part, judged, cells, metric)]
    return " ".join([*best, _lost_sentence(part, cells)])


def _best(part: MatrixPart, judged: Judged, cells: Sequence[CellTrials], metric: str) -> str:
    what = "times" if metric == _RTO else metric
    if judged.unfit:
        return f"No conclusion on {what}: the baseline differs from itself."
    known = [
        cell
        for cell in cells
        if cell.name != part.canary.cell and len(cell.lengths(metric)) >= FEWEST_BLOCKS
    ]
    if not known:
        return f"No cell has the {FEWEST_BLOCKS} trials that a verdict on {what} needs."
    ordered = sorted(known, key=lambda cell: _rank(cell, metric))
    best = _rank(ordered[0], metric)
    if best[0]:
        still_open = (
            "ended before writes were back" if metric == _RTO else f"ended with {metric} still open"
        )
        return (
            f"In every cell with {FEWEST_BLOCKS} trials or more, half or more of them {still_open}."
        )
    first = [cell for cell in ordered if _rank(cell, metric) == best]
    later = ordered[len(first) :]
    following = [cell for cell in later if _rank(cell, metric) == _rank(later[0], metric)]
    return (
        _leads(part, first, following)
        if metric == _RTO
        else _leads_by(part, metric, first, following)
    )


def _rank(cell: CellTrials, metric: str = _RTO) -> tuple[bool, float]:
    lengths = cell.ranked(metric)
    return is_open(lengths), round(seen_median(lengths), 1)


def _leads_by(
    part: MatrixPart, metric: str, first: Sequence[CellTrials], following: Sequence[CellTrials]
) -> str:
    """``By join_ms: least at …: 6,200 ms (median of 10 trials), 900 ms less than next, at …``."""
    middle, unit = (
        _rank(first[0], metric)[1],
        _UNITS.get(METRICS[metric].unit, METRICS[metric].unit),
    )
    up = METRICS[metric].higher_is_better
    fewest, value = min(len(cell.lengths(metric)) for cell in first), 0.0 - middle if up else middle
    text = (
        f"By {metric}: {'greatest' if up else 'least'} {_where(part, first)}: {figure(value)}"
        f" {unit}"
    )
    text += f" (median of {fewest} trials)"
    if not following:
        return f"{text}."
    still_open, later = _rank(following[0], metric)
    ahead = f"{'at least ' if still_open else ''}{figure(later - middle)} {unit}"
    doubt = (
        "; their intervals overlap, so the order is not certain"
        if _overlap(first, following, metric)
        else ""
    )
    return (
        f"{text}, {ahead} {'more' if up else 'less'} than next, {_where(part, following)}{doubt}."
    )


def _leads(part: MatrixPart, first: Sequence[CellTrials], following: Sequence[CellTrials]) -> str:
    """By how much the first cells were ahead of the next one."""
    middle, where = _rank(first[0])[1], _where(part, first)
    fewest = min(len(cell.lengths("rto_ms")) for cell in first)
    if middle == 0:
        text = f"Writes had no outage {where} (median of {fewest} trials)"
    else:
        text = (
            f"Writes were back first {where}: after {ms_text(middle)} ms (median of {fewest}"
            " trials)"
        )
    if not following:
        return f"{text}."
    still_out, later = _rank(following[0])
    ahead, next_ones = (
        f"{'at least ' if still_out else ''}{ms_text(later - middle)} ms",
        _where(part, following),
    )
    doubt = (
        "; their intervals overlap, so the order is not certain"
        if _overlap(first, following)
        else ""
    )
    if middle == 0:
        return f"{text}; they were back next {next_ones}, after {ahead}{doubt}."
    return f"{text}, {ahead} before the next, {next_ones}{doubt}."


def _overlap(
    first: Sequence[CellTrials], following: Sequence[CellTrials], metric: str = _RTO
) -> bool:
    """Whether the median of a next cell may be as good as that of a first one."""
    ends = [
        [median_interval(cell.ranked(metric)) for cell in cells] for cells in (first, following)
    ]
    return any(
        one is None or other is None or one.high is None or one.high >= other.low
        for one in ends[0]
        for other in ends[1]
    )


def _where(part: MatrixPart, cells: Sequence[CellTrials]) -> str:
    levels = {cell.name: cell.levels for cell in part.cells}
    levels[part.canary.cell] = levels.get(part.canary.baseline, {})
    named = list({tuple(levels[cell.name].items()): levels[cell.name] for cell in cells}.values())
    return places({factor: part.factors[factor] for factor in varied(part)}, named) or _EVERYWHERE


def _lost_sentence(part: MatrixPart, cells: Sequence[CellTrials]) -> str:
    """How many acknowledged writes were lost, where; and whether some trials could not be
    judged.
    """
    found = {cell.name: lost_in(cell) for cell in cells}
    writes, losing, unjudged = (sum(each) for each in zip(*found.values(), strict=True))
    trials = sum(cell.count for cell in cells)
    unknown = f" Whether any was lost is unknown in {unjudged} trials." if unjudged else ""
    if unjudged == trials:
        return "Whether acknowledged writes were lost is unknown."
    if not writes:
        return f"No acknowledged write was lost in {trials - unjudged} trials.{unknown}"
    where = _where(part, [cell for cell in cells if found[cell.name][0]])
    count = f"{writes:,} acknowledged write{'s were' if writes > 1 else ' was'} lost"
    return f"{count}, in {losing} of {trials - unjudged} trials, {where}.{unknown}"
