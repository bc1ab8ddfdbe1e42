"""PURE: what is said about servers that were compared: what differs, and who wrote it."""

from collections.abc import Sequence

from sandbox.core.errors import counted
from sandbox.record.consistency import ConsistencyRecord, LogRead, RowDifference, Written
from sandbox.report.document import Document, Notes, Part, Row, Said, Section, Table

_WIDTH = 60
"""Characters of a row that are shown in a table."""


def consistency_document(stack: str, records: Sequence[ConsistencyRecord]) -> Document:
    """The servers of a stack, compared. ``records``: of each set of servers with the same data."""
    sections = [Section(consistency_parts(record)) for record in records]
    return Document(Said(f"What the servers of {stack} hold"), sections)


def consistency_parts(record: ConsistencyRecord) -> list[Part]:
    """The parts about one set of servers: what was compared, then each difference."""
    parts: list[Part] = [Said(answer(record))]
    if record.differences:
        parts.append(_differences(record.differences))
    if record.transactions:
        parts.append(_transactions(record))
    parts.append(_servers(record))
    notes = [Said(f"{name} was not compared: {why}") for name, why in record.unread_tables.items()]
    if record.logs_skipped:
        notes.append(Said(f"What stands behind GTIDs was not compared: {record.logs_skipped}."))
    parts.append(Notes(notes))
    return parts


def answer(record: ConsistencyRecord) -> str:
    """The outcome in one sentence."""
    if record.problem is not None:
        return f"Nothing was compared: {record.problem}."
    names = ", ".join(record.compared)
    rows = f"{record.rows:,} rows in {counted(record.tables, 'table')}"
    held = f"in one position, for which writes were held for {record.held_ms:.0f} ms"
    found = []
    if record.differences:
        found.append(counted(len(record.differences) + record.more, "difference"))
    if record.transactions:
        found.append(f"{counted(len(record.transactions), 'GTID')} with different contents")
    said = " and ".join(found) or "no difference"
    return f"{names}: {said}; {rows} compared {held}."


def _servers(record: ConsistencyRecord) -> Table:
    rows = []
    for name in record.compared:
        log = record.logs.get(name)
        if log is None:
            read = "not read"
        elif log.why_not:
            read = log.why_not
        else:
            read = f"{counted(log.transactions, 'transaction')}{_read_from(log)}"
        rows.append(Row.of([name, record.positions.get(name, ""), read]))
    for name, why in record.unread.items():
        rows.append(Row.of([name, f"not compared: {why}", ""], look="unclear"))
    table = Table.of(("server", "position", "binary log"), [])
    return Table(table.columns, rows)


def _read_from(log: LogRead) -> str:
    if log.is_whole:
        return ""
    position = f":{log.first_position}" if log.first_position else ""
    return f" from {log.first_file}{position} on"


def _differences(differences: Sequence[RowDifference]) -> Table:
    rows = []
    for each in differences:
        rows += _difference_rows(each)
    table = Table.of(("table", "row", "server", "holds", "written last by"), [])
    return Table(table.columns, rows)


def _difference_rows(each: RowDifference) -> list[Row]:
    if each.what is not None:
        return [Row.of([each.table, "", "", each.what, ""])]
    if each.key is None:
        text = _row_text(each.row)
        return [
            Row.of([each.table, "", server, f"{count} × {text}", ""])
            for server, count in each.counts.items()
        ]
    key = _row_text(each.key)
    rest = {
        name: None if row is None else {c: v for c, v in row.items() if c not in each.key}
        for name, row in each.rows.items()
    }
    shown = []
    for number, (server, row) in enumerate(rest.items()):
        first = [each.table, key] if number == 0 else ["", ""]
        written = _written_text(each.written.get(server)) if each.written else ""
        holds = "no such row" if each.rows[server] is None else _row_text(row) or "the row"
        shown.append(Row.of([*first, server, holds, written]))
    return shown


def _row_text(row: dict[str, str | None] | None) -> str:
    if row is None:
        return ""
    text = ", ".join(f"{name}={'NULL' if value is None else value}" for name, value in row.items())
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _written_text(written: Written | None) -> str:
    if written is None:
        return "nothing in its binary log"
    return f"{written.kind} {written.gtid} (server {written.server_id}, {written.at})"


def _transactions(record: ConsistencyRecord) -> Table:
    rows = []
    for each in record.transactions:
        for number, (server, lines) in enumerate(each.contents.items()):
            text = " ".join(lines) or "nothing"
            text = text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
            rows.append(Row.of([each.gtid if number == 0 else "", server, text]))
    table = Table.of(("GTID", "server", "changes"), [])
    return Table(table.columns, rows)
