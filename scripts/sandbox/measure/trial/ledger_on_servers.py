"""The ledger on the servers: made empty before a trial, read from every node after it."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sandbox.load.common.workload import Session, ask_writer
from sandbox.measure.run import RunEndedError
from sandbox.measure.trial import in_client
from sandbox.stack.client_python import QueryResult, Statement, Target, ask, script_argv, targets_of
from sandbox.stack.protocol import EntryPoint, RunningStack, StackNode

TABLE = "ledger"
OF_DRIVER = "ledger_of_driver"
"""The rows that a driver writes beside the prober (docs/drivers.md)."""
_COLUMNS = (
    "id BIGINT AUTO_INCREMENT PRIMARY KEY, op_id BIGINT NOT NULL, attempt INT NOT NULL,"
    " node VARCHAR(64) NOT NULL, at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), KEY (op_id)"
)
"""Not unique by its operation: a write that was repeated must be seen."""
_ABANDONED = (
    "SELECT id FROM information_schema.processlist WHERE user = %s AND (info LIKE %s OR (db = %s"
    " AND info = 'COMMIT'))"
)
"""A load has another schema, except on an external server."""
_ABANDONED_LIMIT_S = 5.0
_CAUGHT_UP_LIMIT_S = 30.0
_PAUSE_S = 0.2
_READ_S = 30.0
"""Time-out of each statement that reads a part of a ledger."""
_READ_LIMIT_S = 300.0


@dataclass(frozen=True, slots=True)
class NodeReading:
    """The contents of a node: its rows as `read_ledger` gives them, and its transactions; or why it
    could not be read.
    """

    rows: Mapping[str, Any] | None
    gtid: str | None
    problem: str | None = None


def make_ledger(session: Session, schema: str, *more: str) -> None:
    """An empty ledger, and ``more`` of other names. Raises RunEndedError where the writer refuses
    it.
    """
    statements: list[Statement] = []
    for table in (TABLE, *more):
        statements.append(f"DROP TABLE IF EXISTS `{schema}`.{table}")
        statements.append(f"CREATE TABLE `{schema}`.{table} ({_COLUMNS}) ENGINE=InnoDB")
    answer = ask_writer(session, *statements, in_schema=False)
    if answer.error:
        raise RunEndedError("infra_error", f"the ledger could not be made: {answer.error}")


def reachable(
    stack: RunningStack, servers: Sequence[StackNode]
) -> tuple[list[StackNode], dict[str, str]]:
    """The servers with their addresses as hosts, since a vanished name is looked up for long; the
    others' states.
    """
    there = []
    gone = {}
    for server in servers:
        control = stack.control(server.name) if server.has_container else None
        address = control.address() if control else server.host
        if address is None:
            gone[server.name] = (
                f"its container is {control.state() if control else 'gone'}, without an address"
            )
        else:
            there.append(replace(server, host=address))
    return there, gone


def end_abandoned(session: Session, servers: Sequence[StackNode]) -> int:
    """Waits until no write of the prober runs on any server, and kills those that do not end; how
    many that were.

    A server that does not answer has none that could be ended.
    """
    targets = targets_of(servers)
    end = time.monotonic() + _ABANDONED_LIMIT_S
    while (running := _running(session, targets)) and time.monotonic() < end:
        time.sleep(_PAUSE_S)
    for target in targets:
        for session_id in running.get(target.name, ()):
            ask(session.stack, session.client, [target], [f"KILL {session_id}"])
    return sum(map(len, running.values()))


def _running(session: Session, targets: Sequence[Target]) -> dict[str, list[int]]:
    """Sessions of the prober that write now, by server."""
    asked = (_ABANDONED, (session.entry.user, f"INSERT INTO {TABLE}%", schema_of(session.entry)))
    answers = ask(session.stack, session.client, targets, [asked])
    found = {name: [int(str(row[0])) for row in answer.rows(0)] for name, answer in answers.items()}
    return {name: sessions for name, sessions in found.items() if sessions}


def schema_of(entry: EntryPoint) -> str:
    """On a server of ours the ledger stands beside the sandbox's own tables; elsewhere in the
    load's schema.
    """
    return entry.schema if entry.via == "external" else "sandbox"


def newest_operation(session: Session, servers: Sequence[StackNode]) -> int:
    """The newest that any of the servers holds; 0 where none has one."""
    return max((_newest_of(answer) for answer in _newest(session, servers).values()), default=0)


def lacking(session: Session, servers: Sequence[StackNode], operation: int) -> list[str]:
    """The servers that have not applied this operation, nor what came before it, or do not say
    so.
    """
    answers = _newest(session, servers)
    return [
        name for name, answer in answers.items() if answer.error or _newest_of(answer) < operation
    ]


def _newest(session: Session, servers: Sequence[StackNode]) -> dict[str, QueryResult]:
    newest = f"SELECT MAX(op_id) FROM `{schema_of(session.entry)}`.{TABLE}"  # noqa: S608  (both are names of ours)
    targets = targets_of(servers)
    return ask(session.stack, session.client, targets, [newest]) if targets else {}


def _newest_of(answer: QueryResult) -> int:
    return int(str(_cell(answer.rows(0)) or 0))


def wait_for_readers(session: Session, servers: Sequence[StackNode]) -> dict[str, str]:
    """Returns when every server has the writer's newest row; those that do not in time, each with
    what it has.
    """
    end = time.monotonic() + _CAUGHT_UP_LIMIT_S
    while True:
        answers = _newest(session, servers)
        wanted = answers[session.writer.node].rows(0)
        behind = {
            name: answer.error or f"its newest row is {_cell(answer.rows(0))}, not {_cell(wanted)}"
            for name, answer in answers.items()
            if answer.error or answer.rows(0) != wanted
        }
        if not behind or time.monotonic() > end:
            return behind
        time.sleep(_PAUSE_S)


def _cell(rows: Sequence[Sequence[Any]]) -> Any:
    return rows[0][0] if rows else None


def read_ledgers_of(
    session: Session, schema: str, servers: Sequence[StackNode], table: str = TABLE
) -> dict[str, NodeReading]:
    """The contents of every server now, the writer's last: whatever another one has beyond it was
    never the writer's.
    """
    order = sorted(servers, key=lambda server: server.name == session.writer.node)
    return {
        server.name: _read(session, schema, table, server)
        for server in order
        if server.port is not None
    }


def _read(session: Session, schema: str, table: str, server: StackNode) -> NodeReading:
    account = "root" if server.has_container else "app"
    request = {
        "host": server.host,
        "port": server.port,
        "user_file": f"/sandbox/{account}.cnf",
        "schema": schema,
        "table": table,
        "family": server.family or "mysql",
        "timeout_s": _READ_S,
    }
    argv = script_argv(in_client.__name__, "read_ledger")
    try:
        answered = session.stack.ask_session(
            session.client, argv, json.dumps(request), _READ_LIMIT_S
        )
    except TimeoutError as late:
        return NodeReading(None, None, str(late))
    return _reading(answered.stdout, answered.last_error)


def _reading(answer: str, error: str) -> NodeReading:
    try:
        parsed: dict[str, Any] = json.loads(answer)
    except json.JSONDecodeError:
        return NodeReading(None, None, error or "no answer")
    if parsed.get("error"):
        return NodeReading(None, None, str(parsed["error"]))
    return NodeReading(parsed, parsed.get("gtid"))
