"""The prepared data: recorded next to the data itself, so that the record goes where the data
goes.
"""

from collections.abc import Sequence
from dataclasses import replace

from sandbox.core.errors import SandboxError
from sandbox.load.common.workload import PreparedData, Session, WorkloadError, ask_writer
from sandbox.stack.client_python import QueryResult, Statement, ask, targets_of
from sandbox.stack.protocol import StackNode

ROWS_SEED = 1
"""Seed of the rows: the same on every server and in every preparation."""

MARK_TABLE = "sandbox_prepared"
_MAKE_MARK = (
    "CREATE TABLE IF NOT EXISTS sandbox_prepared (prefix varchar(32) PRIMARY KEY, family"
    " varchar(32) NOT NULL, table_count int NOT NULL, rows_per_table bigint NULL, details"
    " varchar(255) NOT NULL) ENGINE=InnoDB"
)
# One row, written through the writer and read on every server that should have it.
_MAKE_WATERMARK = (
    "CREATE TABLE IF NOT EXISTS sandbox_watermark (id int PRIMARY KEY, watermark varchar(40) NOT"
    " NULL) ENGINE=InnoDB"
)
_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s"
_NOTHING_THERE = (1146, 1049)
"""Errors of a missing table or a missing schema."""


def is_there(session: Session, data: PreparedData) -> bool:
    """Whether a completed preparation left exactly this data. Raises WorkloadError when the writer
    fails.
    """
    query = (
        "SELECT family, table_count, rows_per_table, details FROM sandbox_prepared WHERE prefix"
        " = %s"
    )
    what = "the mark of prepared data could not be read"
    answer = _ask(session, what, (query, (data.prefix,)), passed_over=_NOTHING_THERE)
    return answer.rows(0) == ((data.tables, data.table_count, data.rows_per_table, data.details),)


def mark(session: Session, data: PreparedData) -> None:
    """Marks data as complete; only called after a successful preparation."""
    values = (data.prefix, data.tables, data.table_count, data.rows_per_table, data.details)
    what = "the mark of prepared data could not be written"
    _ask(session, what, ("REPLACE INTO sandbox_prepared VALUES (%s, %s, %s, %s, %s)", values))


def clear(session: Session, prefix: str) -> None:
    """Drops the mark of a prefix, then its tables; leftovers of an interruption do not count as
    prepared.

    Raises SandboxError (exit 2) for foreign tables in an external server's schema, WorkloadError
    otherwise.
    """
    schema = session.entry.schema
    what = f"the tables of schema {schema} could not be listed"
    listed = _ask(session, what, (_TABLES, (schema,)), in_schema=False)
    names = {str(row[0]) for row in listed.rows(0)}
    _refuse_foreign(session, names)
    data = sorted(name for name in names if name.startswith(prefix))
    statements: list[Statement] = [
        f"CREATE SCHEMA IF NOT EXISTS `{schema}`",
        f"USE `{schema}`",
        _MAKE_MARK,
        _MAKE_WATERMARK,
        ("DELETE FROM sandbox_prepared WHERE prefix = %s", (prefix,)),
        *(f"DROP TABLE `{name}`" for name in data),
    ]
    what = "the data of an earlier preparation could not be dropped"
    _ask(session, what, *statements, in_schema=False)


def write_watermark(session: Session, watermark: str) -> None:
    """Writes a row that a server has only once it has all earlier writes. Raises WorkloadError."""
    what = f"server {session.writer.node} accepted no write"
    _ask(session, what, ("REPLACE INTO sandbox_watermark VALUES (1, %s)", (watermark,)))


def without_watermark(
    session: Session, servers: Sequence[StackNode], watermark: str
) -> dict[str, str]:
    """Servers that do not have the watermark yet, each with what it answered instead."""
    targets = [replace(target, schema=session.entry.schema) for target in targets_of(servers)]
    answers = ask(
        session.stack,
        session.client,
        targets,
        ["SELECT watermark FROM sandbox_watermark WHERE id = 1"],
    )
    return {
        name: answer.error or "has not applied the last write"
        for name, answer in answers.items()
        if answer.rows(0) != ((watermark,),)
    }


def _refuse_foreign(session: Session, names: set[str]) -> None:
    external = any(
        server.kind == "external" and server.name == session.writer.node
        for server in session.servers
    )
    if external and names and MARK_TABLE not in names:
        schema = session.entry.schema
        what = (
            f"schema {schema} on {session.writer.host} contains tables that the sandbox did not"
            " create"
        )
        raise SandboxError(
            what, "nothing was written to it", "try: make bench SCHEMA=<another schema>"
        )


def _ask(
    session: Session,
    what: str,
    *statements: Statement,
    in_schema: bool = True,
    passed_over: Sequence[int] = (),
) -> QueryResult:
    """The writer's answer. Raises WorkloadError, beginning with ``what``, for any error but those
    ``passed_over``.
    """
    answer = ask_writer(session, *statements, in_schema=in_schema)
    if answer.error and answer.error_code not in passed_over:
        raise WorkloadError(f"{what}: {answer.error}")
    return answer
