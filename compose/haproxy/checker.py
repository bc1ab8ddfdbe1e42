"""Answers over HTTP who may be written to or read: GET /writer/NAME, /reader/NAME, /aside/NAME. 200, or 503 and why.

GET /roles says it of all servers at once; GET /follow does so at every change until the client leaves.
"""

import json
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeAlias

import pymysql
from eligibility import Election, Verdict, judge_galera, judge_member, judge_single, unknown
from pymysql.cursors import DictCursor

CONFIGURATION = Path("/sandbox/checker.json")
MARGIN_S = 0.75
"""What a server said longer ago than a pause, a wait for its answer and this says nothing of it any more."""
CLIENT_PATIENCE_S = 1
"""How long a client of ours may take to ask."""
LOOK_S = 0.05
"""Time between two looks for a change, for those that follow them."""
BEAT_S = 0.4
"""A follower hears at least so often that the checker lives."""

Connection: TypeAlias = "pymysql.Connection[DictCursor]"


def seconds(length: str) -> float:
    """``250ms`` or ``3s`` in seconds."""
    return float(length[:-2]) / 1000 if length.endswith("ms") else float(length[:-1])


def rows(connection: Connection, statement: str) -> list[dict[str, Any]]:
    """What a statement answers, a mapping per row."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def named(connection: Connection, statement: str) -> dict[str, str]:
    """Names and values of a SHOW VARIABLES or SHOW STATUS."""
    return {row["Variable_name"]: row["Value"] for row in rows(connection, statement)}


def ask_galera(connection: Connection) -> Verdict:
    """SHOW alone is answered in every state of a node, and needs no privilege."""
    status = named(
        connection,
        "SHOW GLOBAL STATUS WHERE Variable_name IN "
        "('wsrep_cluster_status', 'wsrep_local_state', 'wsrep_local_state_comment', 'wsrep_ready')",
    )
    return judge_galera(status | named(connection, "SHOW GLOBAL VARIABLES LIKE 'read_only'"))


def ask_member(connection: Connection) -> Verdict:
    """One row: the member itself, and how much of its group it reaches."""
    (member,) = rows(
        connection,
        "SELECT MAX(IF(member_id = @@server_uuid, member_state, NULL)) AS state, "
        "MAX(IF(member_id = @@server_uuid, member_role, NULL)) AS role, "
        "COALESCE(SUM(member_role = 'PRIMARY'), 0) AS primaries, "
        "COALESCE(SUM(member_state IN ('ONLINE', 'RECOVERING')), 0) AS reachable, "
        "COUNT(*) AS members, @@super_read_only AS super_read_only FROM performance_schema.replication_group_members",
    )
    return judge_member(member)


def ask_single(connection: Connection) -> Verdict:
    """`read_only`, the channels that it replicates by, and since when it takes writes."""
    server = named(
        connection, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'version', 'gtid_slave_pos')"
    )
    channels = rows(connection, _replication(server["version"]))
    return judge_single(server["read_only"], channels, _promoted(connection, server))


def _replication(version: str) -> str:
    """The words changed with MySQL 8.0.22; MariaDB has its own for all channels."""
    if "mariadb" in version.lower():
        return "SHOW ALL SLAVES STATUS"
    return "SHOW REPLICA STATUS" if _numbers(version) >= (8, 0, 22) else "SHOW SLAVE STATUS"


def _promoted(connection: Connection, server: Mapping[str, str]) -> int:
    """When it began to take writes: up to where it applied another one's (MariaDB), or microseconds (MySQL 8.0 on).

    MySQL says when `read_only` was set last; before 8.0 nothing does.
    """
    if "gtid_slave_pos" in server:
        return int(server["gtid_slave_pos"].rpartition("-")[2] or 0)
    if _numbers(server["version"]) < (8, 0):
        return 0
    found = rows(
        connection,
        "SELECT CAST(1000000 * UNIX_TIMESTAMP(set_time) AS UNSIGNED) AS at FROM performance_schema.variables_info "
        "WHERE variable_name = 'read_only'",
    )
    return int(found[0]["at"] or 0) if found else 0


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.partition("-")[0].split("."))


ASK: Mapping[str, Callable[[Connection], Verdict]] = {
    "galera": ask_galera,
    "gr": ask_member,
    "single": ask_single,
}
"""How to ask, by topology."""


class Server(threading.Thread):
    """One server, asked all the time over a connection that is kept; says what it last heard."""

    def __init__(self, name: str, topology: str, settings: Mapping[str, str]) -> None:
        super().__init__(name=name, daemon=True)
        self.topology, self._ask = topology, ASK[topology]
        self._account = {"user": settings["user"], "password": settings["password"]}
        self._pause_s, self._patience_s = seconds(settings["pause"]), seconds(settings["patience"])
        self._fresh_s = self._pause_s + self._patience_s + MARGIN_S
        self._heard = (time.monotonic(), unknown("not asked yet"))
        self.asked = False
        """Whether it has answered once, or failed to."""

    @property
    def verdict(self) -> Verdict:
        """The last answer, if that is fresh."""
        when, verdict = self._heard
        age_s = time.monotonic() - when
        return verdict if age_s <= self._fresh_s else unknown(f"no answer for {age_s:.1f} s")

    def run(self) -> None:
        """Asks, connecting anew after anything that went wrong, until the process ends."""
        while True:
            try:
                self._listen()
            except (pymysql.Error, OSError) as problem:
                self._hear(unknown(f"no answer: {problem.args[-1] if problem.args else problem}"))
            time.sleep(self._pause_s)

    def _listen(self) -> None:
        with pymysql.connect(
            host=self.name,
            **self._account,
            connect_timeout=self._patience_s,
            read_timeout=self._patience_s,
            write_timeout=self._patience_s,
            autocommit=True,
            cursorclass=DictCursor,
        ) as connection:
            while True:
                self._hear(self._ask(connection))
                time.sleep(self._pause_s)

    def _hear(self, verdict: Verdict) -> None:
        if verdict != self._heard[1]:
            told = (verdict.not_writer or "yes", verdict.not_reader or "yes")
            logging.info("%s  writer: %s  reader: %s", self.name, *told)
        self._heard = (time.monotonic(), verdict)
        self.asked = True


class Group:
    """The servers that belong together, and which of them is the writer."""

    def __init__(self, servers: Mapping[str, Server]) -> None:
        self.servers = servers
        single = all(server.topology == "single" for server in servers.values())
        self._election = Election(first=next(iter(servers))) if single else None
        self._one_at_a_time = threading.Lock()

    @property
    def asked(self) -> bool:
        """Whether every server has answered once, or failed to."""
        return all(server.asked for server in self.servers.values())

    def judged(self) -> dict[str, Verdict]:
        """What is known of every server. In asynchronous replication it takes all to say which is the writer."""
        with self._one_at_a_time:
            verdicts = {name: server.verdict for name, server in self.servers.items()}
            if not self._election:
                return verdicts
            if not self.asked:
                return dict.fromkeys(verdicts, unknown("not every server was asked yet"))
            return self._election.judge(verdicts)


def answer(path: str, group: Group) -> tuple[int, str]:
    """Status and text of one question."""
    question, _, name = path.strip("/").partition("/")
    verdicts = group.judged()
    if question == "roles":
        return 200, roles(verdicts)
    if question == "ready":
        idle = {each: _why_idle(verdict) for each, verdict in verdicts.items()}
        reasons = "; ".join(f"{each}: {reason}" for each, reason in idle.items() if reason)
        return (503, reasons) if reasons else (200, "ready")
    if name not in verdicts or question not in ("writer", "reader", "aside"):
        known = "/ready, /roles, /follow, /writer/NAME, /reader/NAME or /aside/NAME"
        return 404, f"no such question; {known} with {', '.join(verdicts)}"
    verdict = verdicts[name]
    aside = "" if verdict.aside else "not aside"
    reason = {"writer": verdict.not_writer, "reader": verdict.not_reader, "aside": aside}[question]
    return (503, reason) if reason else (200, question)


def roles(verdicts: Mapping[str, Verdict]) -> str:
    """Every server's name and what it is for, such as ``mysql1=writer replica1=reader replica2=none``."""
    return " ".join(f"{name}={_role(verdict)}" for name, verdict in verdicts.items())


def _role(verdict: Verdict) -> str:
    """One that may be written to and read (a member of a multi-primary group) is ``both``."""
    if not verdict.not_writer:
        return "writer" if verdict.not_reader else "both"
    return "none" if verdict.not_reader else "reader"


def _why_idle(verdict: Verdict) -> str:
    """Why a server is neither written to nor read, and yet might be."""
    return verdict.not_reader if verdict.not_writer and verdict.not_reader and not verdict.aside else ""


class Handler(BaseHTTPRequestHandler):
    """Hands out what is known; never waits for a server."""

    group: Group
    timeout = CLIENT_PATIENCE_S

    def do_GET(self) -> None:
        """Status, reason as a header and as text, all at once: HAProxy closes when it has the status."""
        if self.path == "/follow":
            self._follow()
            return
        status, text = answer(self.path, self.group)
        line = " ".join(text.split())
        with suppress(ConnectionError):
            self.wfile.write(
                f"HTTP/1.0 {status} {HTTPStatus(status).phrase}\r\nX-Reason: {line}\r\n\r\n{line}\n".encode()
            )

    def _follow(self) -> None:
        """A line of roles at every change, and at least every beat, until the client leaves.

        None until every server was asked: a checker that has just started changes nothing.
        """
        told, told_at = "", time.monotonic()
        with suppress(OSError):
            self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
            while True:
                now = roles(self.group.judged()) if self.group.asked else ""
                if now and (now != told or time.monotonic() - told_at >= BEAT_S):
                    self.wfile.write(f"{now}\n".encode())
                    told, told_at = now, time.monotonic()
                time.sleep(LOOK_S)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the name is the library's)
        """Checks come many times a second: only changes are told, by the servers' threads."""


def main() -> None:
    """Serves until TERM."""
    logging.basicConfig(stream=sys.stdout, format="%(asctime)s %(message)s", level=logging.INFO)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    settings = json.loads(CONFIGURATION.read_text())
    servers = {name: Server(name, topology, settings) for name, topology in settings["servers"].items()}
    Handler.group = Group(servers)
    for server in servers.values():
        server.start()
    ThreadingHTTPServer(("", settings["port"]), Handler).serve_forever()


if __name__ == "__main__":
    main()
