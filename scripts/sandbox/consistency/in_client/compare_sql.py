"""Runs in the client node: the SQL by which rows are compared, and what distinguishes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

UNORDERED = ("enum", "set", "float", "double", "bit", "json", "geometry", "vector")
"""Types whose values are not compared in the order by which they are sorted, or not exactly."""
INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")
AS_UTF8 = ("utf8mb4", "utf8mb3", "utf8", "ascii", None)
Row = tuple[Any, ...]


@dataclass(frozen=True)
class SqlColumn:
    """A column: what decides how its values are read and compared."""

    name: str
    type: str
    nullable: bool
    charset: str | None
    collation: str | None


@dataclass(frozen=True)
class SqlTable:
    """A table as one server has it. ``key``: columns that identify a row; empty: none do."""

    columns: tuple[SqlColumn, ...]
    key: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def key_columns(self) -> tuple[SqlColumn, ...]:
        """The columns of its key, in the key's order."""
        by_name = {column.name: column for column in self.columns}
        return tuple(by_name[name] for name in self.key)


def quoted(name: str) -> str:
    """A name as SQL with places for values has it."""
    return "`" + name.replace("`", "``").replace("%", "%%") + "`"


def in_full(table: tuple[str, str]) -> str:
    """Schema and table as SQL has them."""
    return f"{quoted(table[0])}.{quoted(table[1])}"


def as_bytes(column: SqlColumn) -> str:
    """A value as the bytes that are compared: text as UTF-8, whatever the column's character set
    is.
    """
    name = quoted(column.name)
    if column.type == "json":
        return f"CAST(CAST({name} AS CHAR) AS BINARY)"
    if column.type in ("geometry", "point", "linestring", "polygon", "geometrycollection") or (
        column.type.startswith("multi")
    ):
        return f"ST_AsBinary({name})"
    if column.charset not in AS_UTF8:
        return f"CAST(CONVERT({name} USING utf8mb4) AS BINARY)"
    return f"CAST({name} AS BINARY)"


def row_crc(columns: Sequence[SqlColumn]) -> str:
    """The CRC32 of a row. NULL has a flag: CONCAT_WS leaves it out."""
    parts = [as_bytes(column) for column in columns]
    flags = [f"ISNULL({quoted(column.name)})" for column in columns if column.nullable]
    if flags:
        parts.append(f"CONCAT({', '.join(flags)})")
    return f"CRC32(CONCAT_WS('#', {', '.join(parts)}))"


def checksum_of(columns: Sequence[SqlColumn]) -> str:
    """Count and sum of the rows: by a sum two equal rows more are seen, too."""
    return f"COUNT(*), COALESCE(SUM({row_crc(columns)}), 0)"


def beyond(key: Sequence[str], operator: str) -> str:
    """``(a > %s) OR (a = %s AND b > %s)``: a range of a key, which servers find by its index.

    ``operator``: of the last column; the ones before it are strict.
    """
    parts = []
    for position, name in enumerate(key):
        equal = [f"{quoted(each)} = %s" for each in key[:position]]
        is_last = position == len(key) - 1
        strict = operator if is_last else operator[0]
        parts.append(f"({' AND '.join([*equal, f'{quoted(name)} {strict} %s'])})")
    return f"({' OR '.join(parts)})"


def beyond_values(values: Row) -> list[Any]:
    """The values of `beyond`, in its order."""
    return [each for position in range(len(values)) for each in values[: position + 1]]


@dataclass(frozen=True)
class Chunk:
    """A range of a table's rows: after the one key, up to and with the other; None: no end."""

    key: tuple[str, ...]
    after: Row | None = None
    up_to: Row | None = None

    @property
    def where(self) -> tuple[str, list[Any]]:
        """Its condition, and the values in it."""
        parts = []
        values: list[Any] = []
        if self.after is not None:
            parts.append(beyond(self.key, ">"))
            values += beyond_values(self.after)
        if self.up_to is not None:
            parts.append(beyond(self.key, "<="))
            values += beyond_values(self.up_to)
        return " AND ".join(parts) or "TRUE", values


def typed(column: SqlColumn, value: Any) -> Any:
    """A value of a key as a statement takes it: a large number in quotes would be rounded."""
    if value is not None and column.type in INTEGERS:
        return int(value)
    return value


def can_be_chunked(tables: Sequence[SqlTable]) -> bool:
    """Whether the rows of a table have one order on all servers."""
    first = tables[0].key_columns()
    same = all(table.key_columns() == first for table in tables)
    return bool(first) and same and all(column.type not in UNORDERED for column in first)


def common_key(tables: Sequence[SqlTable]) -> tuple[str, ...]:
    """The key that distinguishes the rows of a table on all servers; empty: there is none."""
    keys = {table.key for table in tables}
    return keys.pop() if len(keys) == 1 else ()


def key_of(indexes: Sequence[Row]) -> tuple[str, ...]:
    """The columns of the first unique index that distinguishes every row: none of them may be
    NULL, an expression, or a prefix.

    ``indexes``: rows of name, column, prefix, nullable, those of the primary key first.
    """
    by_name: dict[str, list[Row]] = {}
    for name, *column in indexes:
        by_name.setdefault(str(name), []).append(tuple(column))
    for columns in by_name.values():
        if all(name and not prefix and nullable != "YES" for name, prefix, nullable in columns):
            return tuple(str(name) for name, _, _ in columns)
    return ()


def text_of(value: Any) -> str | None:
    """A cell for a reader; what is no text of UTF-8 as 0x…"""
    if isinstance(value, bytes):
        text = value.decode("utf-8", "replace")
        is_text = "\ufffd" not in text and all(
            each.isprintable() or each.isspace() for each in text
        )
        return text if is_text else "0x" + value.hex()
    return None if value is None else str(value)
