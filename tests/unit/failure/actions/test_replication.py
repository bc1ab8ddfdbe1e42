"""The statements of asynchronous replication, as each server words them."""

import pytest

from sandbox.core.errors import ExitCode, MachineError
from sandbox.failure import action
from sandbox.failure.action import ActionRefusedError
from sandbox.failure.actions.common.replication import Replica, replication_password
from unit.failure.actions.scripted import Clock, ScriptedGroup, group, operation

A, B = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"


def replica(stack: ScriptedGroup, name: str = "replica1") -> Replica:
    return Replica(operation(stack), next(node for node in stack.members if node.name == name))


@pytest.mark.parametrize(
    ("family", "version", "statements"),
    [
        ("mysql", "8.4.3", "STOP REPLICA; RESET REPLICA ALL"),
        ("mysql", "8.0.20", "STOP SLAVE; RESET SLAVE ALL"),
        ("mysql", "8.0.22", "STOP REPLICA; RESET REPLICA ALL"),
        ("mariadb", "11.8.2-MariaDB", "STOP SLAVE; RESET SLAVE ALL"),
    ],
)
def test_a_replica_becomes_the_writer(family: str, version: str, statements: str) -> None:
    stack = group(family, version)
    replica(stack).become_writer()
    writable = "SET GLOBAL read_only=OFF"
    both = writable if family == "mariadb" else f"SET GLOBAL super_read_only=OFF; {writable}"
    assert stack.given == [("replica1", statements), ("replica1", both)]
    program = "mariadb" if family == "mariadb" else "mysql"
    assert stack.programs == {(program, "--defaults-file=/sandbox/client.cnf", "--vertical")}


def test_an_old_server_has_one_kind_of_read_only() -> None:
    stack = group(version="5.6.51")
    replica(stack).become_read_only()
    assert stack.given == [("replica1", "SET SESSION lock_wait_timeout=4; SET GLOBAL read_only=ON")]


@pytest.mark.parametrize(("family", "version"), [("mysql", "8.4.3"), ("mariadb", "11.8.2-MariaDB")])
def test_a_server_gives_up_on_its_two_locks_before_its_client_does(
    family: str, version: str
) -> None:
    stack = group(family, version)
    replica(stack).become_read_only()
    ((_, text),) = stack.given
    first, _, rest = text.partition("; ")
    assert first.startswith("SET SESSION lock_wait_timeout=") and rest.endswith(
        "SET GLOBAL read_only=ON"
    )
    assert 2 * int(first.partition("=")[2]) < min(stack.waits)


@pytest.mark.parametrize(
    ("version", "statement"),
    [
        (
            "8.4.3",
            (
                "STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_HOST='mysql1', SOURCE_PORT=3306,"
                " SOURCE_USER='replication', SOURCE_PASSWORD='pw', SOURCE_AUTO_POSITION=1,"
                " GET_SOURCE_PUBLIC_KEY=1, SOURCE_CONNECT_RETRY=1, SOURCE_RETRY_COUNT=0; START"
                " REPLICA"
            ),
        ),
        (
            "8.0.20",
            (
                "STOP SLAVE; CHANGE MASTER TO MASTER_HOST='mysql1', MASTER_PORT=3306,"
                " MASTER_USER='replication', MASTER_PASSWORD='pw', MASTER_AUTO_POSITION=1,"
                " GET_MASTER_PUBLIC_KEY=1, MASTER_CONNECT_RETRY=1, MASTER_RETRY_COUNT=0; START"
                " SLAVE"
            ),
        ),
        (
            "5.7.44",
            (
                "STOP SLAVE; CHANGE MASTER TO MASTER_HOST='mysql1', MASTER_PORT=3306,"
                " MASTER_USER='replication', MASTER_PASSWORD='pw', MASTER_AUTO_POSITION=1,"
                " MASTER_CONNECT_RETRY=1, MASTER_RETRY_COUNT=0; START SLAVE"
            ),
        ),
    ],
)
def test_mysql_follows_another_source(version: str, statement: str) -> None:
    stack = group(version=version)
    replica(stack).follow(stack.members[0], "pw")
    assert stack.given == [("replica1", statement)]


@pytest.mark.parametrize(
    ("source", "start_at"),
    [("mariadb1", ""), (None, "SET GLOBAL gtid_slave_pos = @@gtid_binlog_pos; ")],
)
def test_mariadb_follows_another_source_from_what_it_holds(
    source: str | None, start_at: str
) -> None:
    stack = group("mariadb", "11.8.2-MariaDB")
    if source:
        stack.says["replica1", "SHOW ALL SLAVES STATUS"] = {"Master_Host": source}
    replica(stack).follow(stack.members[0], "pw")
    assert stack.given == [
        (
            "replica1",
            (
                f"STOP SLAVE; {start_at}CHANGE MASTER TO MASTER_HOST='mariadb1', MASTER_PORT=3306,"
                " MASTER_USER='replication', MASTER_PASSWORD='pw', MASTER_USE_GTID=slave_pos,"
                " MASTER_CONNECT_RETRY=1, MASTER_SSL=0, MASTER_SSL_VERIFY_SERVER_CERT=0; START"
                " SLAVE"
            ),
        )
    ]


@pytest.mark.parametrize(
    ("family", "version", "schema"),
    [
        ("mysql", "8.4.3", "performance_schema"),
        ("mysql", "5.6.51", "information_schema"),
        ("mariadb", "11.8.2-MariaDB", "information_schema"),
    ],
)
def test_semi_synchronous_replication_follows_where_it_is_in_use(
    family: str, version: str, schema: str
) -> None:
    stack = group(family, version)
    asked: list[str] = []
    say = stack._said

    def said(node: str, text: str) -> object:
        asked.append(text)
        return say(node, text)

    stack._said = said  # type: ignore[method-assign, assignment]
    stack.says["replica1", "SELECT MAX(IF(variable_name"] = {
        "waits": "rpl_semi_sync_source_enabled",
        "used": "1",
    }
    replica(stack).become_writer()
    assert ("replica1", "SET GLOBAL rpl_semi_sync_source_enabled=ON") in stack.given
    assert any(f"FROM {schema}.global_variables" in text for text in asked)


@pytest.mark.parametrize(
    "shown",
    [{"waits": "rpl_semi_sync_source_enabled", "used": "0"}, {"waits": "NULL", "used": "0"}],
)
def test_semi_synchronous_replication_that_nobody_uses_stays_off(shown: dict[str, str]) -> None:
    stack = group()
    stack.says["replica1", "SELECT MAX(IF(variable_name"] = shown
    replica(stack).become_writer()
    assert not [text for _, text in stack.given if "semi_sync" in text]


@pytest.mark.parametrize(
    ("version", "question", "shown"),
    [
        ("8.4.3", "SHOW REPLICA STATUS", ("Source_Host", "Replica_IO_Running")),
        ("8.0.20", "SHOW SLAVE STATUS", ("Master_Host", "Slave_IO_Running")),
    ],
)
def test_the_status_of_mysql(version: str, question: str, shown: tuple[str, str]) -> None:
    stack = group(version=version)
    host, running = shown
    stack.says["replica1", question] = {
        host: "mysql1",
        "Retrieved_Gtid_Set": f"{A}:1-9,\n{B}:1",
        running: "Yes",
        "Last_IO_Error": "",
        "Last_SQL_Error": "error: Duplicate entry",
    }
    status = replica(stack).status()
    assert (status.source, status.received, status.is_receiving) == (
        "mysql1",
        f"{A}:1-9,{B}:1",
        True,
    )
    assert status.error == "error: Duplicate entry" and not status.has_failed


def test_the_status_of_mariadb() -> None:
    stack = group("mariadb", "11.8.2-MariaDB")
    stack.says["replica1", "SHOW ALL SLAVES STATUS"] = {
        "Master_Host": "mariadb1", "Gtid_IO_Pos": "0-1-50", "Slave_IO_Running": "Connecting",
        "Last_IO_Error": "refused", "Last_SQL_Error": "",
    }  # fmt: skip
    status = replica(stack).status()
    assert (status.source, status.received, status.is_receiving) == ("mariadb1", "0-1-50", False)
    assert status.error == "refused" and not status.has_failed, "it tries again by itself"


def test_a_server_that_follows_nobody_has_an_empty_status() -> None:
    status = replica(group(), "mysql1").status()
    assert (status.source, status.received, status.error, status.is_receiving) == (
        "",
        "",
        "",
        False,
    )


@pytest.mark.parametrize(
    ("family", "version", "wait"),
    [
        ("mysql", "8.4.3", "WAIT_FOR_EXECUTED_GTID_SET('x', 30)"),
        ("mariadb", "11.8.2-MariaDB", "MASTER_GTID_WAIT('x', 30)"),
    ],
)
def test_it_waits_until_all_is_applied(family: str, version: str, wait: str) -> None:
    stack = group(family, version)
    stack.says["replica1", f"SELECT {wait} AS waited"] = {"waited": "0"}
    replica(stack).catch_up_with("x", 30)
    assert max(stack.waits) > 30, "the client waits longer than the server"
    stack.says["replica1", f"SELECT {wait} AS waited"] = {
        "waited": "1" if family == "mysql" else "-1"
    }
    with pytest.raises(ActionRefusedError) as refused:
        replica(stack).catch_up_with("x", 30)
    assert refused.value.what == "replica1 has not applied all that it should"


def test_an_old_server_is_asked_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(action, "time", clock)
    stack = group(version="5.6.51")
    stack.says["replica1", "SELECT @@gtid_executed"] = {"held": f"{A}:1-8"}
    with pytest.raises(ActionRefusedError):
        replica(stack).catch_up_with(f"{A}:1-9", 3)
    assert clock.now > 103
    stack.says["replica1", "SELECT @@gtid_executed"] = {"held": f"{A}:1-9"}
    replica(stack).catch_up_with(f"{A}:1-9", 3)


def test_nothing_received_is_applied_at_once() -> None:
    stack = group()
    replica(stack).apply_received(30)
    assert not any("WAIT" in text for _, text in stack.given)


def test_what_it_lacks_of_another_server() -> None:
    stack = group()
    stack.says["replica1", "SELECT @@gtid_executed"] = {"held": f"{A}:1-8,\n{B}:1"}
    assert replica(stack).lacks(f"{A}:1-10,{B}:1") == f"{A}:9-10"
    maria = group("mariadb", "11.8.2-MariaDB")
    maria.says["replica1", "SELECT @@gtid_current_pos"] = {"held": "0-1-50"}
    assert replica(maria).lacks("0-1-51") == "0-1-51" and replica(maria).lacks("0-1-50") == ""


def test_a_server_that_refuses_or_hangs_is_an_error_of_the_environment() -> None:
    stack = group()
    stack.says["replica1", "SET SESSION"] = "ERROR 1227 (42000): Access denied"
    with pytest.raises(MachineError) as refused:
        replica(stack).become_read_only()
    assert refused.value.lines()[:2] == [
        "replica1 refuses a statement",
        "ERROR 1227 (42000): Access denied",
    ]
    stack.says["replica1", "SET SESSION"] = TimeoutError("docker exec did not end")
    with pytest.raises(MachineError) as late:
        replica(stack).become_read_only()
    assert (
        late.value.what == "replica1 does not answer"
        and late.value.exit_code is ExitCode.ENVIRONMENT
    )


def test_the_password_is_read_in_the_client() -> None:
    stack = group()
    assert replication_password(operation(stack)) == "pw"
    stack.password = ""
    with pytest.raises(MachineError, match="cannot be read"):
        replication_password(operation(stack))
