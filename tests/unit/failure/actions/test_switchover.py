"""A planned switchover: the new writer has everything, and a failed one leaves all as it was."""

from collections.abc import Sequence
from typing import Any

import pytest

from sandbox.core.errors import SandboxError
from sandbox.failure.actions.switchover import Switchover
from sandbox.stack.protocol import ExecResult
from unit.failure.actions.scripted import (
    ScriptedGroup,
    following,
    group,
    operation,
    refused,
    servers,
)
from unit.fake_stack import server

A, B = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"


def test_a_replica_takes_over_once_it_has_everything() -> None:
    stack = following(group(), replica1=f"{A}:1-8", replica2=f"{A}:1-9")
    stack.says["mysql1", "SELECT @@gtid_executed"] = {"held": f"{A}:1-10"}
    stack.says["replica2", f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{A}:1-10', 30)"] = {"waited": "0"}
    assert Switchover().perform(operation(stack)) == "replica2 is the writer, instead of mysql1"
    assert [(node, text.partition(";")[0]) for node, text in stack.given] == [
        ("mysql1", "SET SESSION lock_wait_timeout=4"),
        ("replica2", "STOP REPLICA"),
        ("replica2", "SET GLOBAL super_read_only=OFF"),
        ("mysql1", "STOP REPLICA"),
        ("replica1", "STOP REPLICA"),
    ]
    assert all("SOURCE_HOST='replica2'" in text for _, text in stack.given[-2:])


def test_mariadb_likewise() -> None:
    stack = following(
        group("mariadb", "11.8.2-MariaDB"), "mariadb1", replica1="0-1-9", replica2="0-1-8"
    )
    stack.says["mariadb1", "SELECT @@gtid_current_pos"] = {"held": "0-1-10"}
    stack.says["replica1", "SELECT MASTER_GTID_WAIT('0-1-10', 30)"] = {"waited": "0"}
    assert Switchover().perform(operation(stack)) == "replica1 is the writer, instead of mariadb1"
    statements = dict(stack.given)
    assert "SET GLOBAL gtid_slave_pos = @@gtid_binlog_pos" in statements["mariadb1"]
    assert (
        "gtid_slave_pos =" not in statements["replica2"]
        and "MASTER_HOST='replica1'" in statements["replica2"]
    )


@pytest.mark.parametrize(
    "problem", [{"waited": "1"}, "ERROR 2013 (HY000): Lost connection", TimeoutError("it hangs")]
)
def test_the_writer_takes_writes_again_where_it_fails(problem: Any) -> None:
    stack = following(group(replicas=1))
    stack.says["mysql1", "SELECT @@gtid_executed"] = {"held": f"{A}:1-10"}
    stack.says["replica1", "SELECT WAIT_FOR"] = problem
    with pytest.raises(SandboxError):
        Switchover().perform(operation(stack))
    assert stack.given == [
        (
            "mysql1",
            (
                "SET SESSION lock_wait_timeout=4; SET GLOBAL super_read_only=ON; SET GLOBAL"
                " read_only=ON"
            ),
        ),
        ("mysql1", "SET GLOBAL super_read_only=OFF; SET GLOBAL read_only=OFF"),
    ]


READ_ONLY = (
    "mysql1",
    "SET SESSION lock_wait_timeout=4; SET GLOBAL super_read_only=ON; SET GLOBAL read_only=ON",
)
WRITABLE = ("mysql1", "SET GLOBAL super_read_only=OFF; SET GLOBAL read_only=OFF")


def refusing_to_take_over(chosen: Any) -> ScriptedGroup:
    """A replica that has caught up and then fails; ``chosen``: what it answers when asked whether
    it takes writes.
    """
    stack = following(group(replicas=1))
    stack.says["mysql1", "SELECT @@gtid_executed"] = {"held": f"{A}:1-10"}
    stack.says["replica1", "SELECT WAIT_FOR"] = {"waited": "0"}
    stack.says["replica1", "STOP REPLICA; RESET"] = TimeoutError("it hangs")
    stack.says["replica1", "SELECT @@GLOBAL.read_only"] = chosen
    return stack


def test_the_writer_takes_writes_again_where_the_chosen_one_does_not() -> None:
    stack = refusing_to_take_over({"read_only": "1"})
    with pytest.raises(SandboxError):
        Switchover().perform(operation(stack))
    assert [stack.given[0], stack.given[2]] == [READ_ONLY, WRITABLE] and len(stack.given) == 3


@pytest.mark.parametrize("chosen", [{"read_only": "0"}, TimeoutError("it hangs")])
def test_the_writer_stays_read_only_where_the_chosen_one_may_take_writes(chosen: Any) -> None:
    stack = refusing_to_take_over(chosen)
    with pytest.raises(SandboxError) as failed:
        Switchover().perform(operation(stack))
    assert WRITABLE not in stack.given
    if isinstance(chosen, TimeoutError):
        assert (
            "mysql1 stays read-only, since replica1 may have become the writer" in failed.value.what
        )
        assert (
            failed.value.lines()[2].startswith("try: make restart")
            and "NODE=mysql1" in failed.value.lines()[2]
        )


def test_group_replication_elects_the_chosen_member() -> None:
    members = [server(f"gr{n}", component="gr", topology="gr") for n in (1, 2, 3)]
    behind = server("replica1", "replica", topology="gr")
    roles = {"gr1": "writer", "gr2": "reader", "gr3": "reader", "replica1": "reader"}
    stack = ScriptedGroup([behind, *members], roles)
    stack.says["gr2", "SELECT @@server_uuid"] = {"id": B}
    ran: list[tuple[str, str | None]] = []

    def run(
        node: str, argv: Sequence[str], stdin: str | None = None, timeout_s: float = 60.0
    ) -> ExecResult:
        ran.append((node, stdin))
        return ScriptedGroup.run(stack, node, argv, stdin, timeout_s)

    stack.run = run  # type: ignore[method-assign]
    assert Switchover().perform(operation(stack)) == "gr2 is the writer, instead of gr1"
    assert ran[-1] == ("gr1", f"SELECT group_replication_set_as_primary('{B}') AS done")
    assert stack.waits[-1] == 60


@pytest.mark.parametrize(
    ("roles", "known"),
    [
        ({"gr1": "writer", "gr2": "writer"}, "writer now: gr1; readers: none"),
        ({"gr1": "writer", "replica1": "reader"}, "writer now: gr1; readers: none"),
        ({"gr2": "reader"}, "writer now: none; readers: gr2"),
    ],
)
def test_it_is_refused_without_a_writer_and_a_reader(roles: dict[str, str], known: str) -> None:
    members = [server(f"gr{n}", component="gr", topology="gr") for n in (1, 2)]
    stack = ScriptedGroup([*members, server("replica1", "replica", topology="gr")], roles)
    error = refused(Switchover(), operation(stack))
    assert error.lines()[:2] == ["a switchover needs a writer and a reader", known]


def test_it_is_refused_where_every_member_takes_writes() -> None:
    stack = ScriptedGroup(servers("mariadb", topology="galera"), {})
    assert (
        refused(Switchover(), operation(stack)).what == "every member of the cluster takes writes"
    )
