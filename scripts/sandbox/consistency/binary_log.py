"""PURE: where a transaction begins in a binary log, those in what mysqlbinlog prints, and which one
changed a row last.
"""

import hashlib
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["insert", "update", "delete"]
MOST_LINES = 12
"""Lines of a transaction that are kept to be shown."""
_EVENT = re.compile(r"#(\d\d)(\d\d)(\d\d) +(\d+):(\d\d:\d\d) server id (\d+) ")
_MARIADB = re.compile(r"\tGTID (\d+-\d+-\d+)")
_MYSQL = re.compile(r"SET @@SESSION\.GTID_NEXT= *'([^']+)'")
_CHANGE = re.compile(r"### (INSERT INTO|UPDATE|DELETE FROM) `(.+?)`\.`(.+)`$")
_VALUE = re.compile(r"###   @(\d+)=(.*)$")
_KINDS: Mapping[str, Kind] = {"INSERT INTO": "insert", "UPDATE": "update", "DELETE FROM": "delete"}
_NOT_SAID = re.compile(
    r"#|SET |/\*|BEGIN$|COMMIT|ROLLBACK|START TRANSACTION|XA |use |DELIMITER|BINLOG |$",
    re.IGNORECASE,
)
"""Lines that are the same transaction's on one server and not on another: times, positions,
variables of the session.
"""
_OWN_XID = re.compile(r" */\* xid=\d+ \*/")
"""MySQL's comment behind a statement that changes the dictionary; each server has its own."""
_BOTH_SIGNS = re.compile(r"(-?\d+) \((\d+)\)")
"""An integer whose sign the log does not know."""

_HEADER = struct.Struct("<IBIIIH")
"""Of every event: time, type, server id, length, position of its end in the file, flags."""
_TYPE_OFFSET = 4
_BEGINS_TRANSACTION = re.compile(rb"[\x21\x22\x2a\xa2]", re.DOTALL)
"""Types of events: MySQL's GTID, anonymous and tagged GTID (33, 34, 42), MariaDB's GTID (162)."""
MOST_OF_GTID_EVENT = 4096
"""Bytes: more than such an event has."""

TableName = tuple[str, str]


@dataclass(frozen=True, slots=True)
class KeysOfTable:
    """Rows of a table to look for. ``places``: of the key's columns in the table, from 1 on."""

    places: tuple[int, ...]
    keys: frozenset[tuple[str | None, ...]]


@dataclass(frozen=True, slots=True)
class Origin:
    """The transaction of a change."""

    gtid: str
    server_id: int | None
    at: str
    kind: Kind


@dataclass
class _Transaction:
    gtid: str
    server_id: int | None
    at: str
    digest: "hashlib.blake2b" = field(default_factory=lambda: hashlib.blake2b(digest_size=16))
    lines: list[str] = field(default_factory=list)

    def add(self, line: str) -> None:
        self.digest.update(line.encode())
        self.digest.update(b"\n")
        if len(self.lines) < MOST_LINES:
            self.lines.append(line)


@dataclass
class LogContents:
    """The transactions of one server's binary log."""

    digests: dict[str, str] = field(default_factory=dict)
    """GTID → digest of its changes and statements."""
    lines: dict[str, list[str]] = field(default_factory=dict)
    """GTID → its first changes and statements."""
    origins: dict[tuple[TableName, tuple[str | None, ...]], Origin] = field(default_factory=dict)
    """Table and key → the last transaction that changed the row."""


class _LogReader:
    """Reads line after line; a transaction is over where the next one begins."""

    def __init__(self, wanted: Mapping[TableName, KeysOfTable]) -> None:
        self.found = LogContents()
        self._wanted = wanted
        self._event: tuple[str, int | None] = ("", None)
        """Time and server of the event whose lines are read."""
        self._now: _Transaction | None = None
        self._change: tuple[Kind, TableName] | None = None
        self._values: dict[int, str | None] = {}

    def line(self, line: str) -> None:
        if line.startswith("###"):
            self._row_line(line)
            return
        if event := _EVENT.match(line):
            self._end_row()
            year, month, day, hour, rest, server_id = event.groups()
            at = f"20{year}-{month}-{day} {hour:0>2}:{rest}"
            self._event = (at, int(server_id))
            if gtid := _MARIADB.search(line):
                self._begin(gtid[1])
        elif gtid := _MYSQL.match(line):
            self._begin(gtid[1])
        elif self._now is not None and not _NOT_SAID.match(line):
            self._now.add(_OWN_XID.sub("", line))

    def end(self) -> LogContents:
        self._end_row()
        self._end_transaction()
        return self.found

    def _begin(self, gtid: str) -> None:
        self._end_row()
        self._end_transaction()
        if gtid.upper() not in ("AUTOMATIC", "ANONYMOUS"):
            at, server_id = self._event
            self._now = _Transaction(gtid, server_id, at)

    def _end_transaction(self) -> None:
        ended, self._now = self._now, None
        if ended is not None:
            self.found.digests[ended.gtid] = ended.digest.hexdigest()
            self.found.lines[ended.gtid] = ended.lines

    def _row_line(self, line: str) -> None:
        if self._now is not None:
            self._now.add(line.removeprefix("###").strip())
        if change := _CHANGE.match(line):
            self._end_row()
            table = (change[2].replace("``", "`"), change[3].replace("``", "`"))
            self._change = (_KINDS[change[1]], table) if table in self._wanted else None
        elif line.startswith(("### SET", "### WHERE")):
            self._end_image()
        elif self._change is not None and (value := _VALUE.match(line)):
            self._values[int(value[1])] = plain(value[2])

    def _end_row(self) -> None:
        self._end_image()
        self._change = None

    def _end_image(self) -> None:
        """A row before or after a change is complete."""
        values, self._values = self._values, {}
        if self._change is None or not values or self._now is None:
            return
        kind, table = self._change
        wanted = self._wanted[table]
        key = tuple(values.get(place) for place in wanted.places)
        if key in wanted.keys:
            now = self._now
            origin = Origin(now.gtid, now.server_id, now.at, kind)
            self.found.origins[table, key] = origin


def plain(text: str) -> str | None:
    """A value of the log without its quotes."""
    if text == "NULL":
        return None
    if both := _BOTH_SIGNS.fullmatch(text):
        return both[1]
    if len(text) > 1 and text.startswith("'") and text.endswith("'"):
        return re.sub(r"\\x([0-9a-fA-F]{2})", lambda code: chr(int(code[1], 16)), text[1:-1])
    return text


def first_transaction(content: bytes, offset: int) -> int | None:
    """The position in the file at which the first transaction of this part begins, or None.

    ``content``: bytes of the file from ``offset`` on. An event is recognized by the position of its
    end, which stands in it, and by the event behind it:
    https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html
    """
    for found in _BEGINS_TRANSACTION.finditer(content, _TYPE_OFFSET):
        at = found.start() - _TYPE_OFFSET
        length, end = _length_and_end(content, at)
        if length > MOST_OF_GTID_EVENT or end != _position(offset + at + length):
            continue
        next_at = at + length
        next_length, next_end = _length_and_end(content, next_at)
        # In MariaDB's events between GTID and COMMIT that is 0: they were written before their
        # place was known.
        if next_length and next_end in (0, _position(offset + next_at + next_length)):
            return offset + at
    return None


def _length_and_end(content: bytes, at: int) -> tuple[int, int]:
    """Of the event that begins there; 0 and 0 where none can."""
    if at + _HEADER.size > len(content):
        return 0, 0
    _, _, _, length, end, _ = _HEADER.unpack_from(content, at)
    return (length, end) if length >= _HEADER.size else (0, 0)


def _position(byte: int) -> int:
    """As it stands in an event, in 32 bits."""
    return byte % 2**32


def read_log(lines: Iterable[str], wanted: Mapping[TableName, KeysOfTable]) -> LogContents:
    """The transactions in the output of ``mysqlbinlog -v --base64-output=decode-rows``.

    ``wanted``: rows whose last change is looked for, by schema and table.
    """
    reader = _LogReader(wanted)
    for line in lines:
        reader.line(line)
    return reader.end()


def different_transactions(logs: Mapping[str, LogContents]) -> list[str]:
    """GTIDs that are in the logs of several servers, and stand for different changes there."""
    known: dict[str, set[str]] = {}
    for log in logs.values():
        for gtid, digest in log.digests.items():
            known.setdefault(gtid, set()).add(digest)
    return [gtid for gtid, digests in known.items() if len(digests) > 1]
