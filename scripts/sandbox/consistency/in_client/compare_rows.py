"""Runs in the client node: compares the rows of every table on several servers, in one position.

A request in JSON on standard input, its answer in JSON on standard output. The servers that take
writes are held by FLUSH TABLES WITH READ LOCK until each follower has what they have and every
server has a snapshot; everything after that reads from the snapshots, while writes go on.

Source: pt-table-checksum (chunks in the order of the primary key, a CRC32 of each row). The sum
takes the place of its exclusive or, in which two equal rows are none.

Request: ``servers`` (name, host, port, credentials, ``family``, ``topology``), ``held`` (names of
those that take writes; the first is the reference), ``wait_s``, ``chunk`` (rows), ``most``
(differences that are reported with their rows), ``tables`` (``schema.table`` or ``schema``; empty:
all).

Answer: ``unread`` (server → why it is not compared), ``problem`` (why nothing was), ``positions``,
``held_ms``, ``tables``, ``rows``, ``differences``, ``more`` (differences beyond ``most``),
``unread_tables``.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from sandbox.consistency.in_client import compare_servers, compare_sql
else:
    import compare_servers  # shipped into the same folder
    import compare_sql

OWN_SCHEMAS = ("mysql", "sys", "information_schema", "performance_schema")
OF_ONE_SERVER = {("sandbox", "renewed")}
"""Tables in which each server of a stack notes what it alone did when it started."""
TABLE_TYPES = ("BASE TABLE", "SYSTEM VERSIONED")


def tables_of(
    server: compare_servers.ComparedServer, wanted: Sequence[str]
) -> dict[tuple[str, str], compare_sql.SqlTable]:
    """Every table of a server with rows of its user, or those that are wanted."""
    hidden = ", ".join(f"'{name}'" for name in OWN_SCHEMAS)
    types = ", ".join(f"'{name}'" for name in TABLE_TYPES)
    names = server.ask(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type IN"  # noqa: S608
        f" ({types}) AND table_schema NOT IN ({hidden})"
    )
    columns = server.ask(
        "SELECT table_schema, table_name, column_name, data_type, is_nullable,"  # noqa: S608
        " character_set_name, collation_name FROM information_schema.columns WHERE table_schema"
        f" NOT IN ({hidden}) ORDER BY ordinal_position"
    )
    keys = server.ask(
        "SELECT table_schema, table_name, index_name, column_name, sub_part, nullable FROM"  # noqa: S608
        f" information_schema.statistics WHERE non_unique = 0 AND table_schema NOT IN ({hidden})"
        " ORDER BY index_name = 'PRIMARY' DESC, index_name, seq_in_index"
    )
    columns_of = _by_table(columns)
    keys_of = _by_table(keys)
    found = {}
    for schema, name in names:
        if (schema, name) in OF_ONE_SERVER:
            continue
        if wanted and schema not in wanted and f"{schema}.{name}" not in wanted:
            continue
        own = tuple(_column(row) for row in columns_of.get((schema, name), ()))
        found[schema, name] = compare_sql.SqlTable(
            own, compare_sql.key_of(keys_of.get((schema, name), ()))
        )
    return found


def _by_table(rows: Sequence[compare_sql.Row]) -> dict[compare_sql.Row, list[compare_sql.Row]]:
    found: dict[compare_sql.Row, list[compare_sql.Row]] = {}
    for schema, name, *rest in rows:
        found.setdefault((schema, name), []).append(tuple(rest))
    return found


def _column(row: compare_sql.Row) -> compare_sql.SqlColumn:
    name, type_, nullable, charset, collation = row
    return compare_sql.SqlColumn(name, type_.lower(), nullable == "YES", charset, collation)


@dataclass
class Findings:
    """What differs. ``most``: so many rows are reported whole."""

    most: int
    rows: int = 0
    differences: list[dict[str, Any]] = field(default_factory=list)
    more: int = 0
    unread_tables: dict[str, str] = field(default_factory=dict)

    def add(self, table: tuple[str, str], **about: Any) -> None:
        """A difference; beyond ``most`` it is only counted."""
        if len(self.differences) < self.most:
            self.differences.append({"table": ".".join(table), **about})
        else:
            self.more += 1


def compare_tables(
    servers: Sequence[compare_servers.ComparedServer], wanted: Sequence[str], chunk: int, most: int
) -> tuple[int, Findings]:
    """How many tables there are, and what differs. The first server is the reference."""
    found = Findings(most)
    with_tables = compare_servers.everywhere(servers, lambda server: tables_of(server, wanted))
    compare_servers.or_raise(with_tables)
    names = sorted({name for tables in with_tables.values() for name in tables})
    for name in names:
        missing = [server for server, tables in with_tables.items() if name not in tables]
        if missing:
            found.add(name, what=f"there is no such table on {', '.join(missing)}")
            continue
        tables = {server: each[name] for server, each in with_tables.items()}
        columns = {server: table.names for server, table in tables.items()}
        if len(set(columns.values())) > 1:
            said_by = "; ".join(f"{server}: {', '.join(each)}" for server, each in columns.items())
            found.add(name, what=f"its columns differ ({said_by})")
            continue
        try:
            _compare_table(servers, name, tables, chunk, found)
        except (compare_servers.ServerError, compare_servers.HeldError) as error:
            found.unread_tables[".".join(name)] = str(error)
    return len(names), found


def _compare_table(
    servers: Sequence[compare_servers.ComparedServer],
    name: tuple[str, str],
    tables: Mapping[str, compare_sql.SqlTable],
    chunk: int,
    found: Findings,
) -> None:
    of_all = [tables[server.name] for server in servers]
    key = compare_sql.common_key(of_all)
    ranges = [compare_sql.Chunk(key)]
    if compare_sql.can_be_chunked(of_all):
        ranges = _chunks(servers[0], name, of_all[0], chunk)  # type: ignore[assignment]
    for each in ranges:
        where, values = each.where

        def checksum(
            server: compare_servers.ComparedServer,
            where: str = where,
            values: Sequence[Any] = values,
        ) -> compare_sql.Row:
            sums = compare_sql.checksum_of(tables[server.name].columns)
            sql = f"SELECT {sums} FROM {compare_sql.in_full(name)} WHERE {where}"  # noqa: S608
            return server.ask(sql, values)[0]

        sums = compare_servers.everywhere(servers, checksum)
        compare_servers.or_raise(sums)
        found.rows += int(sums[servers[0].name][0])
        if len(set(sums.values())) > 1:
            _look_closer(servers, name, tables, each, found)


def _chunks(
    server: compare_servers.ComparedServer,
    name: tuple[str, str],
    table: compare_sql.SqlTable,
    size: int,
) -> Iterator[compare_sql.Chunk]:
    """Ranges of about ``size`` rows of the reference; the last one has no end, so that no row of
    another server is left out.
    """
    columns = table.key_columns()
    selected = ", ".join(compare_sql.quoted(column.name) for column in columns)
    after: compare_sql.Row | None = None
    while True:
        where, values = compare_sql.Chunk(table.key, after).where
        rows = server.ask(
            f"SELECT {selected} FROM {compare_sql.in_full(name)} WHERE {where} ORDER BY {selected}"  # noqa: S608
            f" LIMIT {size - 1}, 1",
            values,
        )
        if not rows:
            yield compare_sql.Chunk(table.key, after)
            return
        up_to = tuple(
            compare_sql.typed(column, value) for column, value in zip(columns, rows[0], strict=True)
        )
        yield compare_sql.Chunk(table.key, after, up_to)
        after = up_to


def _look_closer(
    servers: Sequence[compare_servers.ComparedServer],
    name: tuple[str, str],
    tables: Mapping[str, compare_sql.SqlTable],
    chunk: compare_sql.Chunk,
    found: Findings,
) -> None:
    """Which rows of a range differ; each as every server has it."""
    where, values = chunk.where

    def crcs(server: compare_servers.ComparedServer) -> list[compare_sql.Row]:
        table = tables[server.name]
        selected = [
            *(compare_sql.quoted(each) for each in chunk.key),
            compare_sql.row_crc(table.columns),
        ]
        sql = f"SELECT {', '.join(selected)} FROM {compare_sql.in_full(name)} WHERE {where}"  # noqa: S608
        return server.ask(sql, values)

    rows = compare_servers.everywhere(servers, crcs)
    compare_servers.or_raise(rows)
    if chunk.key:
        for key in different_keys({server: dict(_by_key(each)) for server, each in rows.items()}):
            if len(found.differences) >= found.most:
                found.more += 1
                continue
            found.add(name, **_row_everywhere(servers, name, tables, chunk.key, key))
        return
    for crc, counts in different_counts({each: Counter(found_) for each, found_ in rows.items()}):
        holder = next(server for server in servers if counts[server.name])
        about = _row_of_crc(holder, name, tables[holder.name], crc)
        found.add(name, key=None, counts=counts, row=about)


def _by_key(rows: Sequence[compare_sql.Row]) -> Iterator[tuple[compare_sql.Row, Any]]:
    for *key, crc in rows:
        yield tuple(key), crc


def different_keys(by_server: Mapping[str, Mapping[compare_sql.Row, Any]]) -> list[compare_sql.Row]:
    """Keys whose rows differ between servers, or that one of them lacks, in order."""
    all_keys = {key for rows in by_server.values() for key in rows}
    different = [key for key in all_keys if len({rows.get(key) for rows in by_server.values()}) > 1]
    return sorted(different, key=lambda key: [_sorted_by(each) for each in key])


def _sorted_by(value: Any) -> tuple[int, float, str]:
    text = compare_sql.text_of(value) or ""
    is_number = re.fullmatch(r"-?\d+(\.\d+)?", text)
    return (0, float(text), "") if is_number else (1, 0.0, text)


def different_counts(
    by_server: Mapping[str, Counter[compare_sql.Row]],
) -> list[tuple[Any, dict[str, int]]]:
    """Rows without a key: the CRC32 of each that servers hold in other numbers, and how often."""
    every = {row for counts in by_server.values() for row in counts}
    found = []
    for row in sorted(every, key=str):
        counts = {server: each[row] for server, each in by_server.items()}
        if len(set(counts.values())) > 1:
            found.append((row[0], counts))
    return found


def _row_everywhere(
    servers: Sequence[compare_servers.ComparedServer],
    name: tuple[str, str],
    tables: Mapping[str, compare_sql.SqlTable],
    key: tuple[str, ...],
    values: compare_sql.Row,
) -> dict[str, Any]:
    by_name = {column.name: column for column in tables[servers[0].name].columns}
    given = [
        compare_sql.typed(by_name[each], value) for each, value in zip(key, values, strict=True)
    ]
    equal = " AND ".join(f"{compare_sql.quoted(each)} = %s" for each in key)

    def row(server: compare_servers.ComparedServer) -> dict[str, str | None] | None:
        names = tables[server.name].names
        selected = ", ".join(map(compare_sql.quoted, names))
        sql = f"SELECT {selected} FROM {compare_sql.in_full(name)} WHERE {equal}"  # noqa: S608
        rows = server.ask(sql, given)
        return _readable(names, rows[0]) if rows else None

    rows = compare_servers.everywhere(servers, row)
    compare_servers.or_raise(rows)
    return {"key": _readable(key, values), "rows": rows}


def _row_of_crc(
    server: compare_servers.ComparedServer,
    name: tuple[str, str],
    table: compare_sql.SqlTable,
    crc: Any,
) -> dict[str, str | None] | None:
    selected = ", ".join(map(compare_sql.quoted, table.names))
    crc_of_row = compare_sql.row_crc(table.columns)
    rows = server.ask(
        f"SELECT {selected} FROM {compare_sql.in_full(name)} WHERE {crc_of_row} = %s LIMIT 1",  # noqa: S608
        (int(crc),),
    )
    return _readable(table.names, rows[0]) if rows else None


def _readable(names: Sequence[str], row: compare_sql.Row) -> dict[str, str | None]:
    return {name: compare_sql.text_of(value) for name, value in zip(names, row, strict=True)}


def compared(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    servers, unread = compare_servers.connected(request["servers"])
    held = [server for server in servers if server.name in request["held"]]
    if not held:
        return _nothing(unread, "no server that takes writes answers")
    reference = next((each for each in held if each.name == request["held"][0]), held[0])
    ordered = [reference, *(server for server in servers if server is not reference)]
    held = [reference, *(server for server in held if server is not reference)]
    try:
        at = compare_servers.one_position(ordered, held, request["wait_s"])
        tables, found = compare_tables(
            at.read, request["tables"], request["chunk"], request["most"]
        )
    except compare_servers.HeldError as error:
        return _nothing(unread, str(error))
    return {
        "problem": None,
        "unread": unread | at.unread,
        "positions": at.positions,
        "held_ms": at.held_ms,
        "compared": [server.name for server in at.read],
        "tables": tables,
        "rows": found.rows,
        "differences": found.differences,
        "more": found.more,
        "unread_tables": found.unread_tables,
    }


def _nothing(unread: dict[str, str], problem: str) -> dict[str, Any]:
    return {
        "problem": problem,
        "unread": unread,
        "positions": {},
        "held_ms": 0.0,
        "compared": [],
        "tables": 0,
        "rows": 0,
        "differences": [],
        "more": 0,
        "unread_tables": {},
    }


def main() -> None:
    """One request, one answer."""
    print(json.dumps(compared(json.load(sys.stdin))))


if __name__ == "__main__":
    main()
