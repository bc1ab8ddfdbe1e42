"""Counts of servers and nodes: variables, status, conflicts, CPU time and block I/O, and the
differences.
"""

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import astuple, dataclass
from importlib.resources import files

from sandbox.core.errors import SandboxError
from sandbox.load.common.in_client_conflicts import CONFLICTS
from sandbox.stack.client_python import QueryResult, Rows, Statement, ask, targets_of
from sandbox.stack.protocol import RunningStack, StackNode

_MARIADB_DEADLOCKS = ("Innodb_deadlocks", "wsrep_local_cert_failures", "wsrep_local_bf_aborts")
"""MariaDB does not count errors by code; clients get error 1213 for everything that these count."""

_DELTA_PREFIXES = (
    *(
        "Com_",
        "Handler_",
        "Innodb_",
        "wsrep_",
        "Questions",
        "Queries",
        "Bytes_",
        "Connections",
        "Aborted_",
    ),
    *(
        "Created_tmp_",
        "Select_",
        "Sort_",
        "Binlog_",
        "Slow_queries",
        "Table_locks_",
        "Threads_created",
    ),
)

_UPTIME_ROUNDS_S = 2.0
"""Two whole seconds are up to one apart from what they stand for; and a second for a clock that is
set.
"""

STATE: tuple[Statement, ...] = (
    "SELECT @@version, @@version_comment, @@datadir",
    "SHOW GLOBAL VARIABLES",
    "SHOW GLOBAL STATUS",
)
"""What `state_in` reads."""
_STATEMENTS: tuple[Statement, ...] = (
    *STATE,
    # Last, because a failing statement ends the answer: only MySQL 8.0 and later have this table.
    (
        (
            "SELECT ERROR_NUMBER, SUM_ERROR_RAISED FROM"
            " performance_schema.events_errors_summary_global_by_error WHERE ERROR_NUMBER IN (%s,"
            " %s, %s, %s, %s)"
        ),
        CONFLICTS,
    ),
)


@dataclass(frozen=True, slots=True)
class ServerState:
    """One server at one moment. ``conflicts`` by code since it started; None where it does not
    count them.

    ``between_s``: when it was asked, and when all had answered, on the monotonic clock.
    """

    version: str
    data_folder: str
    variables: Mapping[str, str]
    status: Mapping[str, int | float]
    conflicts: Mapping[str, int] | None
    between_s: tuple[float, float] = (0.0, 0.0)


def take_snapshots(
    stack: RunningStack, client: str, servers: Iterable[StackNode]
) -> tuple[dict[str, ServerState], dict[str, str]]:
    """Asks all servers at once; returns snapshots, and why those of the other servers are missing,
    by name.
    """
    asked_s = time.monotonic()
    answers = ask(stack, client, targets_of(servers), _STATEMENTS, timeout_s=10)
    between_s = asked_s, time.monotonic()
    taken = {
        name: state_in(answer, between_s) for name, answer in answers.items() if answer.rows(2)
    }
    return taken, {
        name: answer.error or "no answer" for name, answer in answers.items() if name not in taken
    }


def state_in(answer: QueryResult, between_s: tuple[float, float]) -> ServerState:
    """The state in the answer to `STATE`, and to nothing else but the errors by code."""
    version, comment, folder = (str(cell) for cell in answer.rows(0)[0])
    numbers = ((str(name), _number(str(text))) for name, text in answer.rows(2))
    status = {name: value for name, value in numbers if value is not None}
    variables = {str(name): str(value) for name, value in answer.rows(1)}
    # Some add a message to the user after a dash.
    if vendor := comment.partition("--")[0].strip("() "):
        version = f"{version} ({vendor})"
    return ServerState(
        version, folder, variables, status, _conflicts(answer.rows(3), status), between_s
    )


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return None


def _conflicts(rows: Rows, status: Mapping[str, int | float]) -> dict[str, int] | None:
    if rows:
        return {str(code): int(str(raised)) for code, raised in rows}
    counters = [int(status[name]) for name in _MARIADB_DEADLOCKS if name in status]
    return {"1213": sum(counters)} if counters else None


def status_delta(before: ServerState, after: ServerState) -> dict[str, int | float]:
    """After minus before, of every counter and gauge worth keeping that both snapshots have."""
    names = [
        name for name in before.status if name.startswith(_DELTA_PREFIXES) and name in after.status
    ]
    return {name: round(after.status[name] - before.status[name], 6) for name in sorted(names)}


def restarted(before: ServerState, after: ServerState) -> bool:
    """Whether the server restarted in between: its counters then started from zero.

    One that ran for a short while before may run for longer after it: its uptime grew by less than
    the time between.
    """
    between_s = after.between_s[0] - before.between_s[1]
    return after.status.get("Uptime", 0) - before.status.get("Uptime", 0) < max(
        0.0, between_s - _UPTIME_ROUNDS_S
    )


def connections_refused(
    before: Mapping[str, ServerState], after: Mapping[str, ServerState]
) -> dict[str, int]:
    """Server → connections that it refused in between because it had max_connections; if it
    restarted, since then.
    """

    def refused(state: ServerState | None) -> int:
        return int(state.status.get("Connection_errors_max_connections", 0)) if state else 0

    known = {name: None if name in before and restarted(before[name], last) else before.get(name)
             for name, last in after.items()}  # fmt: skip
    return {name: refused(last) - refused(known[name]) for name, last in after.items()}


def statements_answered(
    before: Mapping[str, ServerState], after: Mapping[str, ServerState], names: Iterable[str]
) -> dict[str, int]:
    """Statements that clients sent to each server between the snapshots; servers that lack either
    are left out.
    """
    return _grown("Questions", before, after, names)


def transactions_aborted(
    before: Mapping[str, ServerState], after: Mapping[str, ServerState], names: Iterable[str]
) -> int:
    """Transactions of clients that write sets from other members of a Galera cluster ended; 0
    elsewhere.
    """
    return sum(_grown("wsrep_local_bf_aborts", before, after, names).values())


def _grown(
    variable: str,
    before: Mapping[str, ServerState],
    after: Mapping[str, ServerState],
    names: Iterable[str],
) -> dict[str, int]:
    return {
        name: int(after[name].status.get(variable, 0) - before[name].status.get(variable, 0))
        for name in names
        if name in before and name in after and not restarted(before[name], after[name])
    }


def conflicts_by_code(
    conflicts: int | None,
    before: Mapping[str, ServerState],
    after: Mapping[str, ServerState],
    names: Iterable[str],
) -> dict[str, int] | None:
    """The load's conflicts by code, as the servers counted them; ``other``: conflicts that they did
    not count.

    None where a server does not count codes, or where the servers counted more conflicts than the
    load had.
    """
    if not conflicts:
        return None if conflicts is None else {}
    counted: dict[str, int] = {}
    for name in names:
        first, last = before.get(name), after.get(name)
        if first is None or last is None or first.conflicts is None or last.conflicts is None:
            return None
        for code, raised in last.conflicts.items():
            counted[code] = counted.get(code, 0) + raised - first.conflicts.get(code, 0)
    rest = conflicts - sum(counted.values())
    if rest < 0:
        return None
    return {code: count for code, count in {**counted, "other": rest}.items() if count}


_LIMIT_S = 10.0
_COUNTERS = files(__package__).joinpath("counters.sh").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage of one node since it started: CPU seconds, bytes. None: its cgroup does not count
    it.
    """

    cpu_s: float | None
    read_bytes: int | None
    written_bytes: int | None


def read_usage(stack: RunningStack, nodes: Iterable[StackNode]) -> dict[str, Usage]:
    """Usage by node, all asked at once; nodes without a container or an answer are left out."""
    asked = [node.name for node in nodes if node.has_container]
    with ThreadPoolExecutor(max_workers=max(1, len(asked))) as pool:
        found = pool.map(lambda name: _usage_of(stack, name), asked)
        return {name: usage for name, usage in zip(asked, found, strict=True) if usage}


def _usage_of(stack: RunningStack, node: str) -> Usage | None:
    try:
        answer = stack.ask_session(node, ["sh", "-c", _COUNTERS], "?", _LIMIT_S)
    except (SandboxError, TimeoutError):
        return None
    return usage_in(answer.stdout) if answer.code == 0 else None


def usage_in(counters: str) -> Usage:
    """Parses lines of cgroup files, each with its file's name before it and a semicolon after it.

    Sources: the kernel's admin-guide, cgroup-v2 (cpu.stat in µs, io.stat) and cgroup-v1
    (cpuacct.usage in ns, blkio.throttle.io_service_bytes).
    """
    lines = [line.split() for line in counters.split(";")]
    times = [int(words[2]) / 1e6 for words in lines if words[:2] == ["cpu.stat", "usage_usec"]]
    times += [
        int(words[1]) / 1e9 for words in lines if words[:1] == ["cpuacct.usage"] and len(words) > 1
    ]
    return Usage(
        times[0] if times else None,
        _bytes(lines, "rbytes", "Read"),
        _bytes(lines, "wbytes", "Write"),
    )


def _bytes(lines: list[list[str]], key: str, word: str) -> int | None:
    """Sum over devices of ``8:0 rbytes=1 wbytes=2 …`` (v2) or ``8:0 Read 1`` (v1).

    None without such a file, and in v1 where it lists no device, since that kernel counts only what
    it throttles.
    """
    v2 = [
        text.split("=")
        for words in lines
        if words[:1] == ["io.stat"]
        for text in words
        if "=" in text
    ]
    v1 = [
        words[2:]
        for words in lines
        if words[:1] == ["blkio.throttle.io_service_bytes"] and len(words) == 4
    ]
    counts = any(words == ["io.stat"] for words in lines) or bool(v1)
    return sum(int(value) for name, value in [*v2, *v1] if name in (key, word)) if counts else None


def used(before: Mapping[str, Usage], after: Mapping[str, Usage]) -> dict[str, Usage]:
    """Usage of each node in between; without nodes that restarted, whose counters started from
    zero.
    """
    grown = {}
    for name, last in after.items():
        first = before.get(name)
        if first is not None and (last.cpu_s or 0) >= (first.cpu_s or 0):
            pairs = zip(astuple(first), astuple(last), strict=True)
            grown[name] = Usage(*(None if None in pair else pair[1] - pair[0] for pair in pairs))
    return grown


def cpu_per_transaction(
    usage: Mapping[str, Usage],
    nodes: Iterable[StackNode],
    group: int | None,
    transactions: int | None,
) -> dict[str, float | None]:
    """The three CPU metrics, ms per transaction (docs/statistics.md, rule 11); ``group``: the one
    under load.

    A metric is None without transactions, without such a node, and where one of its nodes has no
    reading: a partial sum would be wrong.
    """
    of_group = [node for node in nodes if node.group_index == group or node.kind == "client"]
    parts = {
        "server_cpu_ms_per_tx": [node.name for node in of_group if node.is_server],
        "proxy_cpu_ms_per_tx": [node.name for node in of_group if node.kind == "proxy"],
        "client_cpu_ms_per_tx": [node.name for node in of_group if node.kind == "client"],
    }
    return {metric: _per_transaction(usage, names, transactions) for metric, names in parts.items()}


def _per_transaction(
    usage: Mapping[str, Usage], names: list[str], transactions: int | None
) -> float | None:
    times = [usage[name].cpu_s for name in names if name in usage]
    known = [time for time in times if time is not None]
    if not transactions or not names or len(known) < len(names):
        return None
    return round(1000 * sum(known) / transactions, 6)
