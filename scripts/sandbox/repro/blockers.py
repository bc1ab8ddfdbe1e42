"""For what a statement that does not end waits: the session and the lock, as the server says."""

from collections.abc import Mapping, Sequence

from sandbox.core.errors import MachineError
from sandbox.repro.sessions import Sent
from sandbox.repro.step import Stage
from sandbox.stack.client_python import QueryResult, Target, ask

_ROW_LOCKS = {
    "mysql": (
        "select t.processlist_id, l.object_schema, l.object_name, coalesce(l.index_name, '-'),"
        " l.lock_mode from performance_schema.data_lock_waits w join"
        " performance_schema.data_locks l on l.engine_lock_id = w.requesting_engine_lock_id join"
        " performance_schema.threads r on r.thread_id = w.requesting_thread_id join"
        " performance_schema.threads t on t.thread_id = w.blocking_thread_id where"
        " r.processlist_id = %s"
    ),
    "mariadb": (
        "select b.trx_mysql_thread_id, l.lock_table, '', coalesce(l.lock_index, '-'), l.lock_mode"
        " from information_schema.innodb_lock_waits w join information_schema.innodb_trx r on"
        " r.trx_id = w.requesting_trx_id join information_schema.innodb_trx b on b.trx_id ="
        " w.blocking_trx_id join information_schema.innodb_locks l on l.lock_id ="
        " w.requested_lock_id where r.trx_mysql_thread_id = %s"
    ),
}
"""By family, of a connection: who blocks it, and schema, table, index and mode of the lock. MySQL
before 8.0 has no such tables: there the state says what there is.
"""
_METADATA_LOCKS = (
    "select t.processlist_id, p.object_schema, p.object_name, p.lock_type from"
    " performance_schema.metadata_locks p join performance_schema.threads r on r.thread_id ="
    " p.owner_thread_id join performance_schema.metadata_locks g on g.object_type = p.object_type"
    " and g.object_schema <=> p.object_schema and g.object_name <=> p.object_name and"
    " g.lock_status = 'GRANTED' and g.owner_thread_id <> p.owner_thread_id join"
    " performance_schema.threads t on t.thread_id = g.owner_thread_id where p.lock_status ="
    " 'PENDING' and r.processlist_id = %s order by g.lock_type in ('SHARED_READ', 'SHARED_WRITE')"
)
"""Who has a lock that readers do not wait for comes last."""
_STATE = "select state from information_schema.processlist where id = %s"
_ANSWER_S = 5.0


def blocker_of(stage: Stage, sent: Sent) -> str | None:
    """``s1 (X of repro.t, PRIMARY)``, else the state of the connection; None: nobody says."""
    server = stage.server_of(sent.session)
    if sent.connection is None or server is None or server.port is None:
        return None
    family = server.family or "mysql"
    target = Target(server.name, server.host, server.port, "root")
    values = (sent.connection,)
    questions = [_ROW_LOCKS[family], _METADATA_LOCKS, _STATE]
    answers = [_asked(stage, target, (question, values)) for question in questions]
    return waited_for(answers, stage.sessions.connections())


def _asked(stage: Stage, target: Target, question: tuple[str, tuple[int]]) -> QueryResult:
    try:
        return ask(stage.stack, stage.client, [target], [question], _ANSWER_S)[target.name]
    except (MachineError, TimeoutError) as problem:
        return QueryResult((), str(problem), None)


def waited_for(answers: Sequence[QueryResult], sessions: Mapping[int, str]) -> str | None:
    """The first of the answers that says something: of row locks, metadata locks, the state."""
    rows, metadata, state = (each.rows(0) for each in answers)
    if rows:
        connection, schema, table, index, mode = rows[0]
        what = f"{schema}.{table}" if table else str(schema).replace("`", "")
        return f"{_who(connection, sessions)} ({mode} of {what}, {index})"
    if metadata:
        connection, schema, table, kind = metadata[0]
        return f"{_who(connection, sessions)} (metadata lock {kind} of {schema}.{table})"
    if state and state[0][0]:
        return str(state[0][0])
    return None


def _who(connection: object, sessions: Mapping[int, str]) -> str:
    number = connection if isinstance(connection, int) else -1
    return sessions.get(number, f"connection {connection}")
