"""Runs in the client node: compares the rows of every table on several servers, in one position.

A request in JSON on standard input, its answer in JSON on standard output. The servers that take
writes are held by FLUSH TABLES WITH READ LOCK until each follower has what they have and every
server has a snapshot; everything after that reads from the snapshots, while writes go on.

Source: pt-table-checksum (chunks in the order of the primary key; count, sum and exclusive or of
a CRC32 of each row).

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
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pymysql
from pymysql import converters

CONNECT_S = 5
READ_S = 300
LOOK_S = 0.02
HOLD_S = 3
"""A lock that is not granted within this waits for a statement of somebody else's."""
AS_SENT: Any = converters.encoders
"""Values of statements are converted, and cells are not: each stays as the server sends it."""
OWN_SCHEMAS = ("mysql", "sys", "information_schema", "performance_schema")
OF_ONE_SERVER = {("sandbox", "renewed")}
"""Tables in which each server of a stack notes what it alone did when it started."""
UNORDERED = ("enum", "set", "float", "double", "bit", "json", "geometry", "vector")
"""Types whose values are not compared in the order by which they are sorted, or not exactly."""
INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")
AS_UTF8 = ("utf8mb4", "utf8mb3", "utf8", "ascii", None)
OF_GROUP = "group_replication_"
"""Channels of a group's own replication: what they do is in the member's set of GTIDs."""
TABLE_TYPES = ("BASE TABLE", "SYSTEM VERSIONED")

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


class HeldError(Exception):
    """The servers cannot be brought to one position, and why."""


class ServerError(Exception):
    """A server cannot be compared, and why."""


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
    """Count, exclusive or and sum of the rows: two equal rows more are seen by the sum alone."""
    crc = row_crc(columns)
    return f"COUNT(*), COALESCE(BIT_XOR({crc}), 0), COALESCE(SUM({crc}), 0)"


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


class ComparedServer:
    """A server: the connection that reads, and the one that holds writes."""

    def __init__(self, about: Mapping[str, Any]) -> None:
        self.name: str = about["name"]
        self.topology: str = about["topology"]
        self.is_mysql = about["family"] == "mysql"
        self._about = about
        self._reads = self._connect()
        self._holds: Any = None
        for variable in ("wsrep_sync_wait = 0", "max_statement_time = 0", "max_execution_time = 0"):
            self._try(f"SET SESSION {variable}")
        self.ask("SET SESSION time_zone = '+00:00', sql_mode = '', lock_wait_timeout = 30")

    def ask(self, sql: str, values: Sequence[Any] | None = None) -> list[Row]:
        """Rows, every value as the server sends it. Raises ServerError.

        ``values``: None for SQL without places for values, in which a percent sign is one.
        """
        return self._on(self._reads, sql, values)

    def hold(self) -> None:
        """Lets no write commit. Raises ServerError."""
        self._holds = self._connect()
        self._on(self._holds, f"SET SESSION lock_wait_timeout = {HOLD_S}")
        self._on(self._holds, "FLUSH TABLES WITH READ LOCK")

    def release(self) -> None:
        """Lets writes go on. Harmless when repeated."""
        holds, self._holds = self._holds, None
        if holds is not None:
            holds.close()

    def take_snapshot(self) -> None:
        """What it reads from now on is what it holds now."""
        self.ask("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        self.ask("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")

    def position(self) -> str:
        """How far it is, for a reader; equal on the members of a cluster that hold the same."""
        if self.topology == "galera":
            ((_, number),) = self.ask("SHOW STATUS LIKE 'wsrep_last_committed'")
            return f"seqno {number}"
        if self.is_mysql:
            return self.gtid_set() or self._log_position()
        return str(self.ask("SELECT @@global.gtid_current_pos")[0][0]) or self._log_position()

    def gtid_set(self) -> str | None:
        """The GTIDs that a MySQL server has executed, maybe none; None: it has no GTIDs."""
        ((mode, executed),) = self.ask("SELECT @@global.gtid_mode, @@global.gtid_executed")
        return "".join(executed.split()) if mode == "ON" else None

    def _log_position(self) -> str:
        file, position = self.log_end()
        return f"{file}:{position}" if file else ""

    def log_end(self) -> tuple[str, int]:
        """File and position where its binary log ends; an empty name: it has none."""
        try:
            rows = self.ask("SHOW BINARY LOG STATUS")
        except ServerError:
            rows = self.ask("SHOW MASTER STATUS")
        return (str(rows[0][0]), int(rows[0][1])) if rows else ("", 0)

    def channels(self) -> list[dict[str, str]]:
        """Its channels of replication, a row each, as SHOW REPLICA STATUS names the fields."""
        statement = "SHOW REPLICA STATUS" if self.is_mysql else "SHOW ALL SLAVES STATUS"
        try:
            found = self._named(statement)
        except ServerError:
            found = self._named("SHOW SLAVE STATUS")
        rows = [{_of_today(name): value for name, value in row.items()} for row in found]
        return [row for row in rows if not row.get("Channel_Name", "").startswith(OF_GROUP)]

    def _named(self, sql: str) -> list[dict[str, str]]:
        cursor = self._reads.cursor()
        with cursor:
            _execute(cursor, sql, None)
            names = [column[0] for column in cursor.description]
            return [
                {name: text_of(cell) or "" for name, cell in zip(names, row, strict=True)}
                for row in cursor.fetchall()
            ]

    def _try(self, sql: str) -> None:
        """A variable that only some versions have."""
        with suppress(ServerError):
            self.ask(sql)

    def _connect(self) -> Any:
        connection: Any
        try:
            connection = pymysql.connect(
                host=self._about["host"],
                port=self._about["port"],
                read_default_file=self._about["credentials"],
                connect_timeout=CONNECT_S,
                read_timeout=CONNECT_S,  # of a server that hangs, its greeting
                autocommit=True,
                conv=AS_SENT,
                charset="utf8mb4",
            )
        except (pymysql.MySQLError, OSError) as error:
            raise ServerError(said(error)) from error
        connection._read_timeout = READ_S
        return connection

    def _on(self, connection: Any, sql: str, values: Sequence[Any] | None = None) -> list[Row]:
        with connection.cursor() as cursor:
            _execute(cursor, sql, values)
            return list(cursor.fetchall())


def _execute(cursor: Any, sql: str, values: Sequence[Any] | None) -> None:
    try:
        cursor.execute(sql, values)
    except (pymysql.MySQLError, OSError) as error:
        raise ServerError(said(error)) from error


def _of_today(name: str) -> str:
    """The name of a field of a channel: Source_Host for Master_Host."""
    return name.replace("Master", "Source").replace("Slave", "Replica")


def said(error: Exception) -> str:
    """An error in one line: its code and text."""
    known = [str(each) for each in error.args]
    return f"error {': '.join(known)}" if len(known) > 1 else str(error) or type(error).__name__


def text_of(value: Any) -> str | None:
    """A cell for a reader; what is no text of UTF-8 as 0x…"""
    if isinstance(value, bytes):
        text = value.decode("utf-8", "replace")
        is_text = "\ufffd" not in text and all(
            each.isprintable() or each.isspace() for each in text
        )
        return text if is_text else "0x" + value.hex()
    return None if value is None else str(value)


def everywhere(
    servers: Sequence[ComparedServer], what: Callable[[ComparedServer], Any]
) -> dict[str, Any]:
    """The same on all servers at once: by name, what came, a ServerError included."""

    def one(server: ComparedServer) -> Any:
        try:
            return what(server)
        except ServerError as error:
            return error

    with ThreadPoolExecutor(max_workers=max(1, len(servers))) as pool:
        found = list(pool.map(one, servers))
    return {server.name: each for server, each in zip(servers, found, strict=True)}


def or_raise(answers: Mapping[str, Any]) -> None:
    """Raises HeldError for the first server that failed."""
    for name, answer in answers.items():
        if isinstance(answer, ServerError):
            raise HeldError(f"{name}: {answer}")


@dataclass
class Position:
    """Servers brought to one position. ``unread``: those that are not there, each with why."""

    read: list[ComparedServer]
    unread: dict[str, str]
    positions: dict[str, str]
    held_ms: float = 0.0


def one_position(
    servers: Sequence[ComparedServer], held: Sequence[ComparedServer], wait_s: float
) -> Position:
    """Every server with a snapshot of the same position. Raises HeldError.

    Of several that take writes each is held by itself: where one got a write that another has not,
    they are let go and held again.
    """
    end_s = time.monotonic() + wait_s
    while True:
        began_s = time.monotonic()
        try:
            or_raise(everywhere(held, lambda server: server.hold()))
            positions = everywhere(held, lambda server: server.position())
            or_raise(positions)
            if len(set(positions.values())) == 1:
                found = _with_followers(servers, held, positions, end_s)
                found.held_ms = (time.monotonic() - began_s) * 1000
                return found
        finally:
            for server in held:
                server.release()
        if time.monotonic() > end_s:
            text = "; ".join(f"{name} {position}" for name, position in positions.items())
            raise HeldError(f"writes go on: within {wait_s:g} s no common position ({text})")
        time.sleep(LOOK_S)


def _with_followers(
    servers: Sequence[ComparedServer],
    held: Sequence[ComparedServer],
    positions: dict[str, str],
    end_s: float,
) -> Position:
    """While writes are held: followers wait for what the others have, then all take snapshots."""
    followers = [server for server in servers if server not in held]
    ends = {server.name: server.log_end() for server in held}
    wanted = held[0].gtid_set() if held[0].is_mysql else None
    waited = everywhere(followers, lambda server: _catch_up(server, wanted, ends, end_s))
    unread = {name: str(why) for name, why in waited.items() if isinstance(why, ServerError)}
    read = [server for server in servers if server.name not in unread]
    taken = everywhere(read, lambda server: server.take_snapshot())
    unread |= {name: str(why) for name, why in taken.items() if isinstance(why, ServerError)}
    read = [server for server in read if server.name not in unread]
    found = positions | {server.name: server.position() for server in read if server not in held}
    return Position(read, unread, found)


def _catch_up(
    server: ComparedServer, wanted: str | None, ends: Mapping[str, tuple[str, int]], end_s: float
) -> None:
    """Until a follower has all of the reference. Raises ServerError where it does not get there.

    ``wanted``: the reference's GTIDs, where it has any; ``ends``: where the binary logs of those
    that are held end.
    """
    if wanted is not None and server.is_mysql:
        _wait_for_set(server, wanted, max(0.1, end_s - time.monotonic()))
        return
    while True:
        behind = _behind(server, ends)
        if not behind:
            return
        if time.monotonic() > end_s:
            raise ServerError(behind)
        time.sleep(LOOK_S)


def _wait_for_set(server: ComparedServer, wanted: str, left_s: float) -> None:
    stopped = [why for row in server.channels() if (why := _stopped(row))]
    if stopped:
        raise ServerError(stopped[0])
    is_late = server.ask("SELECT WAIT_FOR_EXECUTED_GTID_SET(%s, %s)", (wanted, left_s))[0][0]
    if str(is_late) != "0":
        raise ServerError(f"it has not caught up within {left_s:.0f} s")


def _behind(server: ComparedServer, ends: Mapping[str, tuple[str, int]]) -> str:
    """Why a follower has not got all of its source yet; empty: it has. Raises ServerError."""
    channels = server.channels()
    if not channels:
        raise ServerError("it follows nobody")
    for row in channels:
        stopped = _stopped(row)
        if stopped:
            raise ServerError(stopped)
        source = row.get("Source_Host", "")
        if source not in ends:
            raise ServerError(f"it follows {source}, which is not held")
        file, position = ends[source]
        here = (row.get("Relay_Source_Log_File", ""), int(row.get("Exec_Source_Log_Pos") or 0))
        if here < (file, position):
            return f"it is at {here[0]}:{here[1]}, its source {source} at {file}:{position}"
    return ""


def _stopped(row: Mapping[str, str]) -> str:
    if row.get("Replica_SQL_Running") == "No":
        code = row.get("Last_SQL_Errno", "0")
        text = row.get("Last_SQL_Error", "")
        return f"its applier does not run: error {code}: {text}" if text else "its applier stands"
    if row.get("Replica_IO_Running") == "No":
        return "its receiver does not run"
    return ""


def tables_of(server: ComparedServer, wanted: Sequence[str]) -> dict[tuple[str, str], SqlTable]:
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
        found[schema, name] = SqlTable(own, key_of(keys_of.get((schema, name), ())))
    return found


def _by_table(rows: Sequence[Row]) -> dict[Row, list[Row]]:
    found: dict[Row, list[Row]] = {}
    for schema, name, *rest in rows:
        found.setdefault((schema, name), []).append(tuple(rest))
    return found


def _column(row: Row) -> SqlColumn:
    name, type_, nullable, charset, collation = row
    return SqlColumn(name, type_.lower(), nullable == "YES", charset, collation)


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
    servers: Sequence[ComparedServer], wanted: Sequence[str], chunk: int, most: int
) -> tuple[int, Findings]:
    """How many tables there are, and what differs. The first server is the reference."""
    found = Findings(most)
    with_tables = everywhere(servers, lambda server: tables_of(server, wanted))
    or_raise(with_tables)
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
        except (ServerError, HeldError) as error:
            found.unread_tables[".".join(name)] = str(error)
    return len(names), found


def _compare_table(
    servers: Sequence[ComparedServer],
    name: tuple[str, str],
    tables: Mapping[str, SqlTable],
    chunk: int,
    found: Findings,
) -> None:
    of_all = [tables[server.name] for server in servers]
    key = common_key(of_all)
    ranges = [Chunk(key)]
    if can_be_chunked(of_all):
        ranges = _chunks(servers[0], name, of_all[0], chunk)  # type: ignore[assignment]
    for each in ranges:
        where, values = each.where

        def checksum(
            server: ComparedServer, where: str = where, values: Sequence[Any] = values
        ) -> Row:
            sums = checksum_of(tables[server.name].columns)
            sql = f"SELECT {sums} FROM {in_full(name)} WHERE {where}"  # noqa: S608
            return server.ask(sql, values)[0]

        sums = everywhere(servers, checksum)
        or_raise(sums)
        found.rows += int(sums[servers[0].name][0])
        if len(set(sums.values())) > 1:
            _look_closer(servers, name, tables, each, found)


def _chunks(
    server: ComparedServer, name: tuple[str, str], table: SqlTable, size: int
) -> Iterator[Chunk]:
    """Ranges of about ``size`` rows of the reference; the last one has no end, so that no row of
    another server is left out.
    """
    columns = table.key_columns()
    selected = ", ".join(quoted(column.name) for column in columns)
    after: Row | None = None
    while True:
        where, values = Chunk(table.key, after).where
        rows = server.ask(
            f"SELECT {selected} FROM {in_full(name)} WHERE {where} ORDER BY {selected}"  # noqa: S608
            f" LIMIT {size - 1}, 1",
            values,
        )
        if not rows:
            yield Chunk(table.key, after)
            return
        up_to = tuple(typed(column, value) for column, value in zip(columns, rows[0], strict=True))
        yield Chunk(table.key, after, up_to)
        after = up_to


def _look_closer(
    servers: Sequence[ComparedServer],
    name: tuple[str, str],
    tables: Mapping[str, SqlTable],
    chunk: Chunk,
    found: Findings,
) -> None:
    """Which rows of a range differ; each as every server has it."""
    where, values = chunk.where

    def crcs(server: ComparedServer) -> list[Row]:
        table = tables[server.name]
        selected = [*(quoted(each) for each in chunk.key), row_crc(table.columns)]
        sql = f"SELECT {', '.join(selected)} FROM {in_full(name)} WHERE {where}"  # noqa: S608
        return server.ask(sql, values)

    rows = everywhere(servers, crcs)
    or_raise(rows)
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


def _by_key(rows: Sequence[Row]) -> Iterator[tuple[Row, Any]]:
    for *key, crc in rows:
        yield tuple(key), crc


def different_keys(by_server: Mapping[str, Mapping[Row, Any]]) -> list[Row]:
    """Keys whose rows differ between servers, or that one of them lacks, in order."""
    all_keys = {key for rows in by_server.values() for key in rows}
    different = [key for key in all_keys if len({rows.get(key) for rows in by_server.values()}) > 1]
    return sorted(different, key=lambda key: [_sorted_by(each) for each in key])


def _sorted_by(value: Any) -> tuple[int, float, str]:
    text = text_of(value) or ""
    is_number = re.fullmatch(r"-?\d+(\.\d+)?", text)
    return (0, float(text), "") if is_number else (1, 0.0, text)


def different_counts(
    by_server: Mapping[str, Counter[Row]],
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
    servers: Sequence[ComparedServer],
    name: tuple[str, str],
    tables: Mapping[str, SqlTable],
    key: tuple[str, ...],
    values: Row,
) -> dict[str, Any]:
    by_name = {column.name: column for column in tables[servers[0].name].columns}
    given = [typed(by_name[each], value) for each, value in zip(key, values, strict=True)]
    equal = " AND ".join(f"{quoted(each)} = %s" for each in key)

    def row(server: ComparedServer) -> dict[str, str | None] | None:
        names = tables[server.name].names
        selected = ", ".join(map(quoted, names))
        rows = server.ask(f"SELECT {selected} FROM {in_full(name)} WHERE {equal}", given)  # noqa: S608
        return _readable(names, rows[0]) if rows else None

    rows = everywhere(servers, row)
    or_raise(rows)
    return {"key": _readable(key, values), "rows": rows}


def _row_of_crc(
    server: ComparedServer, name: tuple[str, str], table: SqlTable, crc: Any
) -> dict[str, str | None] | None:
    selected = ", ".join(map(quoted, table.names))
    crc_of_row = row_crc(table.columns)
    rows = server.ask(
        f"SELECT {selected} FROM {in_full(name)} WHERE {crc_of_row} = %s LIMIT 1",  # noqa: S608
        (int(crc),),
    )
    return _readable(table.names, rows[0]) if rows else None


def _readable(names: Sequence[str], row: Row) -> dict[str, str | None]:
    return {name: text_of(value) for name, value in zip(names, row, strict=True)}


def connected(
    abouts: Sequence[Mapping[str, Any]],
) -> tuple[list[ComparedServer], dict[str, str]]:
    """The servers that answer, in order; by name, why the others do not."""

    def one(about: Mapping[str, Any]) -> ComparedServer | str:
        try:
            return ComparedServer(about)
        except ServerError as error:
            return str(error)

    with ThreadPoolExecutor(max_workers=max(1, len(abouts))) as pool:
        found = list(pool.map(one, abouts))
    servers = [each for each in found if isinstance(each, ComparedServer)]
    unread = {
        about["name"]: each
        for about, each in zip(abouts, found, strict=True)
        if isinstance(each, str)
    }
    return servers, unread


def compared(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    servers, unread = connected(request["servers"])
    held = [server for server in servers if server.name in request["held"]]
    if not held:
        return _nothing(unread, "no server that takes writes answers")
    reference = next((each for each in held if each.name == request["held"][0]), held[0])
    ordered = [reference, *(server for server in servers if server is not reference)]
    held = [reference, *(server for server in held if server is not reference)]
    try:
        at = one_position(ordered, held, request["wait_s"])
        tables, found = compare_tables(
            at.read, request["tables"], request["chunk"], request["most"]
        )
    except HeldError as error:
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
