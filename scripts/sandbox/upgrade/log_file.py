"""PURE: a log of statements, in any of the formats that servers write, or an SQL file."""

import calendar
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sandbox.record.upgrade import LogFormat
from sandbox.upgrade.sql_text import kind_of, names_and_words, statements_in

_SLOW_BEGINS = re.compile(r"^# (?:Time: |User@Host: )")
_SLOW_KNOWN = re.compile(r"^# (?:User@Host: |Query_time: )", re.MULTILINE)
_SLOW_CONNECTION = re.compile(r"^# (?:Thread_id: +(\d+)|User@Host: .*\bId: +(\d+))")
_SLOW_SCHEMA = re.compile(r"^# .*\bSchema: +([^\s:]+)(?=\s|$)")
_SLOW_USE = re.compile(r"^use +`?([^`;]+)`?;\s*$", re.IGNORECASE)
_SLOW_SET = re.compile(
    r"^SET (?:last_insert_id=\d+,?|insert_id=\d+,?|timestamp=[\d.]+,?)+;\s*$", re.IGNORECASE
)
_TIMESTAMP = re.compile(r"timestamp=(\d+(?:\.\d+)?)")
_HEADER = re.compile(r"^(?:\S.*, Version: .* started with:|Tcp port: .*|Time\s+Id\s+Command.*)$")
_GENERAL = re.compile(
    r"^(?P<time>\d{6} +\d{1,2}:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[-+]\d\d:?\d\d))?"
    r"[ \t]+(?P<connection>\d+) (?P<command>Query|Execute|Prepare|Connect|Init DB|Quit|Close stmt"
    r"|Reset stmt|Long Data|Fetch|Field List|Statistics|Ping|Change user|Set option|Bulk_execute"
    r"|Binlog Dump|Register Slave|Error|Shutdown|Reset connection|Debug|Daemon)\b\t?(?P<text>.*)$"
)
_OLD_TIME = re.compile(r"(\d\d)(\d\d)(\d\d) +(\d{1,2}):(\d\d):(\d\d)")
_ISO_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(?:Z|([-+])(\d\d):?(\d\d))"
)
_STATEMENT_ID = re.compile(r"^\[\d+\] ")
"""Of a prepared statement, in logs of older servers."""
_READS_LINES = 2000
"""From the beginning of a file, to find out what it is."""


class LogError(Exception):
    """A file that is no log, or has no statement; carries what would be right."""


@dataclass(frozen=True, slots=True)
class LoggedStatement:
    """A statement of a log. ``connection``: the server's number of it; None: the file has none."""

    number: int
    """From 1 on."""
    text: str
    """Without its delimiter."""
    connection: int | None = None
    schema: str | None = None
    time_s: float | None = None
    """When it began, seconds since 1970."""


@dataclass(frozen=True, slots=True)
class QueryLog:
    """A log that was read."""

    format: LogFormat
    statements: tuple[LoggedStatement, ...]

    @property
    def schemas(self) -> list[str]:
        """Schemas that its statements run in, the most frequent first."""
        counts = Counter(each.schema for each in self.statements if each.schema)
        return [str(schema) for schema, _ in counts.most_common()]


def read_log(text: str, name: str) -> QueryLog:
    """The statements of a log. ``name``: of its file. Raises LogError."""
    found = format_of(text, name)
    statements = list(_PARSERS[found](text))
    if not statements:
        raise LogError(f"it is a {found} without a statement")
    numbered = (replace(each, number=number) for number, each in enumerate(statements, 1))
    return QueryLog(found, tuple(numbered))


def format_of(text: str, name: str) -> LogFormat:
    """What a file is, by its lines; an SQL file by its name, or its first word. Raises LogError."""
    lines = text.splitlines()[:_READS_LINES]
    if not any(line.strip() for line in lines):
        raise LogError("it is empty")
    if _SLOW_KNOWN.search("\n".join(lines)):
        return "slow log"
    if any(_GENERAL.match(line) for line in lines):
        return "general log"
    plain = name.removesuffix(".gz")
    first = next((statement for _, statement in statements_in("\n".join(lines))), "")
    if plain.endswith(".sql") or (first and kind_of(first) != "other"):
        return "SQL file"
    raise LogError("its lines are those of no slow log, general log or SQL file")


def _slow_log(text: str) -> Iterator[LoggedStatement]:
    """Of each event the connection and the schema, and of its body all after the server's own USE
    and SET.

    MariaDB writes the schema with each event. MySQL writes USE where it is another one than in the
    event before, whatever the connection.
    """
    used: str | None = None
    for event in _slow_events(text):
        head = [line for line in event if line.startswith("#")]
        body = [line for line in event if not line.startswith("#")]
        time_s = None
        while body and (_SLOW_USE.match(body[0]) or _SLOW_SET.match(body[0])):
            line = body.pop(0)
            if found := _SLOW_USE.match(line):
                used = found[1]
            elif stamp := _TIMESTAMP.search(line):
                time_s = float(stamp[1])
        statement = "\n".join(body).strip().removesuffix(";").strip()
        if statement:
            connection = _first(_SLOW_CONNECTION, head)
            has_schema = any(" Schema: " in line for line in head)
            schema = _first(_SLOW_SCHEMA, head) if has_schema else used
            number = int(connection) if connection else None
            yield LoggedStatement(0, statement, number, schema, time_s)


def _slow_events(text: str) -> Iterator[list[str]]:
    """Its lines by event: a header, then the statement. MariaDB writes the time once a second."""
    event: list[str] = []
    has_body = False
    for line in text.splitlines():
        if _HEADER.match(line):
            continue
        if _SLOW_BEGINS.match(line) and has_body:
            yield event
            event = []
            has_body = False
        event.append(line)
        has_body = has_body or not line.startswith("#") or "administrator command:" in line
    if has_body:
        yield event


def _first(pattern: re.Pattern[str], lines: Sequence[str]) -> str | None:
    for line in lines:
        if found := pattern.search(line):
            return next((group for group in found.groups() if group), None)
    return None


def _general_log(text: str) -> Iterator[LoggedStatement]:
    """What was sent to be carried out: queries, and prepared statements with their values."""
    schemas: dict[int, str | None] = {}
    time_s: float | None = None
    for head, lines in _general_events(text):
        if head["time"]:
            time_s = _seconds(head["time"])
        connection = int(head["connection"])
        statement = "\n".join([head["text"], *lines]).strip().removesuffix(";").strip()
        command = head["command"]
        if command == "Connect":
            place = re.search(r" on (\S+)(?: using|$)", statement)
            schemas[connection] = place[1] if place and place[1] != "using" else None
        elif command == "Init DB":
            schemas[connection] = statement.strip("`")
        elif command in ("Query", "Execute") and statement:
            statement = _STATEMENT_ID.sub("", statement)
            used = _SLOW_USE.match(f"{statement};")
            if used:
                schemas[connection] = used[1]
                continue
            yield LoggedStatement(0, statement, connection, schemas.get(connection), time_s)


def _general_events(text: str) -> Iterator[tuple[re.Match[str], list[str]]]:
    head: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.splitlines():
        found = _GENERAL.match(line)
        if found is None:
            if not _HEADER.match(line):
                lines.append(line)
            continue
        if head is not None:
            yield head, lines
        head = found
        lines = []
    if head is not None:
        yield head, lines


def _seconds(text: str) -> float | None:
    """MariaDB's times are without a zone, and taken for UTC."""
    if old := _OLD_TIME.fullmatch(text):
        year, *rest = (int(group) for group in old.groups())
        return float(calendar.timegm((2000 + year, *rest, 0, 0, 0)))
    found = _ISO_TIME.fullmatch(text)
    if found is None:
        return None
    *parts, fraction, sign, hours, minutes = found.groups()
    offset_s = 0 if sign is None else 3600 * int(hours) + 60 * int(minutes)
    if sign == "-":
        offset_s = -offset_s
    numbers = [int(part) for part in parts]
    return calendar.timegm((*numbers, 0, 0, 0)) - offset_s + float(fraction or 0)


def _sql_file(text: str) -> Iterator[LoggedStatement]:
    schema: str | None = None
    for _, statement in statements_in(text):
        used = names_and_words(statement)
        if used and used[0].upper() == "USE" and len(used) == 2:
            schema = used[1]
            continue
        yield LoggedStatement(0, statement, None, schema)


_PARSERS = {"slow log": _slow_log, "general log": _general_log, "SQL file": _sql_file}
