"""PURE: what pt-upgrade gets: the statements of a log as one slow log, each with its number."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from sandbox.upgrade.log_file import LoggedStatement
from sandbox.upgrade.sql_text import fingerprint, on_one_line, tokens, words
from sandbox.upgrade.transactions import in_whole_transactions

_NOT_RUN = {
    ("SHUTDOWN",): "ends the server",
    ("RESTART",): "ends the server",
    ("KILL",): "ends a connection of another server",
    ("CHANGE",): "sets up replication",
    ("START", "SLAVE"): "sets up replication",
    ("START", "REPLICA"): "sets up replication",
    ("START", "GROUP_REPLICATION"): "sets up replication",
    ("STOP", "SLAVE"): "sets up replication",
    ("STOP", "REPLICA"): "sets up replication",
    ("STOP", "GROUP_REPLICATION"): "sets up replication",
    ("RESET",): "sets up replication",
    ("LOCK", "TABLES"): "locks tables, against pt-upgrade itself",
    ("LOCK", "TABLE"): "locks tables, against pt-upgrade itself",
    ("FLUSH", "TABLES"): "may lock tables, against pt-upgrade itself",
    ("BINLOG",): "is an event of a binary log",
    ("LOAD",): "reads a file that is not here",
    ("SET", "PASSWORD"): "changes an account that the check itself may use",
    ("ALTER", "USER"): "changes an account that the check itself may use",
    ("RENAME", "USER"): "changes an account that the check itself may use",
    ("DROP", "USER"): "changes an account that the check itself may use",
    ("XA",): "is a distributed transaction, which one session cannot replay",
    ("PREPARE",): "is a statement of the protocol of prepared statements",
    ("EXECUTE",): "is a statement of the protocol of prepared statements",
    ("DEALLOCATE",): "is a statement of the protocol of prepared statements",
}
"""First words of a statement that is left out → why."""
_MARK = re.compile(r"^/\*(\d+)\*/ ", re.MULTILINE)
_OF_EVENT = "\n#"
"""Ends an event of a slow log after a semicolon, wherever it stands."""


@dataclass(frozen=True, slots=True)
class DistinctQuery:
    """Statements of a log that are alike: the first of them, and how many there are."""

    first: LoggedStatement
    text: str
    """On one line."""
    fingerprint: str
    count: int


@dataclass(frozen=True)
class Replay:
    """The statements that are run, in their order, and how many are not, by reason."""

    statements: tuple[LoggedStatement, ...]
    left_out: dict[str, int]

    @cached_property
    def fingerprints(self) -> dict[int, str]:
        """By number of the statement."""
        return {each.number: fingerprint(each.text) for each in self.statements}

    @cached_property
    def by_number(self) -> dict[int, LoggedStatement]:
        """The statements by their number."""
        return {each.number: each for each in self.statements}

    @cached_property
    def distinct(self) -> dict[str, DistinctQuery]:
        """By fingerprint, in the order of their first."""
        counts = Counter(self.fingerprints.values())
        found: dict[str, DistinctQuery] = {}
        for each in self.statements:
            key = self.fingerprints[each.number]
            if key not in found:
                found[key] = DistinctQuery(each, on_one_line(each.text), key, counts[key])
        return found


def replay_of(statements: Sequence[LoggedStatement]) -> Replay:
    """The statements in the order for one session, without those that nobody can run there."""
    left_out: Counter[str] = Counter()
    kept = []
    for each in in_whole_transactions(statements):
        why = reason_not_to_run(each.text)
        if why is None:
            kept.append(each)
        else:
            left_out[why] += 1
    return Replay(tuple(kept), dict(left_out))


def reason_not_to_run(sql: str) -> str | None:
    """Why a statement is left out; None for one that is run."""
    found = words(sql)
    for first, why in _NOT_RUN.items():
        if tuple(found[: len(first)]) == first:
            return why
    pairs = set(pairwise(found))
    if pairs & {("INTO", "OUTFILE"), ("INTO", "DUMPFILE")}:
        return "writes a file on the server"
    if ";" in [text for kind, text in tokens(sql) if kind == "sign"] and "BEGIN" not in found:
        return "is several statements at once"
    if _OF_EVENT in on_one_line(sql):
        return "has a line in a string that would end it in a slow log"
    return None


def slow_log_of(replay: Replay, default_time_s: int) -> str:
    """A slow log as pt-upgrade reads it. Each statement begins with its number in a comment, by
    which it is found again in the report, and runs at the time that the log says: NOW() is then
    the same on both servers.

    ``default_time_s``: where the log says nothing.
    """
    lines: list[str] = []
    time_s: int | None = None
    for setting in ("names utf8mb4", "session sql_mode = @@global.sql_mode"):
        # pt-upgrade has its own of both when it connects.
        lines += _event(None, None, 0, f"set {setting}")
    for each in replay.statements:
        wanted = int(each.time_s) if each.time_s else (time_s or default_time_s)
        if wanted != time_s:
            lines += _event(each.connection, each.schema, 0, f"set timestamp = {wanted}")
            time_s = wanted
        text = on_one_line(each.text)
        lines += _event(each.connection, each.schema, each.number, text)
    return "\n".join(lines) + "\n"


def last_read(slow_log: str, events: int) -> int | None:
    """The number of the last statement among so many events of such a log; None without one."""
    numbers = [int(found[1]) for found in _MARK.finditer(slow_log)][:events]
    return next((number for number in reversed(numbers) if number), None)


def _event(connection: int | None, schema: str | None, number: int, text: str) -> list[str]:
    used = [f"use {schema};"] if schema else []
    return [
        f"# User@Host: replay[replay] @ localhost []  Id: {connection or 0}",
        "# Query_time: 0.000001  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0",
        *used,
        f"{mark(number)}{text};",
    ]


def mark(number: int) -> str:
    """The comment before a statement of that number."""
    return f"/*{number}*/ "
