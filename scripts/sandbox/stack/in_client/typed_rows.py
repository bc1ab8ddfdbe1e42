"""Runs in the client node: statements from standard input, their results as JSON or CSV with types
and NULL.

A JSON result is an array of one object a line (of one array, without names). Numbers are the
server's own digits; JSON documents of MySQL stand as they are; binary values and geometries are
hexadecimal, 0x…; NULL is null, or an empty field in CSV, where an empty text is "". The server ends
the statements at its first error.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pymysql
from pymysql.constants import CLIENT, FIELD_TYPE
from pymysql.cursors import SSCursor

BINARY_CHARSET = 63
NUMBERS = {
    FIELD_TYPE.DECIMAL,
    FIELD_TYPE.NEWDECIMAL,
    FIELD_TYPE.TINY,
    FIELD_TYPE.SHORT,
    FIELD_TYPE.INT24,
    FIELD_TYPE.LONG,
    FIELD_TYPE.LONGLONG,
    FIELD_TYPE.FLOAT,
    FIELD_TYPE.DOUBLE,
    FIELD_TYPE.YEAR,
}
JSON_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
"""Not with the zeros of ZEROFILL: that is a text for people. Source: RFC 8259, section 6."""
QUOTED = re.compile(r'[",\r\n]|^\s|\s$|^$')
"""Characters for which a field of CSV needs quotes (RFC 4180); an empty field is NULL."""
FLUSH_S = 0.05
INTERRUPTED = 130

Cell = Any
"""bytes of a binary value, else str; None is NULL."""


def as_json(value: Cell, kind: int) -> str:
    """A value as JSON."""
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return json.dumps(hexadecimal(value))
    if kind == FIELD_TYPE.JSON or (kind in NUMBERS and JSON_NUMBER.fullmatch(value)):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def as_csv(value: Cell, _kind: int) -> str:
    """A value as a field of CSV."""
    if value is None:
        return ""
    text = hexadecimal(value) if isinstance(value, bytes) else str(value)
    return '"' + text.replace('"', '""') + '"' if QUOTED.search(text) else text


def hexadecimal(value: bytes) -> str:
    """Binary data as the literal that every server reads: 0x4142; without any, an empty text."""
    return f"0x{value.hex().upper()}" if value else ""


def distinct(names: list[str]) -> list[str]:
    """Names of columns, the second ``a`` as ``a_2``: an object has every key once."""
    found: list[str] = []
    for name in names:
        number = 2
        key = name
        while key in found:
            number, key = number + 1, f"{name}_{number}"
        found.append(key)
    return found


def json_lines(names: list[str], rows: Iterator[list[str]], with_names: bool) -> Iterator[str]:
    """One result as a JSON array, a row a line."""
    keys = [json.dumps(name, ensure_ascii=False) for name in distinct(names)]
    before = "["
    for row in rows:
        cells = (
            [f"{key}: {cell}" for key, cell in zip(keys, row, strict=True)] if with_names else row
        )
        text = ", ".join(cells)
        yield before + "\n" + (f"{{{text}}}" if with_names else f"[{text}]")
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"


def csv_lines(names: list[str], rows: Iterator[list[str]], with_names: bool) -> Iterator[str]:
    """One result as CSV, with a line of names."""
    if with_names:
        yield ",".join(as_csv(name, FIELD_TYPE.STRING) for name in names) + "\n"
    for row in rows:
        yield ",".join(row) + "\n"


def results(cursor: SSCursor, request: dict[str, Any]) -> Iterator[str]:
    """Every result of the statements, in pieces as they come."""
    lines = json_lines if request["layout"] == "json" else csv_lines
    written: Callable[[Cell, int], str] = as_json if request["layout"] == "json" else as_csv
    server = request["server"]
    more: bool | None = True
    while more:
        if cursor.description:
            names = [*(["server"] if server else []), *(column[0] for column in cursor.description)]
            first = [written(server, FIELD_TYPE.STRING)] if server else []
            kinds: list[Any] = [column[1] for column in cursor.description]
            rows = ([*first, *map(written, row, kinds)] for row in iter(cursor.fetchone, None))
            yield from lines(names, rows, request["names"])
        more = cursor.nextset()


def say(pieces: Iterator[str]) -> None:
    """Prints pieces as they come, but does not begin a write for each of many at once."""
    last = 0.0
    for piece in pieces:
        sys.stdout.buffer.write(piece.encode())
        if time.monotonic() - last > FLUSH_S:
            sys.stdout.buffer.flush()
            last = time.monotonic()


def main() -> int:
    """Exit code 1 where a statement, or the connection, fails."""
    request = json.loads(sys.argv[1])
    statements = sys.stdin.buffer.read()
    try:
        with connected(request) as connection, connection.cursor() as cursor:
            try:
                cursor.execute(statements)  # type: ignore[arg-type]  # it takes bytes as they are
                say(results(cursor, request))
            except KeyboardInterrupt:
                end_query(request, connection.thread_id())  # type: ignore[no-untyped-call]
                os._exit(INTERRUPTED)  # what the server still sends is not waited for
    except (pymysql.MySQLError, OSError) as error:
        sys.stdout.buffer.flush()
        code, text = error.args if len(error.args) == 2 else ("", str(error))
        sys.stderr.buffer.write(f"ERROR {code}: {text}\n".encode())
        return 1
    finally:
        sys.stdout.buffer.flush()
    return 0


def connected(request: dict[str, Any]) -> "pymysql.Connection[SSCursor]":
    """A connection that takes several statements as one text, and gives values as the server writes
    them.
    """
    if request["file"]:
        account = {"read_default_file": request["file"]}
    else:
        account = {"user": request["user"], "password": os.environ.get("MYSQL_PWD", "")}
    return pymysql.connect(
        host=request["host"],
        port=request["port"],
        **account,
        charset="utf8mb4",
        autocommit=None,
        conv={},
        client_flag=CLIENT.MULTI_STATEMENTS,
        cursorclass=SSCursor,
    )


def end_query(request: dict[str, Any], thread: int) -> None:
    """Ends what a connection runs, as the command-line client does."""
    with connected(request) as other, other.cursor() as cursor:
        cursor.execute(f"kill query {thread}")


if __name__ == "__main__":
    sys.exit(main())
