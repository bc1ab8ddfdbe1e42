"""What does not come back by itself is restarted, rejoined, or given a copy of the writer's
data.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sandbox.failure.actions import repair as repair_module
from sandbox.failure.actions.repair import Repair, repair_servers
from sandbox.stack.protocol import ExecResult
from sandbox.stack.server_status import ServerStatus
from unit.failure.actions.scripted import Clock, ScriptedGroup, following, group, operation, refused
from unit.fake_stack import server

WELL = ServerStatus("synced")
EVICTED = ServerStatus("evicted", "Inconsistent by consensus", repair="restart")
STOPPED = ServerStatus("stopped", "applier, error 1032: no row", repair="rebuild")
FAILED = ServerStatus("OFFLINE", "error 1032: no row", repair="rebuild")


@pytest.fixture(autouse=True)
def _clock(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repair_module, "time", clock)


class Broken(ScriptedGroup):
    """A group whose one server is in a state, and in others later, each time when somebody
    looks.
    """

    node: str
    course: Iterator[ServerStatus]

    def server_states(self) -> Mapping[str, ServerStatus]:
        return {self.node: next(self.course, WELL)}


def broken(stack: ScriptedGroup, node: str, *course: ServerStatus) -> Broken:
    made = Broken([each for each in stack.members if each.is_server], stack.role_of, stack.version)
    made.says, made.node, made.course = stack.says, node, iter(course)
    return made


def cluster(topology: str, *course: ServerStatus) -> Broken:
    """Three members, of which the third is broken."""
    family = "mariadb" if topology == "galera" else "mysql"
    members = [server(f"{topology}{n}", family=family, topology=topology) for n in (1, 2, 3)]
    roles = {f"{topology}1": "writer", f"{topology}2": "reader"}
    return broken(ScriptedGroup(members, roles), f"{topology}3", *course)


def test_where_nothing_is_broken_nothing_is_done() -> None:
    stack = broken(group(), "replica1", WELL)
    assert (
        Repair().perform(operation(stack)) == "every server comes back by itself"
        and not stack.heard
    )


def test_a_member_that_was_evicted_joins_when_it_starts() -> None:
    stack = cluster("galera", EVICTED, ServerStatus("joiner", repair="wait"))
    assert Repair().perform(operation(stack)) == "galera3 was evicted: restarted"
    assert stack.heard == ["stop galera3 60", "start galera3"]


def test_one_that_is_evicted_again_gets_all_data_anew() -> None:
    stack = cluster("galera", EVICTED, EVICTED, EVICTED)
    assert (
        Repair().perform(operation(stack))
        == "galera3 was evicted: given a full state transfer (SST)"
    )
    assert stack.heard == [
        "stop galera3 60",
        "start galera3",
        "stop galera3 60",
        "empty galera3",
        "start galera3",
    ]


def test_a_member_whose_data_differs_gets_a_clone_under_a_lock() -> None:
    stack = cluster("gr", FAILED)
    refusals = iter(
        ["ERROR 3663 (HY000) at line 1: STOP is executing", "ERROR 2013 (HY000): Lost connection"]
    )
    stack.says["gr3", "STOP GROUP_REPLICATION; SET"] = lambda: next(refusals)  # type: ignore[arg-type]
    stack.says["gr3", "SHOW GLOBAL STATUS LIKE 'Uptime'"] = {"Value": "0"}
    assert Repair().perform(operation(stack)) == "gr3 was OFFLINE: its data is a clone of gr1's"
    assert [node for node, text in stack.given if "INSTALL PLUGIN clone" in text] == [
        "gr1",
        "gr3",
        "gr3",
    ]
    assert "start gr3" in stack.heard and "empty gr3" not in stack.heard
    (session,) = stack.streams
    assert session.sent == ["SELECT GET_LOCK('forming', 60);"] and session.closed.is_set()


def test_a_replica_whose_data_differs_gets_a_clone_and_follows() -> None:
    stack = broken(following(group()), "replica1", STOPPED)
    stack.says["replica1", "SET GLOBAL super_read_only"] = (
        "ERROR 3707 (HY000) at line 1: Restart server failed"
    )
    stack.says["replica1", "SHOW GLOBAL STATUS LIKE 'Uptime'"] = {"Value": "0"}
    assert (
        Repair().perform(operation(stack))
        == "replica1 was stopped: its data is a clone of mysql1's"
    )
    clone, follow = [text for node, text in stack.given if node == "replica1"][:2]
    assert "CLONE INSTANCE FROM 'root'@'mysql1':3306 IDENTIFIED BY 'pw'" in clone
    assert "SOURCE_HOST='mysql1'" in follow


def test_a_server_without_the_clone_plugin_is_refused() -> None:
    stack = broken(following(group(version="5.7.44")), "replica1", STOPPED)
    problem = refused(Repair(), operation(stack))
    assert problem.what == "replica1 is stopped: applier, error 1032: no row"
    assert problem.known == "MySQL has its clone plugin from 8.0.17 on, and this is 5.7.44"


@pytest.mark.parametrize(("node", "writer"), [("replica1", "mariadb1"), ("mariadb1", "replica1")])
def test_a_server_of_mariadb_gets_a_copy_and_follows_from_its_position(
    node: str, writer: str
) -> None:
    stack = broken(following(group("mariadb", "11.8.9"), "mariadb1"), node, STOPPED)
    stack.role_of = {"mariadb1": None, "replica1": None, "replica2": "reader", writer: "writer"}
    stack.shell = ExecResult(0, "0-3-3796\n", "")
    assert (
        Repair().perform(operation(stack))
        == f"{node} was stopped: its data is a copy of {writer}'s"
    )
    assert [text.split()[:2] for text in stack.heard] == [["run", node]]
    (follow,) = [text for name, text in stack.given if name == node]
    assert follow.startswith(
        "STOP SLAVE; SET GLOBAL gtid_slave_pos = '0-3-3796'; CHANGE MASTER TO"
        f" MASTER_HOST='{writer}'"
    )


def test_a_copy_that_fails_says_why() -> None:
    stack = broken(following(group("mariadb", "11.8.9"), "mariadb1"), "replica1", STOPPED)
    stack.shell = ExecResult(1, "", "the dump has no GTID position\n")
    assert refused(Repair(), operation(stack)).lines()[:2] == [
        "replica1 has no copy of mariadb1's data", "the dump has no GTID position",
    ]  # fmt: skip


def test_a_replica_that_somebody_stopped_is_started() -> None:
    stack = broken(
        following(group()),
        "replica1",
        ServerStatus("stopped", "its applier was stopped", repair="rejoin"),
    )
    assert Repair().perform(operation(stack)) == "replica1 was stopped: it follows mysql1"
    assert stack.given == [("replica1", "START REPLICA")]


def test_without_a_writer_it_is_refused() -> None:
    stack = broken(
        following(group()), "replica1", ServerStatus("detached", "follows nobody", repair="rejoin")
    )
    stack.role_of = {}
    assert refused(Repair(), operation(stack)).known == "no server of its group takes writes"


def test_what_is_not_back_is_a_result() -> None:
    lost: Any = [EVICTED] * 50
    stack = cluster("galera", *lost)
    assert refused(Repair(), operation(stack)).lines()[:2] == [
        "galera3 is not back", "evicted: Inconsistent by consensus",
    ]  # fmt: skip


def test_every_group_of_a_stack_is_repaired_and_says_what_begins() -> None:
    said: list[str] = []
    stack = cluster("galera", EVICTED, WELL)
    assert repair_servers(stack, said.append) == ["galera3 was evicted: restarted"]
    assert said == ["galera3 is evicted: Inconsistent by consensus: restarting it"]
