"""SQL over all results: which statements may be asked, and their answers."""

import os
import re
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

import duckdb

from sandbox.cli.common.results import print_broken
from sandbox.cli.console import as_typed
from sandbox.core.errors import ExitCode, SandboxError, did_you_mean
from sandbox.core.paths import RESULTS
from sandbox.record.index import open_index
from sandbox.record.tables import LATER, VIEWS, Part
from sandbox.report.query_table import query_csv, query_json, query_lines
from sandbox.report.text import text_table

MOST_SHOWN = 1000
"""Rows of a printed table; JSON and CSV have all."""
_EXAMPLE = "try: make query SQL='select cell, avg(tps) from runs group by cell'"

Columns = Mapping[str, Collection[str]]
"""View → its columns."""


def query(
    sql: str | None, as_json: bool = False, as_csv: bool = False, results: Path = RESULTS
) -> int:
    """Prints the answer, without a statement the views; returns the exit code.

    Raises SandboxError (exit 2) for an invalid query.
    """
    if not sql or not sql.strip():
        print(as_typed("\n".join(_views(results))))
        return int(ExitCode.OK)
    if as_json and as_csv:
        raise SandboxError(
            "JSON=1 and CSV=1 exclude each other", "an answer has one format", f"{_EXAMPLE} CSV=1"
        )
    statement = _only_statement(sql)
    index = open_index(
        results, needed_parts(sql), lambda text: print(f"query  {text}", file=sys.stderr)
    )
    with index.connection as connection:
        index.confine()
        print_broken(index.broken)
        try:
            cursor = connection.execute(statement)
            _print(cursor, as_json, as_csv)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader has closed the pipe, as head does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except duckdb.Error as problem:
            raise refusal(str(problem), sql, _columns(connection)) from None
    return int(ExitCode.OK)


def needed_parts(sql: str) -> set[Part]:
    """The parts to load in addition to those always loaded; a false match costs a little time,
    never an answer.
    """
    words = {word.lower() for word in re.findall(r"\w+", sql)}
    return {part for view, part in LATER.items() if view in words}


def _only_statement(sql: str) -> duckdb.Statement:
    """The single read-only statement. Raises SandboxError (exit 2) for anything else."""
    with duckdb.connect(":memory:") as parser:
        try:
            statements = parser.extract_statements(sql)
        except duckdb.Error as problem:
            raise refusal(str(problem), sql, {}) from None
    if len(statements) != 1:
        raise SandboxError(
            f"expected one statement, got {len(statements)}",
            "a query is a single statement",
            _EXAMPLE,
        )
    kind = statements[0].type
    if kind not in (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI):
        known = "queries are read-only: select, with, from, describe, pivot"
        raise SandboxError(f"a query cannot run {kind.name}", known, _EXAMPLE)
    return statements[0]


def _print(cursor: duckdb.DuckDBPyConnection, as_json: bool, as_csv: bool) -> None:
    names = [each[0] for each in cursor.description or ()]
    if as_json:
        print(query_json(names, cursor.fetchall()))
    elif as_csv:
        print(query_csv(names, cursor.fetchall()), end="")
    else:
        rows = cursor.fetchmany(MOST_SHOWN + 1)
        print("\n".join(query_lines(names, rows[:MOST_SHOWN]) if names else []))
        if len(rows) > MOST_SHOWN:
            print(
                f"query  the first {MOST_SHOWN:,} rows; CSV=1 or JSON=1 prints all", file=sys.stderr
            )


def _columns(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in VIEWS}
    for view, column in connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns()"
    ).fetchall():
        if view in found:
            found[view].append(column)
    return found


def _views(results: Path) -> list[str]:
    with open_index(results).connection as connection:
        columns = _columns(connection)
    sizes = ", ".join(f"{name} has {len(columns[name])}" for name in ("runs", "results"))
    describe = f"make query SQL='describe runs' lists its columns; {sizes}"
    return [
        *text_table(("view", "what"), [*VIEWS.items()]),
        "",
        describe,
        _EXAMPLE.removeprefix("try: "),
    ]


def refusal(message: str, sql: str, columns: Columns) -> SandboxError:
    """DuckDB's error in three lines; for a mistyped name, the nearest one that exists."""
    column = re.search(r'(?:Referenced column|a column named) "([^"]+)"', message)
    view = re.search(r"Table with name (\S+) does not exist", message)
    words = {word.lower() for word in re.findall(r"\w+", sql)}
    if view:
        return SandboxError(
            f"there is no view '{view[1]}'", did_you_mean(view[1], VIEWS), "try: make query"
        )
    if column:
        named = [name for name in columns if name in words] or ["runs"]
        known = {each for name in named for each in columns.get(name, ())}
        step = f"try: make query SQL='describe {named[0]}'"
        return SandboxError(
            f"there is no column '{column[1]}'", did_you_mean(column[1], known), step
        )
    first, *others = [line.strip() for line in message.splitlines() if line.strip()]
    marked = next((line for line in others if line.startswith("LINE ")), sql)
    if "disabled" in first:
        first, marked = (
            "a query reads only results, not files",
            "to join them with a file: make export FORMAT=parquet",
        )
    return SandboxError(first, marked, _EXAMPLE)
