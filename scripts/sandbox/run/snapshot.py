"""The servers' variables and status before and after a load, and the difference."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sandbox.stack.protocol import RunningStack, StackNode
from sandbox.workloads.common.sql import QueryResult, Rows, Statement, ask, targets_of

CONFLICT_CODES = (1213, 1205, 1020, 3101)
"""Deadlock, lock wait timeout, record changed since it was read, certification conflict of Group Replication."""

_MARIADB_DEADLOCKS = ("Innodb_deadlocks", "wsrep_local_cert_failures", "wsrep_local_bf_aborts")
"""MariaDB does not count errors by code; clients get error 1213 for everything that these count."""

_DELTA_PREFIXES = (
    *("Com_", "Handler_", "Innodb_", "wsrep_", "Questions", "Queries", "Bytes_", "Connections", "Aborted_"),
    *("Created_tmp_", "Select_", "Sort_", "Binlog_", "Slow_queries", "Table_locks_", "Threads_created"),
)

_STATEMENTS: tuple[Statement, ...] = (
    "SELECT @@version, @@version_comment, @@datadir",
    "SHOW GLOBAL VARIABLES",
    "SHOW GLOBAL STATUS",
    # Last, because a failing statement ends the answer: only MySQL 8.0 and later have this table.
    (
        "SELECT ERROR_NUMBER, SUM_ERROR_RAISED FROM performance_schema.events_errors_summary_global_by_error"
        " WHERE ERROR_NUMBER IN (%s, %s, %s, %s)",
        CONFLICT_CODES,
    ),
)


@dataclass(frozen=True, slots=True)
class ServerState:
    """One server at one moment. ``conflicts`` by code since it started; None where it does not count them."""

    version: str
    data_folder: str
    variables: Mapping[str, str]
    status: Mapping[str, int | float]
    conflicts: Mapping[str, int] | None


def take_snapshots(stack: RunningStack, client: str, servers: Iterable[StackNode]) -> dict[str, ServerState | str]:
    """Asks all servers at once; returns each server's snapshot, or why it is missing, by name."""
    answers = ask(stack, client, targets_of(servers), _STATEMENTS, timeout_s=10)
    return {name: _snapshot(answer) for name, answer in answers.items()}


def _snapshot(answer: QueryResult) -> ServerState | str:
    if not answer.rows(2):
        return answer.error or "no answer"
    version, comment, folder = (str(cell) for cell in answer.rows(0)[0])
    status = {name: value for name, value in _numbers(answer.rows(2)) if value is not None}
    variables = {str(name): str(value) for name, value in answer.rows(1)}
    return ServerState(_version(version, comment), folder, variables, status, _conflicts(answer.rows(3), status))


def _version(version: str, comment: str) -> str:
    """Version and vendor, without the message to the user that some vendors add after a dash."""
    vendor = comment.partition("--")[0].strip("() ")
    return f"{version} ({vendor})" if vendor else version


def _numbers(rows: Rows) -> Iterable[tuple[str, int | float | None]]:
    for name, text in rows:
        yield str(name), _number(str(text))


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def _conflicts(rows: Rows, status: Mapping[str, int | float]) -> dict[str, int] | None:
    if rows:
        return {str(code): int(str(raised)) for code, raised in rows}
    counters = [int(status[name]) for name in _MARIADB_DEADLOCKS if name in status]
    return {"1213": sum(counters)} if counters else None


def status_delta(before: ServerState, after: ServerState) -> dict[str, int | float]:
    """After minus before, of every counter and gauge worth keeping that both snapshots have."""
    names = [name for name in before.status if name.startswith(_DELTA_PREFIXES) and name in after.status]
    return {name: _difference(before.status[name], after.status[name]) for name in sorted(names)}


def _difference(before: int | float, after: int | float) -> int | float:
    difference = after - before
    return difference if isinstance(difference, int) else round(difference, 6)


def restarted(before: ServerState, after: ServerState) -> bool:
    """Whether the server restarted in between: its counters then started from zero."""
    return after.status.get("Uptime", 0) < before.status.get("Uptime", 0)


def statements_answered(
    before: Mapping[str, ServerState], after: Mapping[str, ServerState], names: Iterable[str]
) -> dict[str, int]:
    """Statements that clients sent to each server between the snapshots; servers that lack either are left out."""
    return {
        name: int(after[name].status["Questions"] - before[name].status["Questions"])
        for name in names
        if name in before and name in after and not restarted(before[name], after[name])
    }


def conflicts_by_code(
    conflicts: int | None, before: Mapping[str, ServerState], after: Mapping[str, ServerState], names: Iterable[str]
) -> dict[str, int] | None:
    """The load's conflicts by code, as the servers counted them; ``other``: conflicts that they did not count.

    None where a server does not count codes, or where the servers counted more conflicts than the load had.
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
