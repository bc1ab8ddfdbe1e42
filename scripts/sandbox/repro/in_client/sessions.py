"""Runs in the client node: the sessions of a repro, each a thread with a connection of its own.

Each line of the input is a request in JSON, each line of the output an answer. Times are µs since
the program began. Requests:

- ``{"open": name, "host", "port", "account", "schema"}`` names a session; it connects when it is
  first used, and again once its connection is lost.
- ``{"run": id, "session": name, "sql": [text, …], "warnings": bool}`` runs statements one after the
  other, the last one's outcome being the answer; they wait until the session has done what it was
  given before. Only where warnings are wanted it asks for them: the question changes what a session
  knows of its last statement. With ``"half": true`` only the first half of the last statement's
  packet is sent; then the session waits for what the server makes of it.
- ``{"cut": name}`` ends a session's connection without a word to the server, as a client that is
  killed does; the session connects again when it is next used.
- ``{"close": name}`` ends a session, whatever it waits for; its account's connection is cut.

Answers: ``{"begun": id, "us", "connection"}`` when the statement is sent, ``{"done": id, "us", …}``
with ``rows`` (a list of result sets), ``affected``, ``warnings`` and ``error``.
"""

import json
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pymysql
from pymysql.constants import CLIENT

BEGAN_NS = time.monotonic_ns()
CONNECT_S = 10
LOST = (2006, 2013, 2014, 0)
"""Error codes after which a connection is no longer used: it went away, or its state is unknown."""
QUERY = b"\x03"
"""The command that a packet with a statement begins with (COM_QUERY)."""
ERROR = 0xFF
"""The first byte of an answer that is an error."""
MOST_ROWS = 10_000
"""Of a result set; further ones are read and left out, which the answer says."""


def now_us() -> int:
    """µs since the program began."""
    return (time.monotonic_ns() - BEGAN_NS) // 1000


def text_of(value: Any) -> Any:
    """A cell as the server sends it; what is no text of UTF-8 as 0x…"""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return "0x" + value.hex()
    return value


class Printer:
    """Prints one answer at a time."""

    def __init__(self) -> None:
        self._turn = threading.Lock()

    def __call__(self, **answer: Any) -> None:
        line = json.dumps(answer, separators=(",", ":"), default=str)
        with self._turn:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


class HeldSession:
    """One session: carries out what is in its queue, in order."""

    def __init__(self, request: dict[str, Any], say: Callable[..., None]) -> None:
        self._request = request
        self._say = say
        self._connection: Any = None
        self._queue: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def add(self, work: dict[str, Any]) -> None:
        """Adds statements to its queue."""
        self._queue.put(work)

    def close(self) -> None:
        """Ends it; a statement that is still under way is left to the server."""
        self._queue.put(None)
        connection = self._connection
        if connection is not None:
            connection._force_close()

    def cut(self) -> None:
        """Ends its connection without a word to the server, whatever it waits for."""
        connection = self._connection
        if connection is not None:
            with suppress(OSError):  # the server may have ended it
                connection._sock.shutdown(socket.SHUT_RDWR)
        self._queue.put({"cut": True})

    def _work(self) -> None:
        while (work := self._queue.get()) is not None:
            if "cut" in work:
                self._forget_connection()
                continue
            try:
                self._run(work)
            except Exception as error:  # noqa: BLE001  (a session never ends without an answer)
                self._say(done=work["run"], us=now_us(), error=_error(error), **_nothing())

    def _forget_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection._force_close()

    def _run(self, work: dict[str, Any]) -> None:
        try:
            if self._connection is None:
                self._connection = self._connect()
        except (pymysql.MySQLError, OSError) as error:
            self._say(done=work["run"], us=now_us(), error=_error(error), **_nothing())
            return
        connection = self._connection
        for sql in work["sql"]:
            self._say(begun=work["run"], us=now_us(), connection=connection.thread_id())
            if work.get("half"):
                found = {**_nothing(), "error": _half(connection._sock, sql)}
            else:
                found = self._one(connection, sql, work["warnings"])
            if found["error"]:
                break
        if found["error"] and found["error"]["code"] in LOST:
            self._connection = None
        self._say(done=work["run"], us=now_us(), **found)

    def _one(self, connection: Any, sql: str, warnings: bool) -> dict[str, Any]:
        """The outcome of a statement, or of several that are sent at once."""
        found = _nothing()
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql)
                while True:
                    if cursor.description:
                        rows = cursor.fetchall()
                        cells = [[text_of(cell) for cell in row] for row in rows[:MOST_ROWS]]
                        found["rows"].append(cells)
                        found["columns"].append([column[0] for column in cursor.description])
                        found["left_out"] += max(0, len(rows) - MOST_ROWS)
                    found["affected"] = None if cursor.description else cursor.rowcount
                    if not cursor.nextset():
                        break
                if warnings:
                    cursor.execute("SHOW WARNINGS")
                    found["warnings"] = [[text_of(cell) for cell in row] for row in cursor]
        except (pymysql.MySQLError, OSError, ValueError) as error:
            found["error"] = _error(error)
        return {"error": None, **found}

    def _connect(self) -> Any:
        request = self._request
        return pymysql.connect(
            host=request["host"],
            port=request["port"],
            database=request["schema"],
            read_default_file=f"/sandbox/{request['account']}.cnf",
            connect_timeout=CONNECT_S,
            autocommit=None,  # as the server has it
            client_flag=CLIENT.MULTI_STATEMENTS,
            conv={},  # every value as the server sends it
            charset="utf8mb4",
        )


def _half(server: socket.socket, sql: str) -> dict[str, Any]:
    """Sends the first half of a statement's packet, and waits for the end of its connection."""
    command = QUERY + sql.encode()
    packet = len(command).to_bytes(3, "little") + b"\0" + command
    received = b""
    with suppress(OSError):
        server.sendall(packet[: len(packet) // 2])
        while part := server.recv(4096):
            received += part
    if len(received) > 6 and received[4] == ERROR:
        text = received[7:].decode("utf-8", "replace")
        return {"code": int.from_bytes(received[5:7], "little"), "text": text}
    return {"code": 2013, "text": "Lost connection to server after half of a statement"}


def _nothing() -> dict[str, Any]:
    return {"rows": [], "columns": [], "left_out": 0, "affected": None, "warnings": []}


def _error(error: Exception) -> dict[str, Any]:
    known = list(error.args)
    code = known[0] if known and isinstance(known[0], int) else 0
    text = known[1] if len(known) > 1 else (str(error) or type(error).__name__)
    return {"code": code, "text": str(text)}


def main() -> None:
    """Requests until the input ends."""
    say = Printer()
    sessions: dict[str, HeldSession] = {}
    for line in sys.stdin:
        request = json.loads(line)
        if "open" in request:
            sessions[request["open"]] = HeldSession(request, say)
        elif "close" in request:
            session = sessions.pop(request["close"], None)
            if session is not None:
                session.close()
            say(closed=request["close"], us=now_us())
        elif "cut" in request:
            sessions[request["cut"]].cut()
        elif "clock" in request:
            say(clock=request["clock"], us=now_us())
        else:
            sessions[request["session"]].add(request)


if __name__ == "__main__":
    main()
