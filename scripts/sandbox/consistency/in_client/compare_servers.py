"""Runs in the client node: servers whose rows are compared, brought to one position."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pymysql
from pymysql import converters

if TYPE_CHECKING or __package__:
    from sandbox.consistency.in_client.compare_sql import Row, text_of
else:
    from compare_sql import Row, text_of  # shipped into the same folder

CONNECT_S = 5
READ_S = 300
LOOK_S = 0.02
HOLD_S = 3
"""A lock that is not granted within this waits for a statement of somebody else's."""
AS_SENT: Any = converters.encoders
"""Values of statements are converted, and cells are not: each stays as the server sends it."""
OF_GROUP = "group_replication_"
"""Channels of a group's own replication: what they do is in the member's set of GTIDs."""


class HeldError(Exception):
    """The servers cannot be brought to one position, and why."""


class ServerError(Exception):
    """A server cannot be compared, and why."""


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
            text = "; ".join(f"{name} {position}" for name, position in positions.items())
            problem = HeldError(f"writes go on: within {wait_s:g} s no common position ({text})")
        except HeldError as refused:  # a statement, or a large transaction, is still under way
            problem = refused
        finally:
            for server in held:
                server.release()
        if time.monotonic() > end_s:
            raise problem
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
