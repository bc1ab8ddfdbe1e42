"""The failover prober's observers: what they ask each kind of server, and what is news."""

import json
from typing import Any

import pytest

from unit.measure.trial.prober_rig import NEWEST, FakeServer, FakeServers, observers

OFF = {"role": None, "state": None, "view": None}


def observer(server: FakeServer, topology: str, family: str) -> Any:
    target = {
        "node": server.name,
        "address": server.name,
        "port": 3306,
        "topology": topology,
        "family": family,
    }
    return observers.Observer(
        target, {"user": "root", "password": "", "database": "sbtest"}, {server.name: server.name}
    )


@pytest.mark.parametrize(
    ("topology", "family", "statement", "answer", "seen"),
    [
        (
            "gr",
            "mysql",
            "SELECT MAX",
            (("role", "state", "view", "members"), [("PRIMARY", "ONLINE", 3, "gr1 ONLINE")]),
            {"role": "PRIMARY", "state": "ONLINE", "view": 3},
        ),
        (
            "galera",
            "mariadb",
            "SHOW GLOBAL STATUS",
            (
                ("Variable_name", "Value"),
                [
                    ("wsrep_cluster_status", "Primary"),
                    ("wsrep_local_state_comment", "Synced"),
                    ("wsrep_cluster_size", "3"),
                ],
            ),
            {"state": "Synced", "view": 3},
        ),
        (
            "galera",
            "mysql",
            "SHOW GLOBAL STATUS",
            (
                ("Variable_name", "Value"),
                [
                    ("wsrep_cluster_status", "non-Primary"),
                    ("wsrep_local_state_comment", "Initialized"),
                    ("wsrep_cluster_size", "1"),
                ],
            ),
            {"state": "non-Primary", "view": 1},
        ),
        (
            "single",
            "mariadb",
            "SHOW ALL SLAVES STATUS",
            (
                (
                    "Slave_IO_State",
                    "Slave_IO_Running",
                    "Slave_SQL_Running",
                    "Slave_SQL_Running_State",
                ),
                [("", "Connecting", "Yes", "")],
            ),
            {"state": "Connecting/Yes"},
        ),
        (
            "single",
            "mysql",
            "SHOW REPLICA STATUS",
            (("Replica_IO_Running", "Replica_SQL_Running"), []),
            {},
        ),
    ],
)
def test_an_observer_asks_as_its_server_understands(
    servers: FakeServers,
    topology: str,
    family: str,
    statement: str,
    answer: Any,
    seen: dict[str, Any],
) -> None:
    (a,) = servers.add("a")
    a.answers = {statement: answer, "SELECT @@global.read_only": NEWEST}
    newest = {
        "read_only": 0,
        "gtid": "a:1-5,b:7",
        "last_op": 17,
        "last_at_us": 1700000000123456,
        "error": None,
    }
    assert observer(a, topology, family).ask() == {**OFF, **seen, **newest}
    assert ("gtid_executed" in a.statements[-1]) == (family == "mysql")
    assert a.sent("SET SESSION wsrep_dirty_reads") == (topology == "galera")
    assert a.sent("SET SESSION group_replication_consistency = EVENTUAL") == (topology == "gr")


def test_an_older_server_is_asked_in_its_own_words(servers: FakeServers) -> None:
    (a,) = servers.add("a")
    a.version = "5.7.44-log"
    a.answers = {
        "SHOW SLAVE STATUS": ((), []),
        "SELECT @@global.read_only": (NEWEST[0], [("ON", "", None, None)]),
    }
    answer = observer(a, "single", "mysql").ask()
    assert answer == {
        **OFF,
        "read_only": 1,
        "gtid": "",
        "last_op": None,
        "last_at_us": None,
        "error": None,
    }


def test_a_server_that_does_not_answer_is_an_error_and_is_asked_again(servers: FakeServers) -> None:
    (a,) = servers.add("a")
    a.answers = {"SHOW ALL SLAVES STATUS": ((), []), "SELECT @@global.read_only": NEWEST}
    watched = observer(a, "single", "mariadb")
    assert watched.ask()["error"] is None
    a.fails["SHOW"] = 1927
    assert (
        watched.ask() == {**observers.NOTHING, "error": "1927: error 1927"} and a.connections == 0
    )
    a.fails = {"connect": 2003}
    assert watched.ask() == {**observers.NOTHING, "error": "2003: error 2003"}
    a.fails.clear()
    assert watched.ask()["last_op"] == 17 and watched.ask()["error"] is None and a.opened == 2


def test_a_line_of_an_observer_is_due_at_news_and_after_a_second() -> None:
    answer = {**observers.NOTHING, "read_only": 0, "last_op": 7, "last_at_us": 5, "gtid": "a:1"}
    assert observers.is_news(None, 0, answer)
    assert not observers.is_news((0, answer), 999_999, {**answer, "gtid": "a:2", "last_at_us": 6})
    assert observers.is_news((0, answer), 1_000_000, answer)
    for changed in (
        {"read_only": 1},
        {"role": "PRIMARY"},
        {"error": "2003: gone"},
        {"last_op": 8},
        {"view": 2},
    ):
        assert observers.is_news((0, answer), 100_000, {**answer, **changed})


class Times:
    """A clock and an end: so many questions, one each 100 ms."""

    def __init__(self, questions: int) -> None:
        self.left, self.now_us = questions, 0

    def __call__(self) -> int:
        return self.now_us

    def wait(self, _: float) -> bool:
        self.left, self.now_us = self.left - 1, self.now_us + 100_000
        return self.left < 0


def test_what_names_a_state_is_a_line_where_it_changes(servers: FakeServers) -> None:
    (a,) = servers.add("a")
    columns = (
        "Source_Host",
        "Replica_IO_Running",
        "Replica_SQL_Running",
        "Last_SQL_Errno",
        "Seconds_Behind_Source",
    )
    a.answers = {
        "SHOW REPLICA STATUS": (columns, [("mysql1", "Yes", "Yes", 0, 9)]),
        "SELECT @@global.read_only": (("read_only",), [(1,)]),
    }
    lines: list[tuple[Any, ...]] = []
    watched = observers.Observer(
        {"node": "a", "address": "a", "port": 3306, "topology": "single", "family": "mysql"},
        {"user": "root", "password": "", "database": "sandbox"},
        {"a": "a"},
        ledger=False,
    )
    times = Times(3)
    watched.follow(0.1, lambda *fields: lines.append(fields), times, times)
    a.fails = {"SHOW": 1927}
    again = Times(2)
    watched.follow(0.1, lambda *fields: lines.append(fields), again, again)
    seen = [json.loads(line[3]) for line in lines if line[0] == "w"]
    channel = {
        "Source_Host": "mysql1",
        "Replica_IO_Running": "Yes",
        "Replica_SQL_Running": "Yes",
        "Last_SQL_Errno": "0",
        "Seconds_Behind_Source": "8",
    }
    assert seen == [{"channels": [channel], "read_only": 1}, {"error": "1927: error 1927"}]


def test_what_names_the_state_of_a_cluster_member(servers: FakeServers) -> None:
    rows = [{"Variable_name": "wsrep_local_state_comment", "Value": "Inconsistent"}]
    assert observers.facts("galera", rows) == {
        "status": {"wsrep_local_state_comment": "Inconsistent"}
    }
    member = {"role": "PRIMARY", "state": "ONLINE", "view": 1, "members": None}
    status = {"role": "PRIMARY", "state": "ONLINE", "members": "", "applier_error": ""}
    assert observers.facts("gr", [member]) == {"status": status}


def test_a_member_that_is_in_no_group_says_what_it_cannot_apply(servers: FakeServers) -> None:
    (a,) = servers.add("a")
    a.answers = {
        r"SELECT MAX\(IF": (("role", "state", "view", "members"), [("", "ERROR", 1, None)]),
        r"SELECT MAX\(CONCAT": (("applier_error",), [("error 1032: no row",)]),
        "SELECT @@global.read_only": NEWEST,
    }
    watched = observer(a, "gr", "mysql")
    assert watched.ask()["state"] == "ERROR"
    assert watched.facts["status"]["applier_error"] == "error 1032: no row"
