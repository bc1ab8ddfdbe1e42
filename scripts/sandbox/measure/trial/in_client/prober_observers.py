"""Runs in the client node beside prober.py: asks every server for its role, its state and its
newest row.
"""

import json
import math
import re
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pymysql.cursors import DictCursor

if TYPE_CHECKING:
    from sandbox.measure.trial.in_client import prober_links as links
    from sandbox.measure.trial.in_client import prober_streams as streams
else:
    import prober_links as links  # shipped into the same folder
    import prober_streams as streams

GTID = {
    "mysql": "@@global.gtid_executed",
    "mariadb": "IF(@@global.log_bin, @@gtid_binlog_pos, @@gtid_current_pos)",
}
# read_only alone: super_read_only implies it, so it is off exactly where the application may write.
OBSERVED = (
    "SELECT @@global.read_only AS read_only, {gtid} AS gtid, newest.op_id AS last_op, "
    "ROUND(UNIX_TIMESTAMP(newest.at) * 1000000) AS last_at_us FROM (SELECT 1) AS one "
    "LEFT JOIN (SELECT op_id, at FROM ledger ORDER BY id DESC LIMIT 1) AS newest ON TRUE"
)
READ_ONLY = "SELECT @@global.read_only AS read_only"
"""The question where there is no ledger: nothing but who takes writes."""
WSREP = (
    "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_status',"
    " 'wsrep_local_state_comment', 'wsrep_cluster_size', 'wsrep_local_state',"
    " 'wsrep_incoming_addresses', 'wsrep_ready')"
)
NEWER, OLDER = "SHOW REPLICA STATUS", "SHOW SLAVE STATUS"  # from MySQL 8.0.22 on, and before
STATE = {
    ("galera", "mysql"): WSREP,
    ("galera", "mariadb"): WSREP,
    ("gr", "mysql"): (
        "SELECT MAX(IF(member_id = @@server_uuid, member_role, NULL)) AS role, "
        "MAX(IF(member_id = @@server_uuid, member_state, NULL)) AS state, "
        # Long before the group expels it.
        "COUNT(IF(member_state = 'UNREACHABLE', NULL, 1)) AS view, "
        "GROUP_CONCAT(IF(member_state IN ('OFFLINE', 'ERROR'), NULL, "
        "CONCAT_WS(' ', member_host, member_state, member_role)) ORDER BY member_host) AS members "
        "FROM performance_schema.replication_group_members"
    ),
    ("single", "mysql"): NEWER,
    ("single", "mariadb"): "SHOW ALL SLAVES STATUS",
}
APPLIER_ERROR = (
    "SELECT MAX(CONCAT('error ', last_error_number, ': ', last_error_message)) AS applier_error "
    "FROM performance_schema.replication_applier_status_by_worker "
    "WHERE channel_name = 'group_replication_applier' AND last_error_number <> 0"
)
"""Why a member is in no group, where that is a transaction that it cannot apply."""
# A Galera node outside the primary component answers, too; none waits for what others have
# committed.
SESSION = {
    "galera": "SET SESSION wsrep_dirty_reads = ON, wsrep_sync_wait = 0",
    "gr": "SET SESSION group_replication_consistency = EVENTUAL",
}

OBSERVER_TIMEOUT_S = 1.0
NOTHING: dict[str, Any] = dict.fromkeys(
    ("read_only", "role", "state", "view", "gtid", "last_op", "last_at_us", "error")
)
NEWS = ("read_only", "role", "state", "view", "error", "last_op")
"""An answer that differs in one of these is written at once; any is after a second."""


def standing(topology: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Role, state and view of a server, as its topology has them; a group's is without those it
    does not reach.
    """
    if topology == "gr":
        return {name: rows[0][name] for name in ("role", "state", "view")}
    if topology == "galera":
        status = {row["Variable_name"]: row["Value"] for row in rows}
        component = status.get("wsrep_cluster_status")
        state = status.get("wsrep_local_state_comment") if component == "Primary" else component
        return {"state": state, "view": int(status.get("wsrep_cluster_size", 0))}
    running = [
        [row[name] for name in row if name.endswith(("_IO_Running", "_SQL_Running"))]
        for row in rows
    ]
    return {"state": ",".join("/".join(threads) for threads in running) or None}


OF_A_CHANNEL = re.compile(
    r"(Source|Master)_Host|\w+_(IO|SQL)_Running|Last_(IO|SQL)_Err(no|or)|SQL_Delay|Channel_Name"
)
_BEHIND = re.compile(r"Seconds_Behind_(Source|Master)")


def facts(topology: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The facts that name a server's state (`sandbox.stack.server_states`): its status, or its
    replication channels.
    """
    if topology == "galera":
        return {"status": {row["Variable_name"].lower(): row["Value"] for row in rows}}
    if topology == "gr":
        names = ("role", "state", "members", "applier_error")
        return {"status": {name: str(rows[0].get(name) or "") for name in names}}
    return {"channels": [_of_channel(row) for row in rows]}


def _of_channel(row: dict[str, Any]) -> dict[str, str]:
    """Without what changes all the time; the lag to a power of two, so that it is news when it
    doubles.
    """
    kept = {
        name: str(value)
        for name, value in row.items()
        if OF_A_CHANNEL.fullmatch(name) and value is not None
    }
    for name, value in row.items():
        if _BEHIND.fullmatch(name) and value is not None:
            kept[name] = str(2 ** int(math.log2(int(value)))) if int(value) > 1 else "0"
    return kept


def is_news(
    written: tuple[int, dict[str, Any]] | None, now_us: int, answer: dict[str, Any]
) -> bool:
    """Whether a line is due: it differs from the one written last, or that was a second ago."""
    if written is None or now_us - written[0] >= 1_000_000:
        return True
    return any(answer[name] != written[1][name] for name in NEWS)


class Observer:
    """Asks one server over a connection of its own, at every multiple of the interval that it can
    keep.
    """

    def __init__(
        self,
        target: dict[str, Any],
        who: links.Account,
        addresses: dict[str, str],
        ledger: bool = True,
    ) -> None:
        """``ledger``: whether the ledger of a trial is there to be read."""
        self._target = target
        self._who = who
        self._addresses = addresses
        self._statement = ""
        self._observed = OBSERVED.format(gtid=GTID[target["family"]]) if ledger else READ_ONLY
        self.facts: dict[str, Any] = {}
        """Facts that name the server's state, by its last answer."""
        self._link: links.Link | None = None

    def ask(self) -> dict[str, Any]:
        """The server's answer, or nothing but the error."""
        deadline_s = time.monotonic() + OBSERVER_TIMEOUT_S
        try:
            return {**NOTHING, **self._answer(self._connected(deadline_s), deadline_s)}
        except Exception as error:  # noqa: BLE001  (whatever it was: it is the answer)
            self._disconnect()
            said = f"{links.code_of(error)}: {error.args[-1] if error.args else ''}"
            self.facts = {"error": said}
            return {**NOTHING, "error": said}

    def follow(
        self, interval_s: float, line: streams.Log, clock: streams.Clock, finished: threading.Event
    ) -> None:
        """Asks until the prober has ended; the time of an answer is when it was there."""
        interval_us = round(interval_s * 1e6)
        written, known = None, None
        while not finished.wait((interval_us - clock() % interval_us) / 1e6):
            answer = self.ask()
            now_us = clock()
            if self.facts != known:
                known = self.facts
                line("w", self._target["node"], now_us, json.dumps(known, separators=(",", ":")))
            if is_news(written, now_us, answer):
                written = (now_us, answer)
                line("s", self._target["node"], now_us, json.dumps(answer, separators=(",", ":")))

    def _answer(self, link: links.Link, deadline_s: float) -> dict[str, Any]:
        rows = link.execute(deadline_s, self._statement, kind=DictCursor)
        if self._target["topology"] == "gr" and rows[0]["state"] in ("ERROR", "OFFLINE"):
            rows = [rows[0] | link.execute(deadline_s, APPLIER_ERROR, kind=DictCursor)[0]]
        answer = standing(self._target["topology"], rows)
        (row,) = link.execute(deadline_s, self._observed, kind=DictCursor)
        # A word from MariaDB 12 on.
        read_only = int(str(row["read_only"]).upper() not in ("0", "OFF"))
        self.facts = facts(self._target["topology"], rows) | {"read_only": read_only}
        if len(row) == 1:
            return {**answer, "read_only": read_only}
        at_us = None if row["last_at_us"] is None else int(row["last_at_us"])
        return {**answer, **row} | {
            "read_only": read_only,
            "gtid": row["gtid"].replace("\n", ""),
            "last_at_us": at_us,
        }

    def _connected(self, deadline_s: float) -> links.Link:
        address = self._addresses[self._target["node"]]
        if self._link is None or self._link.address != address:
            self._disconnect()
            self._link = links.Link(self._who, address, self._target["port"], deadline_s)
            self._statement = self._in_its_words(self._link.version)
            if setting := SESSION.get(self._target["topology"]):
                self._link.execute(deadline_s, setting)
        return self._link

    def _in_its_words(self, version: str) -> str:
        """The question about its state, in the words of the server's release."""
        release = tuple(int(number) for number in re.findall(r"\d+", version)[:3])
        statement = STATE[self._target["topology"], self._target["family"]]
        return OLDER if statement == NEWER and release < (8, 0, 22) else statement

    def _disconnect(self) -> None:
        if self._link:
            self._link.close()
        self._link = None
