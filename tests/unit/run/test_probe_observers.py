"""The failover probe's observers: what they ask each kind of server, and what is news."""

from typing import Any

import pytest

from unit.run.probe_rig import NEWEST, FakeServer, FakeServers, observers

OFF = {"role": None, "state": None, "view": None}


def observer(server: FakeServer, topology: str, family: str) -> Any:
    target = {"node": server.name, "address": server.name, "port": 3306, "topology": topology, "family": family}
    return observers.Observer(
        target, {"user": "root", "password": "", "database": "sbtest"}, {server.name: server.name}
    )


@pytest.mark.parametrize(
    ("topology", "family", "statement", "answer", "seen"),
    [
        ("gr", "mysql", "SELECT MAX", (("role", "state", "view"), [("PRIMARY", "ONLINE", 3)]),
         {"role": "PRIMARY", "state": "ONLINE", "view": 3}),
        ("galera", "mariadb", "SHOW GLOBAL STATUS", (("Variable_name", "Value"), [
            ("wsrep_cluster_status", "Primary"), ("wsrep_local_state_comment", "Synced"), ("wsrep_cluster_size", "3")]),
         {"state": "Synced", "view": 3}),
        ("galera", "mysql", "SHOW GLOBAL STATUS", (("Variable_name", "Value"), [
            ("wsrep_cluster_status", "non-Primary"), ("wsrep_local_state_comment", "Initialized"),
            ("wsrep_cluster_size", "1")]),
         {"state": "non-Primary", "view": 1}),
        ("single", "mariadb", "SHOW ALL SLAVES STATUS", (
            ("Slave_IO_State", "Slave_IO_Running", "Slave_SQL_Running", "Slave_SQL_Running_State"),
            [("", "Connecting", "Yes", "")]), {"state": "Connecting/Yes"}),
        ("single", "mysql", "SHOW REPLICA STATUS", (("Replica_IO_Running", "Replica_SQL_Running"), []), {}),
    ],
)  # fmt: skip
def test_an_observer_asks_as_its_server_understands(
    servers: FakeServers, topology: str, family: str, statement: str, answer: Any, seen: dict[str, Any]
) -> None:
    (a,) = servers.add("a")
    a.answers = {statement: answer, "SELECT @@global.read_only": NEWEST}
    newest = {"read_only": 0, "gtid": "a:1-5,b:7", "last_op": 17, "last_at_us": 1700000000123456, "error": None}
    assert observer(a, topology, family).ask() == {**OFF, **seen, **newest}
    assert ("gtid_executed" in a.statements[-1]) == (family == "mysql")
    assert a.sent("SET SESSION wsrep_dirty_reads") == (topology == "galera")
    assert a.sent("SET SESSION group_replication_consistency = EVENTUAL") == (topology == "gr")


def test_an_older_server_is_asked_in_its_own_words(servers: FakeServers) -> None:
    (a,) = servers.add("a")
    a.version = "5.7.44-log"
    a.answers = {"SHOW SLAVE STATUS": ((), []), "SELECT @@global.read_only": (NEWEST[0], [("ON", "", None, None)])}
    answer = observer(a, "single", "mysql").ask()
    assert answer == {**OFF, "read_only": 1, "gtid": "", "last_op": None, "last_at_us": None, "error": None}


def test_a_server_that_does_not_answer_is_an_error_and_is_asked_again(servers: FakeServers) -> None:
    (a,) = servers.add("a")
    a.answers = {"SHOW ALL SLAVES STATUS": ((), []), "SELECT @@global.read_only": NEWEST}
    watched = observer(a, "single", "mariadb")
    assert watched.ask()["error"] is None
    a.fails["SHOW"] = 1927
    assert watched.ask() == {**observers.NOTHING, "error": "1927: error 1927"} and a.connections == 0
    a.fails = {"connect": 2003}
    assert watched.ask() == {**observers.NOTHING, "error": "2003: error 2003"}
    a.fails.clear()
    assert watched.ask()["last_op"] == 17 and watched.ask()["error"] is None and a.opened == 2


def test_a_line_of_an_observer_is_due_at_news_and_after_a_second() -> None:
    answer = {**observers.NOTHING, "read_only": 0, "last_op": 7, "last_at_us": 5, "gtid": "a:1"}
    assert observers.is_news(None, 0, answer)
    assert not observers.is_news((0, answer), 999_999, {**answer, "gtid": "a:2", "last_at_us": 6})
    assert observers.is_news((0, answer), 1_000_000, answer)
    for changed in ({"read_only": 1}, {"role": "PRIMARY"}, {"error": "2003: gone"}, {"last_op": 8}, {"view": 2}):
        assert observers.is_news((0, answer), 100_000, {**answer, **changed})
