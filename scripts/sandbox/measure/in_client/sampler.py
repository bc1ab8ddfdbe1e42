"""Runs in the client node: server status and host load, one JSON line per node and second.

It connects at once, samples from the first line of its input on, and ends with its input.
"""

import json
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pymysql

Emit = Callable[[dict[str, Any]], None]
Ask = Callable[[], dict[str, Any]]

STATUS = (
    "SHOW GLOBAL STATUS WHERE Variable_name REGEXP"
    " '^(Com_(select|insert|update|delete|replace|begin|commit|rollback"
    "|stmt_execute)|Handler_.*|Innodb_.*|Threads_.*|wsrep_.*|Bytes_.*|Questions|Queries|Connections|Uptime"
    "|Aborted_.*|Created_tmp_.*|Select_.*|Sort_.*|Binlog_.*|Table_locks_.*|Threadpool_.*|Open_tables)$'"
)

GROUP_QUEUES = (
    "SELECT * FROM performance_schema.replication_group_member_stats WHERE member_id ="
    " @@server_uuid"
)
GROUP_NAMES = {
    "count_transactions_in_queue": "Gr_certification_queue",
    "count_transactions_remote_in_applier_queue": "Gr_applier_queue",
}
"""Column of that table → its name among the samples. The second one has been there since 8.0.2."""


def number(text: str) -> int | float | None:
    """A status value; None where it is not a number."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return None


def group_queues(columns: list[str], row: tuple[Any, ...] | None) -> list[tuple[str, int]]:
    """The queues of a member of Group Replication as status values; none while it is not in its
    group.
    """
    known = zip((GROUP_NAMES.get(column.lower()) for column in columns), row or (), strict=False)
    return [(name, int(value)) for name, value in known if name is not None and value is not None]


class Server:
    """One server's status over one connection, opened again after a failure."""

    def __init__(self, target: dict[str, Any]) -> None:
        self._target = target
        self._connection: Any = None

    def connect(self) -> None:
        """Connects in advance. An unreachable server reports why when it is asked."""
        with suppress(pymysql.MySQLError, OSError):
            self._connection = self._connect()

    def ask(self) -> dict[str, Any]:
        """Current status, or null with the reason."""
        try:
            if self._connection is None:
                self._connection = self._connect()
            with self._connection.cursor() as cursor:
                cursor.execute(STATUS)
                pairs = [(name, number(value)) for name, value in cursor.fetchall()]
                if self._target.get("is_group_member"):
                    cursor.execute(GROUP_QUEUES)
                    pairs += group_queues(
                        [column[0] for column in cursor.description], cursor.fetchone()
                    )
            return {"status": {name: value for name, value in pairs if value is not None}}
        except (pymysql.MySQLError, OSError) as error:
            self._connection = None
            return {"status": None, "reason": f"{type(error).__name__}{error.args}"}

    def _connect(self) -> Any:
        return pymysql.connect(
            host=self._target["host"],
            port=self._target["port"],
            read_default_file=self._target["credentials"],
            connect_timeout=1,
            read_timeout=2,
            write_timeout=2,
            autocommit=True,
        )


def host_load() -> dict[str, Any]:
    """Raw counters of the machine: clock ticks, stall time in µs, load average; null where the
    kernel has none.
    """
    ticks = [int(text) for text in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    return {
        "cpu_ticks": dict(zip(names, ticks, strict=True)),
        "stalled_us": {name: stalled(name) for name in ("cpu", "io", "memory")},
        "load_average": float(Path("/proc/loadavg").read_text().split()[0]),
    }


def stalled(resource: str) -> dict[str, int] | None:
    """Total stall time of a resource from /proc/pressure, µs; None without pressure information."""
    try:
        lines = Path("/proc/pressure", resource).read_text().splitlines()
    except OSError:
        return None
    return {line.split()[0]: int(line.rpartition("total=")[2]) for line in lines}


def follow(
    name: str | None, ask: Ask, interval_s: float, emit: Emit, stop: threading.Event
) -> None:
    """Asks at every multiple of the interval on the monotonic clock; a missed slot is reported."""
    began = time.monotonic()
    slot = 0
    while not stop.wait(max(0.0, began + slot * interval_s - time.monotonic())):
        asked_s = time.monotonic() - began
        emit({"node": name, "slot": slot, "t_s": round(asked_s, 4), **ask()})
        done_s = time.monotonic() - began
        upcoming = max(slot + 1, int(done_s / interval_s) + 1)
        reason = f"missed: the previous answer took {done_s - asked_s:.1f} s"
        for missed in range(slot + 1, upcoming):
            emit({"node": name, "slot": missed, "t_s": None, "status": None, "reason": reason})
        slot = upcoming


def printer(stop: threading.Event) -> Emit:
    """Prints one whole line at a time; stops everything when the reader is gone."""
    lock = threading.Lock()

    def emit(line: dict[str, Any]) -> None:
        text = json.dumps(line, separators=(",", ":")) + "\n"
        try:
            with lock:
                sys.stdout.write(text)
                sys.stdout.flush()
        except OSError:
            stop.set()

    return emit


def end_with_input(stop: threading.Event) -> None:
    """Stops everything when standard input ends: the parent is gone, or needs no more samples."""
    sys.stdin.read()
    stop.set()


def main() -> None:
    """Arguments: the targets and the interval as JSON."""
    request = json.loads(sys.argv[1])
    servers = {target["name"]: Server(target) for target in request["targets"]}
    # Each is connected, or has timed out.
    with ThreadPoolExecutor(max_workers=max(1, len(servers))) as pool:
        list(pool.map(Server.connect, servers.values()))
    if not sys.stdin.readline():
        return
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    emit = printer(stop)
    emit({"node": None, "began_utc_s": time.time()})
    asks: list[tuple[str | None, Ask]] = [(None, lambda: {"host": host_load()})]
    asks += [(name, server.ask) for name, server in servers.items()]
    threading.Thread(target=end_with_input, args=(stop,), daemon=True).start()
    for name, ask in asks:
        arguments = (name, ask, request["interval_s"], emit, stop)
        threading.Thread(target=follow, args=arguments, daemon=True).start()
    while not stop.wait(60):
        pass


if __name__ == "__main__":
    main()
