"""Whether the servers of a stack hold the same: their rows, and the transactions of their GTIDs."""

import time
from collections.abc import Mapping, Sequence

from sandbox.consistency.binary_log import (
    KeysOfTable,
    LogContents,
    Origin,
    TableName,
    different_transactions,
)
from sandbox.consistency.logs import MEGABYTES, read_logs
from sandbox.consistency.rows import WAIT_S, compare_rows
from sandbox.consistency.sets import ServerSet, sets_of
from sandbox.core.errors import SandboxError
from sandbox.record.consistency import (
    ConsistencyRecord,
    LogRead,
    RowDifference,
    TransactionDifference,
    Written,
)
from sandbox.record.redaction import mask
from sandbox.stack.client_python import ask, targets_of
from sandbox.stack.protocol import RunningStack, StackNode

_MOST = 20
"""GTIDs that are reported with their contents."""
_OWN_GTIDS = "each node numbers GTIDs on its own (wsrep_gtid_mode is OFF)"


def compare(
    stack: RunningStack,
    client: str,
    servers: ServerSet,
    tables: Sequence[str] = (),
    wait_s: float = WAIT_S,
    log_megabytes: int = MEGABYTES,
) -> ConsistencyRecord:
    """Compares the servers of a set; what cannot be compared is in the record, with the reason.

    ``log_megabytes``: how much of the end of each binary log is read; 0: none.
    """
    began_s = time.monotonic()
    about = {"reference": servers.reference, "servers": servers.names}
    record = ConsistencyRecord(**about, unread=dict(servers.out))
    try:
        record = compare_rows(stack, client, servers, tables, wait_s).model_copy(update=about)
        there = [server for server in servers.servers if server.name in record.compared]
        if log_megabytes and len(there) > 1:
            record = _with_logs(stack, client, there, record, log_megabytes)
    except SandboxError as error:
        record = record.model_copy(update={"problem": f"{error.what}: {error.known}"})
    except TimeoutError as late:
        record = record.model_copy(update={"problem": str(late)})
    seconds = round(time.monotonic() - began_s, 3)
    text = record.model_copy(update={"seconds": seconds}).model_dump_json()
    return ConsistencyRecord.model_validate_json(mask(text, stack.secrets()))


def compare_stack(
    stack: RunningStack,
    client: str,
    tables: Sequence[str] = (),
    wait_s: float = WAIT_S,
    log_megabytes: int = MEGABYTES,
) -> list[ConsistencyRecord]:
    """The same for every set of a stack that has several servers."""
    nodes = stack.nodes()
    if sum(node.is_server for node in nodes) < 2:
        return []
    sets = [each for each in sets_of(nodes, stack.roles()) if len(each.servers) + len(each.out) > 1]
    return [compare(stack, client, each, tables, wait_s, log_megabytes) for each in sets]


def _with_logs(
    stack: RunningStack,
    client: str,
    servers: Sequence[StackNode],
    record: ConsistencyRecord,
    megabytes: int,
) -> ConsistencyRecord:
    """Who wrote what differs, and whether a GTID stands for the same everywhere."""
    wanted = keys_of(record.differences)
    found = read_logs(stack, client, servers, wanted, megabytes)
    contents = {name: log for name, (_, log) in found.items()}
    numbering = _numbering_alone(stack, client, servers)
    shared = {name: log for name, log in contents.items() if name not in numbering}
    skipped = _OWN_GTIDS if len(shared) < 2 and numbering else None
    return record.model_copy(
        update={
            "differences": [with_origins(each, contents) for each in record.differences],
            "logs": {name: read for name, (read, _) in found.items()},
            "logs_skipped": skipped or unread_logs(found),
            "transactions": transaction_differences(shared),
        }
    )


def unread_logs(found: Mapping[str, tuple[LogRead, LogContents]]) -> str | None:
    """Why there are not two logs to compare; None: there are."""
    unread = {name: read.why_not for name, (read, _) in found.items() if read.why_not}
    if len(found) - len(unread) > 1:
        return None
    by_reason: dict[str, list[str]] = {}
    for name, why in unread.items():
        by_reason.setdefault(why, []).append(name)
    return "; ".join(f"{', '.join(names)}: {why}" for why, names in by_reason.items()) or None


def _numbering_alone(stack: RunningStack, client: str, servers: Sequence[StackNode]) -> set[str]:
    """Members of MariaDB's Galera whose GTIDs are their own.

    Source: MariaDB's documentation, "Using MariaDB GTIDs with MariaDB Galera Cluster".
    """
    members = [each for each in servers if each.topology == "galera" and each.family == "mariadb"]
    if not members:
        return set()
    answers = ask(stack, client, targets_of(members), ["SELECT @@global.wsrep_gtid_mode"])
    return {name for name, each in answers.items() if str((each.rows(0) or [[0]])[0][0]) != "1"}


def keys_of(differences: Sequence[RowDifference]) -> dict[TableName, KeysOfTable]:
    """The rows that differ, as they are looked for in a binary log."""
    keys: dict[TableName, set[tuple[str | None, ...]]] = {}
    places: dict[TableName, tuple[int, ...]] = {}
    for each in differences:
        whole = next((row for row in each.rows.values() if row is not None), None)
        if each.key is None or whole is None:
            continue
        table = _table(each)
        columns = list(whole)
        places[table] = tuple(columns.index(name) + 1 for name in each.key)
        keys.setdefault(table, set()).add(tuple(each.key.values()))
    return {table: KeysOfTable(places[table], frozenset(own)) for table, own in keys.items()}


def _table(difference: RowDifference) -> TableName:
    schema, _, name = difference.table.partition(".")
    return schema, name


def with_origins(difference: RowDifference, logs: Mapping[str, LogContents]) -> RowDifference:
    """The difference, and who wrote each server's row last."""
    if difference.key is None:
        return difference
    row = (_table(difference), tuple(difference.key.values()))
    written = {name: _written(log.origins.get(row)) for name, log in logs.items()}
    return difference.model_copy(update={"written": written})


def _written(origin: Origin | None) -> Written | None:
    if origin is None:
        return None
    return Written(gtid=origin.gtid, server_id=origin.server_id, at=origin.at, kind=origin.kind)


def transaction_differences(logs: Mapping[str, LogContents]) -> list[TransactionDifference]:
    """GTIDs that stand for different changes on several servers; at most the first 20."""
    return [
        TransactionDifference(
            gtid=gtid,
            contents={name: log.lines[gtid] for name, log in logs.items() if gtid in log.lines},
        )
        for gtid in different_transactions(logs)[:_MOST]
    ]
