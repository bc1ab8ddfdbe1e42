"""Asynchronous replication by GTID, as MySQL and MariaDB word it: status, promotion, another
source.
"""

import re
from dataclasses import dataclass

from sandbox.core.errors import MachineError
from sandbox.failure.action import Operation, TooLateError, not_answered
from sandbox.failure.gtid import beyond
from sandbox.profile.versions import at_least
from sandbox.stack.protocol import StackNode

ANSWER_S = 10.0
_LOCK_S = 4
"""Read-only waits for two locks, of statements and of commits: the server must give up before its
client does.
"""
LOAD_CLONE_PLUGIN = (
    "SET @load = IF((SELECT COUNT(*) FROM information_schema.plugins WHERE plugin_name = 'clone')"
    " = 0,"
    """ "INSTALL PLUGIN clone SONAME 'mysql_clone.so'", 'DO 0'); PREPARE load_it FROM @load; EXECUTE load_it"""  # noqa: E501
)
"""So that a server can be copied from, or take a copy (MySQL from 8.0.17 on)."""
_FIELD = re.compile(r"\s*(\w+): ?(.*)")


@dataclass(frozen=True, slots=True)
class ReplicationStatus:
    """``source``: the host that it follows, or empty; ``received``: what its receiver has;
    ``error``: the last one.

    ``has_failed``: it ended its receiver or its applier, and does not try again.
    """

    source: str
    received: str
    error: str
    is_receiving: bool
    has_failed: bool


class Replica:
    """One server of a group, asked and changed by its own client as root."""

    def __init__(self, operation: Operation, node: StackNode) -> None:
        self.node = node
        self.name = node.name
        self._operation = operation
        self._mariadb = node.family == "mariadb"
        self._version: str | None = None

    def run(self, statements: str, timeout_s: float = ANSWER_S) -> dict[str, str]:
        """Runs statements; the last value of each column of all results. Raises MachineError where
        one fails.
        """
        program = "mariadb" if self._mariadb else "mysql"
        argv = [program, "--defaults-file=/sandbox/client.cnf", "--vertical"]
        try:
            answer = self._operation.stack.run(
                self.name, argv, stdin=statements, timeout_s=timeout_s
            )
        except TimeoutError as late:
            raise not_answered(self.name, timeout_s) from late
        if answer.code:
            raise MachineError(
                f"{self.name} refuses a statement", answer.last_error, "try: make ps"
            )
        return _columns(answer.stdout)

    def status(self) -> ReplicationStatus:
        """The state of its replication, and its source."""
        shown = self.run("SHOW ALL SLAVES STATUS" if self._mariadb else f"SHOW {self._word} STATUS")
        threads = [
            shown.get(f"Replica_{name}_Running") or shown.get(f"Slave_{name}_Running")
            for name in ("IO", "SQL")
        ]
        error = shown.get("Last_IO_Error") or shown.get("Last_SQL_Error", "")
        return ReplicationStatus(
            source=shown.get("Source_Host") or shown.get("Master_Host", ""),
            received=shown.get("Gtid_IO_Pos" if self._mariadb else "Retrieved_Gtid_Set", ""),
            error=error,
            is_receiving=threads[0] == "Yes",
            has_failed=bool(error) and "No" in threads,
        )

    def held(self) -> str:
        """All transactions that it has applied or written itself, as a GTID set or position."""
        variable = "@@gtid_current_pos" if self._mariadb else "@@gtid_executed"
        return self.run(f"SELECT {variable} AS held").get("held", "")

    def stop_receiving(self) -> None:
        """From here on it gets nothing new; what it has received is still applied."""
        self.run("STOP SLAVE IO_THREAD" if self._mariadb else f"STOP {self._word} IO_THREAD")

    def start_receiving(self) -> None:
        """Starts its receiver again; harmless where it does."""
        self.run("START SLAVE IO_THREAD" if self._mariadb else f"START {self._word} IO_THREAD")

    def start(self) -> None:
        """Receives and applies again, where somebody has stopped it; harmless where it does."""
        self.run("START SLAVE" if self._mariadb else f"START {self._word}")

    def apply_received(self, limit_s: float) -> None:
        """Until it has applied all that it has received. Raises TooLateError past the limit."""
        self.catch_up_with(self.status().received, limit_s)

    def catch_up_with(self, held: str, limit_s: float) -> None:
        """Until it has applied these transactions. Raises TooLateError past the limit."""
        if not held:
            return
        if self._mariadb or self._is_modern("5.7.5"):
            wait = "MASTER_GTID_WAIT" if self._mariadb else "WAIT_FOR_EXECUTED_GTID_SET"
            asked = self.run(
                f"SELECT {wait}('{held}', {limit_s:g}) AS waited", timeout_s=limit_s + ANSWER_S
            )
            applied = asked.get("waited") == "0"
        else:
            applied = self._operation.wait_for(lambda: not self.lacks(held), limit_s)
        if not applied:
            raise TooLateError(
                f"{self.name} has not applied all that it should", f"within {limit_s:g} s"
            )

    def become_writer(self) -> None:
        """Forgets its source and takes writes; semi-synchronous replication, where it is in use,
        follows.
        """
        self.forget_source()
        self._set_semisync(source=True)
        self.become_writable()

    def forget_source(self) -> None:
        """Replicates from nobody."""
        word = "SLAVE" if self._mariadb else self._word
        self.run(f"STOP {word}; RESET {word} ALL")

    def become_writable(self) -> None:
        """Takes writes."""
        self.run(self._read_only("OFF"))

    def takes_writes(self) -> bool:
        """Whether it is not read-only."""
        return self.run("SELECT @@GLOBAL.read_only AS read_only").get("read_only") in ("0", "OFF")

    def become_read_only(self) -> None:
        """Takes no more writes, not even of root. Raises MachineError where running transactions
        keep it from that.
        """
        self.run(f"SET SESSION lock_wait_timeout={_LOCK_S}; {self._read_only('ON')}")

    def follow(self, source: StackNode, password: str, position: str = "") -> None:
        """Replicates from another server of its group, from what it holds on, and retries
        indefinitely.

        ``position``: what a server of MariaDB holds, where neither its binary log nor its
        replication has it.
        """
        self._set_semisync(source=False)
        if self._mariadb:
            held = self._gtid_to_start_at(position)
            start_at = f"SET GLOBAL gtid_slave_pos = {held}; " if held else ""
            self.run(
                f"STOP SLAVE; {start_at}CHANGE MASTER TO MASTER_HOST='{source.host}',"
                f" MASTER_PORT={source.port}, MASTER_USER='replication',"
                f" MASTER_PASSWORD='{password}', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1,"
                " MASTER_SSL=0, MASTER_SSL_VERIFY_SERVER_CERT=0; START SLAVE"
            )
            return
        change, prefix = self._change
        key = f", GET_{prefix}_PUBLIC_KEY=1" if self._is_modern("8.0") else ""
        self.run(
            f"STOP {self._word}; {change} {prefix}_HOST='{source.host}',"
            f" {prefix}_PORT={source.port}, {prefix}_USER='replication',"
            f" {prefix}_PASSWORD='{password}', {prefix}_AUTO_POSITION=1{key},"
            f" {prefix}_CONNECT_RETRY=1, {prefix}_RETRY_COUNT=0; START {self._word}"
        )

    def lacks(self, held: str) -> str:
        """The transactions that it does not have of another server's GTID set or position; empty
        where it has all.
        """
        return beyond(held, self.held())

    def _read_only(self, state: str) -> str:
        both = (
            ""
            if self._mariadb or not self._is_modern("5.7.8")
            else f"SET GLOBAL super_read_only={state}; "
        )
        return f"{both}SET GLOBAL read_only={state}"

    def _gtid_to_start_at(self, position: str) -> str:
        """A value for gtid_slave_pos of MariaDB; empty where its own is right."""
        if position:
            return f"'{position}'"
        # One that was a source has no replication position: what it holds is in its binary log
        # alone.
        return "" if self.status().source else "@@gtid_binlog_pos"

    def _set_semisync(self, source: bool) -> None:
        """The source waits for its replicas, a replica for nobody; nothing changes where neither
        waits now.
        """
        # Of MySQL before 5.7.6 and of MariaDB, performance_schema has no such table.
        old = self._mariadb or not self._is_modern("5.7.6")
        shown = self.run(
            "SELECT MAX(IF(variable_name REGEXP 'master|source', variable_name, '')) AS waits,"  # noqa: S608  (our schema)
            " COALESCE(SUM(variable_value = 'ON'), 0) AS used"
            f" FROM {'information_schema' if old else 'performance_schema'}.global_variables"
            " WHERE variable_name REGEXP '^rpl_semi_sync_(master|slave|source|replica)_enabled$'"
        )
        if shown.get("waits") and shown.get("used", "0") != "0":
            self.run(f"SET GLOBAL {shown['waits']}={'ON' if source else 'OFF'}")

    @property
    def _word(self) -> str:
        return "REPLICA" if self._is_modern("8.0.22") else "SLAVE"

    @property
    def _change(self) -> tuple[str, str]:
        modern = self._is_modern("8.0.23")
        return (
            ("CHANGE REPLICATION SOURCE TO", "SOURCE") if modern else ("CHANGE MASTER TO", "MASTER")
        )

    @property
    def version(self) -> str:
        """Its server's, such as ``8.4.3``."""
        if self._version is None:
            self._version = (
                self.run("SELECT @@version AS version").get("version", "").partition("-")[0]
            )
        return self._version

    @property
    def has_gtids(self) -> bool:
        """Whether it numbers its transactions, so that it can be given another source."""
        return self._mariadb or self._is_modern("5.6")

    def _is_modern(self, since: str) -> bool:
        return at_least(self.version, since)


def replication_password(operation: Operation) -> str:
    """The password of the replication account; it goes into statements on standard input only."""
    answer = operation.stack.run(operation.client, ["sed", "-n", "2p", "/sandbox/passwords"])
    if answer.code or not answer.stdout.strip():
        what = "the password of the replication account cannot be read"
        raise MachineError(
            what, answer.last_error or "it is line 2 of /sandbox/passwords", "try: make ps"
        )
    return answer.stdout.strip()


def _columns(shown: str) -> dict[str, str]:
    """Column → value of vertical output. A GTID set of several sources has a line for each: they
    belong together.
    """
    found: dict[str, str] = {}
    last = None
    for line in shown.splitlines():
        if field := _FIELD.fullmatch(line):
            last = field[1]
            found[last] = field[2].strip()
        elif last and not line.startswith("*"):
            found[last] += line.strip()
    return found
