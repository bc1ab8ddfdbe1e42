"""Runs in the client node: transactions on several connections, recorded as a history, and the
nodes' state in the end.

The request is the first argument. Standard output: events as Elle reads them, each beginning with
its index, and between them seconds, errors and the summary as `engine.lua` prints them.
"""

import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import pymysql

if TYPE_CHECKING:
    from sandbox.load.common.in_client_conflicts import is_conflict
else:
    from in_client_conflicts import is_conflict  # shipped into the same folder

Ops = list[list[Any]]
"""Operations of a transaction: name, key, value."""

ROLLED_BACK = frozenset({1213, 1020, 1047, 3100, 3101})
"""Of a COMMIT: errors after which nothing is there. All others leave that open."""
VARIABLES = (
    *("transaction_isolation", "tx_isolation", "innodb_snapshot_isolation"),
    *("wsrep_sync_wait", "group_replication_consistency"),
)
LOCK_WAIT_S, STATEMENT_LIMIT_S = 5, 25
AGREE_LIMIT_S, STILL_LIMIT_S, AGREE_PAUSE_S = 300.0, 15.0, 0.05


class Transactions(Protocol):
    """The part that a workload defines."""

    def draw(self, dice: random.Random, read_only: bool) -> Ops:
        """The operations of the next transaction. Safe in any thread."""

    def carry_out(self, link: "NodeLink", ops: Ops) -> Ops:
        """Executes them; returns them with what was read."""

    def kind_of(self, ops: Ops) -> str:
        """Under which name the transaction is counted."""

    def all_reads(self) -> Ops:
        """Reads of everything that the load has touched."""


class Tally:
    """Counts of a second, or of the whole load."""

    def __init__(self) -> None:
        self.statements: Counter[str] = Counter()
        self.conflicts: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.transactions = 0
        self.reconnects = 0
        self.latencies_us: list[int] = []
        self.kinds: dict[str, dict[str, Any]] = {}

    def committed(self, kind: str, latency_us: int) -> None:
        """One transaction."""
        self.transactions += 1
        self.latencies_us.append(latency_us)
        histogram = self.kinds.setdefault(kind, {"counts": Counter(), "sum_us": 0, "max_us": 0})
        shift = max(0, latency_us.bit_length() - 8)  # buckets as those of engine.lua
        histogram["counts"][(shift << 7) + (latency_us >> shift)] += 1
        histogram["sum_us"] += latency_us
        histogram["max_us"] = max(histogram["max_us"], latency_us)

    def p95_us(self) -> int | None:
        """The 95th percentile by nearest rank; None without a transaction."""
        latencies = sorted(self.latencies_us)
        return latencies[max(0, round(0.95 * len(latencies)) - 1)] if latencies else None


class Recorder:
    """Writes the history and counts, for all threads."""

    def __init__(self, out: TextIO, threads: int) -> None:
        self._out = out
        self._threads = threads
        self._guard = threading.Lock()
        self._index = 0
        self.second = Tally()
        self.whole = Tally()
        self.connections = 0

    def event(self, type_: str, process: int, node: str, value: Ops, **more: Any) -> None:
        """One event: before the first statement is sent, or after the last answer has come."""
        with self._guard:
            event = {
                "index": self._index,
                "time_ns": time.monotonic_ns(),
                "type": type_,
                "f": "txn",
            }
            self._out.write(
                json.dumps({**event, "process": process, "node": node, "value": value, **more})
                + "\n"
            )
            self._index += 1

    def sent(self, kind: str) -> None:
        """A statement: of reads, writes or others."""
        with self._guard:
            self.second.statements[kind] += 1
            self.whole.statements[kind] += 1

    def committed(self, kind: str, latency_us: int) -> None:
        """A transaction."""
        with self._guard:
            self.second.committed(kind, latency_us)
            self.whole.committed(kind, latency_us)

    def connected(self, again: bool) -> None:
        """A connection; ``again``: in place of one that was lost."""
        with self._guard:
            self.connections += 1
            self.second.reconnects += again
            self.whole.reconnects += again

    def failed(self, code: int | str, message: str) -> None:
        """A transaction that was rolled back, or whose outcome is unknown."""
        expected = isinstance(code, int) and is_conflict(code, message)
        with self._guard:
            for tally in (self.second, self.whole):
                (tally.conflicts if expected else tally.errors)[str(code)] += 1
            if not expected:
                self._print({"error": code, "message": message})

    def report(self, second: int) -> None:
        """The work done since the last report."""
        with self._guard:
            tally = self.second
            self.second = Tally()
            self._print(
                {
                    "second": second,
                    "threads": self._threads,
                    "transactions": tally.transactions,
                    "p95_us": tally.p95_us(),
                    "conflicts": tally.conflicts,
                    "errors": tally.errors.total(),
                    "reconnects": tally.reconnects,
                    **_statements(tally.statements),
                }
            )

    def statements(self) -> Counter[str]:
        """How many have been sent so far, by kind."""
        with self._guard:
            return self.whole.statements.copy()

    def summarize(
        self, seconds: float, loaded: Counter[str], servers: dict[str, dict[str, str]]
    ) -> None:
        """The figures of the whole load, and the variables of its sessions.

        ``loaded``: the statements of these seconds; all others, such as the last reads, are
        ``beside`` the load.
        """
        tally = self.whole
        kinds = {
            name: {**each, "counts": sorted(each["counts"].items())}
            for name, each in tally.kinds.items()
        }
        with self._guard:
            self._print(
                {
                    "summary": {
                        "seconds": seconds,
                        "connections": self.connections,
                        "conflicts": tally.conflicts,
                        "errors": tally.errors,
                        "reconnects": tally.reconnects,
                        "background": [],
                        "kinds": kinds,
                        **_statements(loaded),
                        "beside": (tally.statements - loaded).total(),
                    },
                    "servers": servers,
                }
            )

    def _print(self, line: dict[str, Any]) -> None:
        self._out.write(json.dumps(line) + "\n")
        self._out.flush()


def _statements(counts: Counter[str]) -> dict[str, int]:
    return {kind: counts[kind] for kind in ("reads", "writes", "others")}


class NodeLink:
    """A connection to one node, which counts what it sends."""

    def __init__(self, node: dict[str, Any], request: dict[str, Any], recorder: Recorder) -> None:
        self.node: str = node["name"]
        self._recorder = recorder
        recorder.connections += 1
        self._connection = pymysql.connect(
            host=node["host"],
            port=node["port"],
            database=request["schema"],
            read_default_file="/sandbox/app.cnf",
            connect_timeout=10,
            read_timeout=STATEMENT_LIMIT_S,
            write_timeout=STATEMENT_LIMIT_S,
            autocommit=True,
        )
        self.execute("others", f"SET SESSION innodb_lock_wait_timeout = {LOCK_WAIT_S}")
        if request["isolation"]:
            self.execute(
                "others",
                f"SET SESSION TRANSACTION ISOLATION LEVEL {request['isolation'].replace('-', ' ')}",
            )
        names = ", ".join(f"'{name}'" for name in VARIABLES)
        rows = self.execute("others", f"SHOW SESSION VARIABLES WHERE Variable_name IN ({names})")
        self.variables = {str(name): str(value) for name, value in rows}
        ((read_only,),) = self.execute("others", "SELECT @@global.read_only")
        self.read_only = read_only not in (0, "0", "OFF")

    def execute(
        self, kind: str, statement: str, values: Sequence[Any] = ()
    ) -> Sequence[Sequence[Any]]:
        """Rows of one statement. ``kind``: reads, writes or others."""
        self._recorder.sent(kind)
        with self._connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return cursor.fetchall()

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()


def transact(
    link: NodeLink, recorder: Recorder, process: int, transactions: Transactions, meant: Ops
) -> str:
    """One transaction; returns ``ok``, ``fail`` (rolled back) or ``info`` (unknown).

    Raises the error of a server that is not expected under contention, once it is recorded.
    """
    recorder.event("invoke", process, link.node, meant)
    began_ns = time.monotonic_ns()
    committing = False
    try:
        link.execute("others", "START TRANSACTION")
        done = transactions.carry_out(link, meant)
        committing = True
        link.execute("others", "COMMIT")
    except (pymysql.MySQLError, OSError) as error:
        code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        outcome = "fail" if not committing or code in ROLLED_BACK else "info"
        recorder.event(outcome, process, link.node, meant, error=code)
        message = str(error.args[-1]) if error.args else type(error).__name__
        recorder.failed(code, message)
        if not is_conflict(code, message):
            raise
        link.execute("others", "ROLLBACK")
        return outcome
    recorder.event("ok", process, link.node, done)
    recorder.committed(transactions.kind_of(meant), (time.monotonic_ns() - began_ns) // 1000)
    return "ok"


def work(
    link: NodeLink,
    recorder: Recorder,
    number: int,
    request: dict[str, Any],
    transactions: Transactions,
) -> None:
    """Transaction after transaction of one thread, until the time is over or its server fails.

    A process of unknown outcome may still take effect, so another one takes its place (Jepsen's
    rule).
    """
    dice = random.Random(request["seed"] * 10_000 + number)  # noqa: S311
    process = number
    while time.monotonic() < request["deadline_s"]:
        try:
            outcome = transact(
                link, recorder, process, transactions, transactions.draw(dice, link.read_only)
            )
        except (pymysql.MySQLError, OSError):
            return
        process += request["threads"] if outcome == "info" else 0


def agreed(links: Sequence[NodeLink], transactions: Transactions) -> list[Ops]:
    """The state of each node, once all have the same; else what they have once none has changed for
    a while.

    A replica that is only late goes on changing.
    """
    began_s = changed_s = time.monotonic()
    before: list[Ops] = []
    while True:
        states = []
        for link in links:
            link.execute("others", "START TRANSACTION")
            states.append(transactions.carry_out(link, transactions.all_reads()))
            link.execute("others", "COMMIT")
        now_s = time.monotonic()
        changed_s = changed_s if states == before else now_s
        before = states
        is_over = now_s - changed_s > STILL_LIMIT_S or now_s - began_s > AGREE_LIMIT_S
        if is_over or all(state == states[0] for state in states):
            return states
        time.sleep(AGREE_PAUSE_S)


def main(transactions: Transactions, request: dict[str, Any], out: TextIO = sys.stdout) -> None:
    """The whole load. Raises the error of a server that cannot be asked."""
    recorder = Recorder(out, request["threads"])
    nodes = request["nodes"]
    links = [
        NodeLink(nodes[number % len(nodes)], request, recorder)
        for number in range(request["threads"])
    ]
    began_s = time.monotonic()
    before = recorder.statements()
    request = {**request, "deadline_s": began_s + request["seconds"]}
    workers = [
        threading.Thread(target=work, args=(link, recorder, number, request, transactions))
        for number, link in enumerate(links)
    ]
    for worker in workers:
        worker.start()
    for second in range(1, request["seconds"] + 1):
        time.sleep(max(0.0, began_s + second - time.monotonic()))
        recorder.report(second)
    for worker in workers:
        worker.join()
    seconds = time.monotonic() - began_s
    loaded = recorder.statements() - before
    # Reads of a snapshot lock nothing, and cannot be in the way of what is still being applied.
    ends = [
        NodeLink(node, {**request, "isolation": "REPEATABLE-READ"}, recorder)
        for node in request["servers"]
    ]
    # None that the load has used.
    first_process = 10 * recorder.whole.transactions + request["threads"]
    for process, (link, state) in enumerate(
        zip(ends, agreed(ends, transactions), strict=True), first_process
    ):
        recorder.event("invoke", process, link.node, transactions.all_reads(), final=True)
        recorder.event("ok", process, link.node, state, final=True)
    recorder.summarize(seconds, loaded, {link.node: link.variables for link in links})
    for link in (*links, *ends):
        link.close()
