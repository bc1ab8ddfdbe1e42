"""A replica of the newer version behind the older server: until it has applied the log's writes."""

import time
from typing import Any

from sandbox.record.upgrade import ReplicationRecord, UpgradeFinding
from sandbox.stack.protocol import StackNode
from sandbox.stack.server_status import ServerStatus
from sandbox.upgrade.data import data_findings
from sandbox.upgrade.plans import Family
from sandbox.upgrade.servers import BothServers

LIMIT_S = 600.0
_LOOK_S = 2.0
"""After which its state is looked at again: one that has stopped never catches up."""
_HELD: dict[Family, str] = {
    "mariadb": "SELECT @@global.gtid_binlog_pos",
    "mysql": "SELECT @@global.gtid_executed",
}
_WAIT: dict[Family, str] = {
    "mariadb": "SELECT MASTER_GTID_WAIT(%s, %s)",
    "mysql": "SELECT WAIT_FOR_EXECUTED_GTID_SET(%s, %s)",
}


def caught_up(servers: BothServers, replica: StackNode) -> ReplicationRecord:
    """Waits until the replica has applied all that the older server has; says how long that took,
    or why it does not get there.
    """
    family = servers.family(servers.old)
    held = str(servers.ask_one(servers.old, [_HELD[family]]).rows(0)[0][0])
    began_s = time.monotonic()
    while True:
        wait: Any = (_WAIT[family], (held, _LOOK_S))
        answer = servers.ask_one(replica, [wait])
        took_s = time.monotonic() - began_s
        if answer.rows(0) and answer.rows(0)[0][0] == 0:
            seen = "the replica has applied everything"
            return ReplicationRecord(replica=replica.name, caught_up_s=round(took_s, 2), seen=seen)
        status = servers.stack.server_states().get(replica.name)
        stopped = _stopped(status, answer.error)
        if stopped or took_s > LIMIT_S:
            seen = stopped or f"not everything is applied after {LIMIT_S:g} s"
            return ReplicationRecord(replica=replica.name, seen=seen)


def _stopped(status: ServerStatus | None, error: str | None) -> str | None:
    """Why it never gets there; None while it works."""
    if status is None:
        return error or "the replica does not answer"
    if status.is_well:
        return None
    return f"{status.word}: {status.reason}" if status.reason else status.word


def replication_findings(
    servers: BothServers, replica: StackNode, record: ReplicationRecord, schemas: list[str]
) -> list[UpgradeFinding]:
    """A finding where it stopped, else one for each table whose rows differ from its source's."""
    if record.caught_up_s is None:
        return [
            UpgradeFinding(
                kind="replication", matters=True, on_from="the log's writes are done",
                on_to=record.seen, note="a replica of the newer version behind the older server",
            )
        ]  # fmt: skip
    tables = servers.tables(servers.old, schemas)
    source = servers.checksums(servers.old, tables)
    copy = servers.checksums(replica, servers.tables(replica, schemas))
    note = "the replica's rows are not its source's"
    return data_findings(source, copy, "replication", note)
