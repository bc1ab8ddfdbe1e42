"""PURE: rows of tables, counted and summed in a way that servers of two versions share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.record.upgrade import FindingKind, UpgradeFinding

Checksum = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableShape:
    """A table and its columns."""

    schema: str
    table: str
    columns: tuple[str, ...]
    collations: tuple[str | None, ...] = ()
    """Of each column; None: it is no text."""

    @property
    def name(self) -> str:
        """``shop.orders``."""
        return f"{self.schema}.{self.table}"


def shapes_of(rows: Sequence[Sequence[object]]) -> list[TableShape]:
    """Tables of (schema, table, column, collation) rows."""
    found: dict[tuple[str, str], dict[str, str | None]] = {}
    for schema, table, column, collation in rows:
        columns = found.setdefault((str(schema), str(table)), {})
        columns[str(column)] = None if collation is None else str(collation)
    return [
        TableShape(*name, tuple(columns), tuple(columns.values()))
        for name, columns in found.items()
    ]


def collation_findings(
    on_from: Sequence[TableShape], on_to: Sequence[TableShape]
) -> list[UpgradeFinding]:
    """A finding for each pair of collations that the same columns have: it explains other rows."""
    new = _collations(on_to)
    columns: dict[tuple[str, str], list[str]] = {}
    for column, collation in _collations(on_from).items():
        other = new.get(column)
        if other is not None and other != collation:
            columns.setdefault((collation, other), []).append(column)
    return [
        UpgradeFinding(
            kind="collation", matters=False, on_from=before, on_to=after,
            note=f"columns: {', '.join(names)}",
        )
        for (before, after), names in columns.items()
    ]  # fmt: skip


def _collations(tables: Sequence[TableShape]) -> dict[str, str]:
    """``library.reader.name`` → its collation; of columns that have one."""
    return {
        f"{table.name}.{column}": collation
        for table in tables
        for column, collation in zip(table.columns, table.collations, strict=True)
        if collation is not None
    }


def checksum_of(table: TableShape) -> str:
    """Counts the rows of a table, and sums a checksum of each: independent of their order.
    CHECKSUM TABLE is not comparable across versions.
    """
    cells = ", ".join(
        f"coalesce(cast({_quoted(each)} AS binary), '\\\\N')" for each in table.columns
    )
    name = f"{_quoted(table.schema)}.{_quoted(table.table)}"
    return f"SELECT count(*), coalesce(sum(crc32(concat_ws('#', {cells}))), 0) FROM {name}"  # noqa: S608  (names are quoted)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def data_findings(
    on_from: Mapping[str, Checksum | None],
    on_to: Mapping[str, Checksum | None],
    kind: FindingKind,
    note: str,
) -> list[UpgradeFinding]:
    """A finding for each table whose rows differ, or that one of the two does not have."""
    found = []
    for table in sorted(on_from.keys() | on_to.keys()):
        old = on_from.get(table)
        new = on_to.get(table)
        if old == new:
            continue
        found.append(
            UpgradeFinding(
                kind=kind, matters=True, on_from=f"{table}: {_said(old)}",
                on_to=f"{table}: {_said(new)}", note=note,
            )
        )  # fmt: skip
    return found


def _said(checksum: Checksum | None) -> str:
    if checksum is None:
        return "not there, or cannot be read"
    return f"{checksum[0]} rows, checksum {checksum[1]}"
