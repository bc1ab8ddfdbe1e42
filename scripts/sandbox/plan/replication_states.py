"""The state of a server of asynchronous replication, by its role and its channels. Asks nobody."""

from collections.abc import Sequence

from sandbox.plan.server_status import Repair, Row, ServerFacts, ServerStatus

NO_ERROR = ("", "0")
_BROKEN_RECEIVER = {"1236", "13114", "1593"}
"""A receiver that ends with these does not try again: the source has purged what it needs, or both have one ID.

Sources: MySQL's manual, "Server Error Message Reference": ER_MASTER_FATAL_ERROR_READING_BINLOG,
ER_SERVER_SOURCE_FATAL_ERROR_READING_BINLOG, ER_SLAVE_FATAL_ERROR.
"""
_DATA_DIFFERS = frozenset(
    {
        1007, 1008, 1049, 1050, 1051, 1054, 1060, 1061, 1091, 1146, 1304, 1305,  # an object is there, or is not
        1032, 1062,  # a row is missing, or there twice
        1396, 1410,  # an account
        1451, 1452, 3819, 4025,  # a foreign key or a check does not hold
    }
)  # fmt: skip
"""Errors of an applier whose server holds other data than the source: the same transaction fails each time.

Sources: MySQL's manual, "Server Error Message Reference"; MariaDB's, "MariaDB Error Code Reference".
"""


def differs(code: str) -> bool:
    """Whether an applier's error says that the server holds other data than its source."""
    return code.isdigit() and int(code) in _DATA_DIFFERS


def replicating(facts: ServerFacts) -> ServerStatus:
    """A server of asynchronous replication: what its role says first, then the worst of its channels."""
    word, _, text = facts.role.partition(": ")
    if word in ("stale", "detached"):
        return ServerStatus(word, text, (), "rejoin")
    if facts.role.startswith("writer") and all(_leaves_source(row) for row in facts.channels):
        return ServerStatus("running")
    if not facts.channels:
        if facts.role and not facts.role.startswith(("writer", "reader")):
            return ServerStatus("detached", facts.role, (), "wait")
        return ServerStatus("running")
    return max((_channel(row) for row in facts.channels), key=_severity)


def _severity(state: ServerStatus) -> int:
    order: Sequence[Repair] = ("", "wait", "restart", "rejoin", "rebuild")
    return 2 * order.index(state.repair) + (not state.is_well)


def _leaves_source(row: Row) -> bool:
    """Whether a writer's channel is one that a promotion has stopped."""
    return field_of(row, "IO_Running") == "No"


def field_of(row: Row, name: str) -> str:
    """A field in the words of any version: Replica_… or Slave_…, Source_… or Master_…."""
    for prefix in ("", "Replica_", "Slave_", "Source_", "Master_"):
        if f"{prefix}{name}" in row:
            return row[f"{prefix}{name}"]
    return ""


def _channel(row: Row) -> ServerStatus:
    source = field_of(row, "Host")
    view = (source,) if source else ()
    if field_of(row, "SQL_Running") == "No":
        code = row.get("Worker_Errno") or row.get("Last_SQL_Errno", "0")
        message = row.get("Worker_Error") or row.get("Last_SQL_Error", "")
        if code in NO_ERROR:
            return ServerStatus("stopped", "its applier was stopped, without an error", view, "rejoin")
        return ServerStatus(
            "stopped", f"applier, error {code}: {message}", view, "rebuild" if differs(code) else "rejoin"
        )
    receiver = field_of(row, "IO_Running")
    code, message = row.get("Last_IO_Errno", "0"), row.get("Last_IO_Error", "")
    if receiver == "No":
        if code in NO_ERROR:
            return ServerStatus("stopped", "its receiver was stopped, without an error", view, "rejoin")
        repair: Repair = "rebuild" if code in _BROKEN_RECEIVER else "rejoin"
        return ServerStatus("stopped", f"receiver, error {code}: {message}", view, repair)
    if receiver != "Yes":
        # MariaDB says before it what it tries, and how often.
        failed = f", error {code}: {message.rpartition('message: ')[2]}" if code not in NO_ERROR else ""
        return ServerStatus("connecting", f"to {source}{failed}", view, "wait")
    return _lag(row, source, view)


def _lag(row: Row, source: str, view: tuple[str, ...]) -> ServerStatus:
    behind = field_of(row, "Seconds_Behind_Source") or row.get("Seconds_Behind_Master", "0")
    delay = row.get("SQL_Delay", "0")
    if delay not in NO_ERROR:
        return ServerStatus("delayed", f"by {delay} s, {behind} s behind {source}", view)
    if behind.isdigit() and int(behind) > 0:
        return ServerStatus("lagging", f"{behind} s behind {source}", view)
    return ServerStatus("replicating", f"from {source}", view)
