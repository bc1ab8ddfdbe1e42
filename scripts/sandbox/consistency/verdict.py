"""PURE: the two verdicts on servers that were compared: on their rows, and on their GTIDs."""

from collections.abc import Sequence

from sandbox.core.errors import counted, states
from sandbox.record.consistency import ConsistencyRecord, RowDifference
from sandbox.record.record import CheckRecord, Verdict

ROWS = "same_rows"
TRANSACTIONS = "same_transactions"
_SHOWN = 3


Finding = tuple[Verdict, str]
"""A verdict, and what was seen."""
_WORST_FIRST: Sequence[Verdict] = ("fail", "unknown", "skipped", "pass")
_ALONE: Finding = ("skipped", "there is no other server to compare with")


def checks_of(records: Sequence[ConsistencyRecord]) -> list[CheckRecord]:
    """The verdicts on all sets of a stack; none where each is of one server."""
    if not any(is_set(record) for record in records):
        return []
    found = {ROWS: on_rows(records), TRANSACTIONS: on_transactions(records)}
    return [
        CheckRecord(name=name, verdict=verdict, detail=detail)
        for name, (verdict, detail) in found.items()
    ]


def on_rows(records: Sequence[ConsistencyRecord]) -> Finding:
    """Whether the servers of each set hold the same rows: the worst verdict on a set."""
    return _worst([_on_rows(record) for record in records if is_set(record)])


def on_transactions(records: Sequence[ConsistencyRecord]) -> Finding:
    """Whether a GTID stands for the same on the servers of each set, in the same way."""
    return _worst([_on_gtids(record) for record in records if is_set(record)])


def is_set(record: ConsistencyRecord) -> bool:
    """Whether there was another server to compare with."""
    return len(record.servers) > 1


def _worst(findings: Sequence[Finding]) -> Finding:
    return min(findings, key=lambda each: _WORST_FIRST.index(each[0]), default=_ALONE)


def _on_rows(record: ConsistencyRecord) -> Finding:
    if record.problem is not None:
        return "unknown", record.problem
    if record.differences:
        count = len(record.differences) + record.more
        shown = "; ".join(difference_text(each) for each in record.differences[:_SHOWN])
        more = ", …" if count > _SHOWN else ""
        return "fail", f"{counted(count, 'difference')}: {shown}{more}"
    unread = {**record.unread, **record.unread_tables}
    if unread:
        return "unknown", f"{_compared(record)}; not compared: {states(unread)}"
    return "pass", _compared(record)


def _compared(record: ConsistencyRecord) -> str:
    rows = f"{record.rows:,} rows in {counted(record.tables, 'table')}"
    return f"{rows} are the same on {', '.join(record.compared)}"


def difference_text(difference: RowDifference) -> str:
    """``repro.t id=17: galera1 no such row, galera2 id=17 v=3``."""
    if difference.what is not None:
        return f"{difference.table}: {difference.what}"
    if difference.key is None:
        counts = ", ".join(f"{name} {count} times" for name, count in difference.counts.items())
        return f"{difference.table} ({row_text(difference.row)}): {counts}"
    rows = ", ".join(f"{name} {row_text(row)}" for name, row in difference.rows.items())
    return f"{difference.table} {row_text(difference.key)}: {rows}"


def row_text(row: dict[str, str | None] | None) -> str:
    """``id=17 v=NULL``; of no row, that there is none."""
    if row is None:
        return "no such row"
    return " ".join(f"{name}={_short(value)}" for name, value in row.items())


def _short(value: str | None) -> str:
    if value is None:
        return "NULL"
    return value if len(value) <= 40 else f"{value[:39]}…"


def _on_gtids(record: ConsistencyRecord) -> Finding:
    if record.problem is not None:
        return "unknown", record.problem
    if record.transactions:
        first = record.transactions[0]
        said = "; ".join(f"{name}: {' '.join(lines[:4])}" for name, lines in first.contents.items())
        count = counted(len(record.transactions), "GTID")
        return "fail", f"{count} with different contents; {first.gtid}: {said}"
    if record.logs_skipped is not None:
        return "skipped", record.logs_skipped
    if not record.logs:
        return "skipped", "the binary logs were not read"
    read = ", ".join(
        f"{name} {log.transactions:,}" for name, log in record.logs.items() if not log.why_not
    )
    return "pass", f"no GTID with different contents (transactions read: {read})"
