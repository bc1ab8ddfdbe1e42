"""Every server gets another version in turn, the writer last; with asynchronous replication the
writer moves first.
"""

import pytest

from sandbox.core.errors import MachineError, SandboxError
from sandbox.failure.action import action_named
from sandbox.failure.actions.rolling_upgrade import RollingUpgrade
from sandbox.stack.protocol import ExecResult
from unit.failure.actions.scripted import Clock, ScriptedGroup, following, group, operation, refused
from unit.fake_stack import server


def cluster(topology: str, family: str, version: str) -> ScriptedGroup:
    members = [
        server(f"{topology}{n}", component=topology, topology=topology, family=family)
        for n in (1, 2, 3)
    ]
    return ScriptedGroup(members, {node.name: "writer" for node in members}, version)


def upgraded(stack: ScriptedGroup) -> list[str]:
    return [each for each in stack.heard if each.startswith("upgrade")]


def test_mariadb_upgrades_the_system_tables_of_each_once_it_is_ready(clock: Clock) -> None:
    stack = cluster("galera", "mariadb", "10.5.23-MariaDB")
    stack.unready = [set(), {"galera2"}, set()]
    given = operation(stack, ["galera1"])
    said = RollingUpgrade(to="10.11").perform(given)
    assert said == "upgraded to 10.11 in turn: galera2, galera3, galera1", (
        "who takes the writes comes last"
    )
    assert upgraded(stack) == [
        "upgrade galera2 10.11",
        "upgrade galera3 10.11",
        "upgrade galera1 10.11",
    ]
    assert [each.split()[:2] for each in stack.heard[:2]] == [
        ["upgrade", "galera2"],
        ["run", "galera2"],
    ]
    assert "mariadb-upgrade" in stack.heard[1]
    assert given.joined_s == [(pytest.approx(0.2), False), (0, False), (0, False)]


def test_mysql_upgrades_its_system_tables_itself() -> None:
    stack = cluster("gr", "mysql", "8.0.46")
    stack.role_of = {"gr1": "writer", "gr2": "reader", "gr3": "reader"}
    RollingUpgrade(to="8.4").perform(operation(stack, ["gr1"]))
    assert (
        stack.heard == ["upgrade gr2 8.4", "upgrade gr3 8.4", "upgrade gr1 8.4"] and not stack.given
    )


def test_an_upgraded_replica_takes_the_place_of_the_writer_before_that_is_upgraded() -> None:
    stack = following(
        group("mariadb", "10.5.23-MariaDB"), "mariadb1", replica1="0-1-9", replica2="0-1-9"
    )
    stack.says["mariadb1", "SELECT @@gtid_current_pos"] = {"held": "0-1-9"}
    stack.says["replica1", "SELECT MASTER_GTID_WAIT"] = {"waited": "0"}
    RollingUpgrade(to="10.11").perform(operation(stack, ["mariadb1"]))
    assert upgraded(stack) == [
        "upgrade replica1 10.11",
        "upgrade replica2 10.11",
        "upgrade mariadb1 10.11",
    ]
    assert stack.given[0] == (
        "mariadb1",
        "SET SESSION lock_wait_timeout=4; SET GLOBAL read_only=ON",
    )
    assert "MASTER_HOST='replica1'" in dict(stack.given)["mariadb1"]


def test_a_single_server_has_nobody_to_take_its_place() -> None:
    stack = group("mariadb", "10.5.23-MariaDB", replicas=0)
    assert (
        RollingUpgrade(to="10.11").perform(operation(stack))
        == "upgraded to 10.11 in turn: mariadb1"
    )
    assert not stack.given


def test_those_that_are_of_the_version_already_are_left_alone() -> None:
    stack = cluster("galera", "mariadb", "10.5.23-MariaDB")
    stack.versions["galera2"] = "10.11.18-MariaDB"
    assert RollingUpgrade(to="10.11").perform(operation(stack)).endswith("galera1, galera3")
    error = refused(RollingUpgrade(to="10.11"), operation(stack))
    assert error.lines()[:2] == ["there is nothing to upgrade", "every server is 10.11 already"]


def test_a_whole_tag_is_a_version_too() -> None:
    """A server of Percona says 8.4.10, whatever its package is."""
    stack = cluster("gr", "mysql", "8.0.46")
    stack.role_of = {"gr1": "writer", "gr2": "reader", "gr3": "reader"}
    RollingUpgrade(to="8.4.10-10.1").perform(operation(stack, ["gr1"]))
    assert upgraded(stack) == [f"upgrade {node} 8.4.10-10.1" for node in ("gr2", "gr3", "gr1")]


@pytest.mark.parametrize("to", ["lts", "", "8.4,9.7", "-1"])
def test_what_is_no_version_is_refused(to: str) -> None:
    with pytest.raises(SandboxError):
        action_named("rolling-upgrade", {"to": to})


def test_data_cannot_go_back() -> None:
    stack = cluster("galera", "mariadb", "11.8.6-MariaDB")
    error = refused(RollingUpgrade(to="10.11"), operation(stack))
    assert error.what == "galera1 is 11.8.6, which is newer than 10.11" and not stack.heard


def test_it_stops_after_one_that_does_not_come_back() -> None:
    stack = cluster("galera", "mariadb", "10.5.23-MariaDB")
    stack.unready = [set(), {"galera1"}]
    error = refused(RollingUpgrade(to="10.11", ready_limit_s=5), operation(stack))
    assert error.what == "it stopped after galera1" and upgraded(stack) == ["upgrade galera1 10.11"]


def test_system_tables_that_cannot_be_upgraded_end_it() -> None:
    stack = cluster("galera", "mariadb", "10.5.23-MariaDB")
    stack.shell = ExecResult(1, "", "FATAL ERROR: Upgrade failed")
    with pytest.raises(MachineError) as failed:
        RollingUpgrade(to="10.11").perform(operation(stack))
    assert failed.value.known == "FATAL ERROR: Upgrade failed" and len(upgraded(stack)) == 1


def test_another_version_than_asked_for_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    stack = cluster("galera", "mariadb", "10.5.23-MariaDB")
    monkeypatch.setattr(stack, "upgrade", lambda node, version: None)
    with pytest.raises(MachineError, match=r"galera1 is 10\.5\.23 after its upgrade to 10\.11"):
        RollingUpgrade(to="10.11").perform(operation(stack))


def test_a_version_in_a_file_may_look_like_a_number() -> None:
    assert RollingUpgrade.model_validate({"to": 11.8}).to == "11.8"
