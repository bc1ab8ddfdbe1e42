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

    @property
    def name(self) -> str:
        """``shop.orders``."""
        return f"{self.schema}.{self.table}"


def shapes_of(rows: Sequence[Sequence[object]]) -> list[TableShape]:
    """Tables of (schema, table, column) rows."""
    columns: dict[tuple[str, str], list[str]] = {}
    for schema, table, column in rows:
        columns.setdefault((str(schema), str(table)), []).append(str(column))
    return [TableShape(*name, tuple(found)) for name, found in columns.items()]


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
