"""Runs in the client node: writers that insert rows, each by itself, whatever becomes of the
servers.

The request is the first argument. Standard output: seconds, errors and the summary as `engine.lua`
prints them. The outcome of each write goes to the ledger, a file per start, where it asks for one.
"""

import json
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pymysql

if TYPE_CHECKING:
    from sandbox.load.common.in_client_conflicts import is_conflict
    from sandbox.load.common.in_client_history import Recorder
    from sandbox.stack.in_client import outcomes
else:
    import outcomes  # shipped into the same folder
    from in_client_conflicts import is_conflict
    from in_client_history import Recorder

CONNECT_LIMIT_S = 2
STATEMENT_LIMIT_S = 5
PAUSES_S = (0.0, 0.05, 0.1, 0.2)
"""After so many failures in a row, before the next entry is tried; never longer."""
LOOK_UP_S = 1.0
LATE_S = 1.0
"""A writer that is further behind its rate does not catch up."""
INSERT = "INSERT INTO `{}` (writer, op, payload) VALUES (%s, %s, %s)"


class Addresses:
    """The newest known address of each entry; looked up beside the writers, since looking up a name
    that has vanished takes many seconds.
    """

    def __init__(self, entries: Sequence[Mapping[str, Any]]) -> None:
        hosts = [str(entry["host"]) for entry in entries]
        self._known = dict(zip(hosts, hosts, strict=True))
        for host in self._known:
            self._look_up(host)
            threading.Thread(target=self._follow, args=(host,), daemon=True).start()

    def of(self, host: str) -> str:
        """Where it was last."""
        return self._known[host]

    def _follow(self, host: str) -> None:
        while True:
            time.sleep(LOOK_UP_S)
            self._look_up(host)

    def _look_up(self, host: str) -> None:
        with suppress(OSError):
            self._known[host] = socket.gethostbyname(host)


class OutcomeFile:
    """The ledger of one start: a line per write, ``outcome<TAB>writer<TAB>op``, at once."""

    def __init__(self, folder: str | None, first_op: int) -> None:
        self._guard = threading.Lock()
        self._file: TextIO | None = None
        if folder is not None:
            Path(folder).mkdir(parents=True, exist_ok=True)
            # Line by line: a load is ended by a signal.
            path = Path(folder) / f"{first_op}.tsv"
            self._file = path.open("w", encoding="ascii", buffering=1)

    def add(self, outcome: str, writer: int, op: int) -> None:
        """What became of a write."""
        if self._file is not None:
            with self._guard:
                self._file.write(f"{outcome}\t{writer}\t{op}\n")


class RowWriter:
    """One writer: at its entry until that fails, then at the next one."""

    def __init__(
        self,
        number: int,
        request: Mapping[str, Any],
        recorder: Recorder,
        ledger: OutcomeFile,
        addresses: Addresses,
    ) -> None:
        self.number = number
        self.op = int(request["first_op"])
        self._entries: Sequence[Mapping[str, Any]] = request["entries"]
        self._position = number % len(self._entries) if request["spread"] else 0
        self._request = request
        self._recorder = recorder
        self._ledger = ledger
        self._addresses = addresses
        tables: Sequence[str] = request["tables"]
        self._insert = INSERT.format(tables[number % len(tables)])
        self._payload = "x" * int(request["row_bytes"])
        self._connection: Any = None
        self._was_connected = False
        self._failures = 0

    def work(self, end_s: float) -> None:
        """Write after write until then, at its share of the rate if there is one."""
        rate = self._request["rate_per_s"]
        interval_s = self._request["writers"] / rate if rate else 0.0
        due_s = time.monotonic() + interval_s * self.number / self._request["writers"]
        while due_s < end_s and time.monotonic() < end_s:
            time.sleep(max(0.0, due_s - time.monotonic()))
            self.write()
            if not interval_s:
                continue
            due_s = max(due_s + interval_s, time.monotonic() - LATE_S)
        self._leave()

    def write(self) -> None:
        """One row; sent once, whatever becomes of it."""
        if not self._connected():
            return
        op = self.op
        self.op += 1
        began_ns = time.monotonic_ns()
        self._recorder.sent("writes")
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(self._insert, (self.number, op, self._payload))
        except (pymysql.MySQLError, OSError) as error:
            code = outcomes.code_of(error)
            outcome = outcomes.outcome_of(code, decisive=True, transaction=False)
            self._ledger.add(outcome, self.number, op)
            self._failed(code, error)
            return
        self._ledger.add(outcomes.ACKED, self.number, op)
        self._recorder.committed("insert", (time.monotonic_ns() - began_ns) // 1000)
        self._failures = 0

    def _connected(self) -> bool:
        """Whether there is a connection; where none can be had, the next entry's turn comes."""
        if self._connection is not None:
            return True
        entry = self._entries[self._position % len(self._entries)]
        try:
            self._connection = pymysql.connect(
                host=self._addresses.of(entry["host"]),
                port=entry["port"],
                database=self._request["schema"],
                read_default_file="/sandbox/app.cnf",
                connect_timeout=CONNECT_LIMIT_S,
                read_timeout=STATEMENT_LIMIT_S,
                write_timeout=STATEMENT_LIMIT_S,
                autocommit=True,
            )
        except (pymysql.MySQLError, OSError) as error:
            self._failed(outcomes.code_of(error), error)
            return False
        self._recorder.connected(again=self._was_connected)
        self._was_connected = True
        return True

    def _failed(self, code: outcomes.Code, error: BaseException) -> None:
        """A conflict says nothing about the server; after any other error it is left."""
        message = str(error.args[-1]) if error.args else type(error).__name__
        self._recorder.failed(code, message)
        if isinstance(code, int) and is_conflict(code, message):
            return
        self._leave()
        self._position += 1
        pause_s = PAUSES_S[min(self._failures // len(self._entries), len(PAUSES_S) - 1)]
        self._failures += 1
        time.sleep(pause_s)

    def _leave(self) -> None:
        connection = self._connection
        self._connection = None
        if connection is not None:
            with suppress(pymysql.MySQLError, OSError):
                connection.close()


def main(request: Mapping[str, Any], out: TextIO = sys.stdout) -> None:
    """The whole load. It ends by the clock alone."""
    numbers = range(request["writers"])
    # Later than every write of an earlier start, however fast that was.
    request = {**request, "first_op": time.time_ns() // 1000}
    recorder = Recorder(out, request["writers"])
    ledger = OutcomeFile(request["ledger"], request["first_op"])
    addresses = Addresses(request["entries"])
    writers = [RowWriter(number, request, recorder, ledger, addresses) for number in numbers]
    began_s = time.monotonic()
    end_s = began_s + request["seconds"]
    threads = [
        threading.Thread(target=writer.work, args=(end_s,), daemon=True) for writer in writers
    ]
    for thread in threads:
        thread.start()
    for second in range(1, request["seconds"] + 1):
        time.sleep(max(0.0, began_s + second - time.monotonic()))
        recorder.report(second)
    for thread in threads:
        thread.join(CONNECT_LIMIT_S + STATEMENT_LIMIT_S)
    recorder.summarize(time.monotonic() - began_s, recorder.statements(), {})


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
