"""Runs in the client node: stops the applier of every replica, starts all of them again, and times
their catching up.

Its commands are lines of JSON, its answers too. When its input ends, every applier runs again
before it ends itself.
"""

import json
import queue
import re
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pymysql
from pymysql.cursors import DictCursor

LOOK_S = 0.1
"""Pause between two questions whether a replica has received everything."""
WAIT_S = 1
"""The server itself waits for so long for the last transaction; then it is asked whether its
applier still runs.
"""
STATEMENT_LIMIT_S = 60


class EndedError(Exception):
    """The input has ended: nobody waits for an answer any more."""


class CommandLines:
    """The lines of the input as they come. ``ended`` is set with its end."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> Any:
        """The next command. Raises EndedError."""
        line = self._lines.get()
        if line is None:
            raise EndedError
        return json.loads(line)

    def _read(self) -> None:
        for line in sys.stdin:
            self._lines.put(line)
        self.ended.set()
        self._lines.put(None)


class ReplicaApplier:
    """One replica, asked as root over the network."""

    def __init__(self, target: Mapping[str, Any]) -> None:
        self.name = target["name"]
        self._target = target
        self._connection = self._connect()
        version = str(self._one("SELECT VERSION()"))
        self._mariadb = "mariadb" in version.lower()
        numbers = [int(number) for number in re.findall(r"\d+", version)[:3]]
        self._word = "REPLICA" if not self._mariadb and numbers >= [8, 0, 22] else "SLAVE"
        self._waits_for_sets = numbers >= [5, 7, 5]

    def stop(self) -> None:
        """Stops the applier; what the source commits from here on stays in the relay log."""
        self._run(f"STOP {self._word} SQL_THREAD")

    def start(self) -> None:
        """Starts the applier; harmless where it runs."""
        self._run(f"START {self._word} SQL_THREAD")

    def run_again(self) -> None:
        """Starts the applier over a new connection: the old one may be waiting, or lost."""
        self._connection = self._connect()
        self.start()

    def has_received(self, held: str) -> bool:
        """Whether the relay log has all of a source's GTID set or position."""
        shown = self._status()
        if self._mariadb:
            return covers(str(shown.get("Gtid_IO_Pos") or ""), held)
        own = "CONCAT_WS(',', NULLIF(%s, ''), NULLIF(@@GLOBAL.gtid_executed, ''))"
        received = shown.get("Retrieved_Gtid_Set") or ""
        return bool(self._one(f"SELECT GTID_SUBSET(%s, {own})", held, received))

    def has_applied(self, held: str) -> bool:
        """Whether it has applied all of it, within WAIT_S. Raises RuntimeError where the applier
        has ended.
        """
        if self._mariadb:
            applied = self._one("SELECT MASTER_GTID_WAIT(%s, %s) = 0", held, WAIT_S)
        elif self._waits_for_sets:
            applied = self._one("SELECT WAIT_FOR_EXECUTED_GTID_SET(%s, %s) = 0", held, WAIT_S)
        else:
            applied = self._one(
                "SELECT WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS(%s, %s) >= 0", held, WAIT_S
            )
        if not applied:
            self._check_applier()
        return bool(applied)

    def _check_applier(self) -> None:
        shown = self._status()
        if (shown.get("Replica_SQL_Running") or shown.get("Slave_SQL_Running")) != "Yes":
            raise RuntimeError(
                f"its applier has ended: {shown.get('Last_SQL_Error') or 'without an error'}"
            )

    def _status(self) -> Mapping[str, Any]:
        return self._run(f"SHOW {self._word} STATUS") or {}

    def _one(self, statement: str, *values: Any) -> Any:
        return next(iter((self._run(statement, *values) or {"": None}).values()))

    def _run(self, statement: str, *values: Any) -> Mapping[str, Any] | None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            row: Mapping[str, Any] | None = cursor.fetchone()
            return row

    def _connect(self) -> Any:
        return pymysql.connect(
            host=self._target["host"],
            port=self._target["port"],
            read_default_file=self._target["credentials"],
            connect_timeout=10,
            read_timeout=STATEMENT_LIMIT_S,
            write_timeout=STATEMENT_LIMIT_S,
            autocommit=True,
            cursorclass=DictCursor,
        )


def covers(held: str, other: str) -> bool:
    """Whether a position of MariaDB is as far as another one in each of its domains:
    ``0-1-270,1-1-5``.
    """
    far = dict(_numbers(held))
    return all(far.get(domain, 0) >= number for domain, number in _numbers(other))


def _numbers(held: str) -> list[tuple[str, int]]:
    parts = [each.strip().split("-") for each in held.split(",") if each.strip()]
    return [(domain, int(number)) for domain, _, number in parts]


def emit(**answer: Any) -> None:
    """One answer, at once."""
    print(json.dumps(answer), flush=True)


def wait_until_received(
    replicas: list[ReplicaApplier], commands: CommandLines, held: str, limit_s: float
) -> None:
    """Returns when every relay log has it. Raises RuntimeError past the limit, EndedError."""
    end = time.monotonic() + limit_s
    for replica in replicas:
        while not replica.has_received(held):
            if commands.ended.wait(LOOK_S):
                raise EndedError
            if time.monotonic() > end:
                raise RuntimeError(
                    f"{replica.name}: the relay log lacks transactions after {limit_s:g} s"
                )


def catch_up(replica: ReplicaApplier, commands: CommandLines, held: str, limit_s: float) -> None:
    """Starts the applier, and says when it has applied the last transaction."""
    began = time.monotonic()
    try:
        replica.start()
        while not replica.has_applied(held):
            passed = time.monotonic() - began
            if commands.ended.is_set() or passed > limit_s:
                raise RuntimeError(f"it has not caught up after {passed:.0f} s")
            emit(node=replica.name, still_s=round(passed, 1))
    except (pymysql.MySQLError, OSError, RuntimeError) as error:
        emit(error=f"{replica.name}: {error}")
    else:
        emit(node=replica.name, caught_up_s=round(time.monotonic() - began, 4))


def measure(replicas: list[ReplicaApplier], commands: CommandLines) -> None:
    """The steps: stop, received, caught up; the next command begins the next one."""
    for replica in replicas:
        replica.stop()
    emit(stopped=True)
    request = commands.next()
    wait_until_received(replicas, commands, request["held"], request["limit_s"])
    emit(received=True)
    request |= commands.next()
    with ThreadPoolExecutor(max_workers=len(replicas)) as pool:
        for replica in replicas:
            pool.submit(catch_up, replica, commands, request["held"], request["limit_s"])


def main() -> None:
    """Arguments: the replicas as JSON."""
    commands = CommandLines()
    replicas = [ReplicaApplier(target) for target in json.loads(sys.argv[1])]
    try:
        measure(replicas, commands)
    except (pymysql.MySQLError, OSError, RuntimeError) as error:
        emit(error=str(error))
    except EndedError:
        pass
    finally:
        for replica in replicas:
            # One that is gone must not keep the others from running again.
            with suppress(pymysql.MySQLError, OSError):
                replica.run_again()


if __name__ == "__main__":
    main()
