"""Status before and after, and what can be told from the difference."""

from typing import Any

from sandbox.run.snapshot import (
    ServerState,
    conflicts_by_code,
    restarted,
    statements_answered,
    status_delta,
    take_snapshots,
)
from unit.fake_stack import FakeStack


def snapshot(conflicts: dict[str, int] | None = None, **status: Any) -> ServerState:
    """A server's state."""
    return ServerState("9.7.4", "/var/lib/mysql/", {}, {"Uptime": 10, "Questions": 0, **status}, conflicts)


def test_a_snapshot_holds_what_the_server_says() -> None:
    taken = take_snapshots(FakeStack(), "client1", FakeStack().members)
    first = taken["mysql1"]
    assert isinstance(first, ServerState)
    assert first.version == "9.7.4-2 (Debian)" and first.data_folder == "/var/lib/mysql/"
    assert first.status["Questions"] == 1000 and "wsrep_cluster_status" not in first.status
    assert first.conflicts == {"1213": 2, "1205": 0}
    assert set(taken) == {"mysql1", "replica1"}


def test_a_silent_server_is_its_reason() -> None:
    stack = FakeStack(dead={"replica1": "exited"})
    assert take_snapshots(stack, "client1", stack.members)["replica1"] == "cannot connect"


def test_a_server_without_error_counters_is_still_a_snapshot() -> None:
    """MariaDB has no such table; its deadlock counters stand in, where it has them."""
    stack = FakeStack(fail_sql={"SELECT ERROR_NUMBER": (1146, "no such table")})
    taken = take_snapshots(stack, "client1", stack.members)["mysql1"]
    assert isinstance(taken, ServerState) and taken.conflicts is None
    stack.status["mysql1"]["Innodb_deadlocks"] = 4
    stack.status["mysql1"]["wsrep_local_cert_failures"] = 3
    taken = take_snapshots(stack, "client1", stack.members)["mysql1"]
    assert isinstance(taken, ServerState) and taken.conflicts == {"1213": 7}


def test_the_delta_keeps_counters_and_nothing_else() -> None:
    before = snapshot(Com_select=1, Innodb_rows_read=5, wsrep_flow_control_paused=0.1, Threads_connected=3)
    after = snapshot(Com_select=4, Innodb_rows_read=9, wsrep_flow_control_paused=0.4, Threads_connected=9)
    assert status_delta(before, after) == {
        "Com_select": 3,
        "Innodb_rows_read": 4,
        "Questions": 0,
        "wsrep_flow_control_paused": 0.3,
    }


def test_a_restart_is_seen_and_its_counters_are_not_used() -> None:
    before, after = {"a": snapshot(Questions=900)}, {"a": snapshot(Uptime=2, Questions=5)}
    assert restarted(before["a"], after["a"])
    assert statements_answered(before, after, ["a", "b"]) == {}


def test_conflicts_are_shared_out_by_what_servers_counted() -> None:
    before = {"a": snapshot({"1213": 10, "1205": 1}), "b": snapshot({"1213": 0, "1205": 0})}
    after = {"a": snapshot({"1213": 15, "1205": 1}), "b": snapshot({"1213": 2, "1205": 0})}
    assert conflicts_by_code(9, before, after, ["a", "b"]) == {"1213": 7, "other": 2}
    assert conflicts_by_code(7, before, after, ["a", "b"]) == {"1213": 7}


def test_codes_are_null_where_they_cannot_be_told() -> None:
    before, after = {"a": snapshot({"1213": 10})}, {"a": snapshot({"1213": 15})}
    assert conflicts_by_code(3, before, after, ["a"]) is None
    assert conflicts_by_code(3, {"a": snapshot()}, {"a": snapshot()}, ["a"]) is None
    assert conflicts_by_code(3, before, {}, ["a"]) is None
    assert conflicts_by_code(None, before, after, ["a"]) is None


def test_no_conflict_needs_no_counter() -> None:
    assert conflicts_by_code(0, {}, {}, ["a"]) == {}
