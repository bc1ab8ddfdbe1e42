"""What servers and nodes count: before and after, and what can be concluded from the difference."""

import time
from dataclasses import replace
from typing import Any

import pytest

from sandbox.measure.counters import (
    ServerState,
    Usage,
    conflicts_by_code,
    connections_refused,
    cpu_per_transaction,
    read_usage,
    restarted,
    statements_answered,
    status_delta,
    take_snapshots,
    usage_in,
    used,
)
from unit.fake_stack import CLIENT, FakeStack, server


def snapshot(conflicts: dict[str, int] | None = None, **status: Any) -> ServerState:
    """A server's state."""
    return ServerState(
        "9.7.4", "/var/lib/mysql/", {}, {"Uptime": 10, "Questions": 0, **status}, conflicts
    )


def test_a_snapshot_holds_what_the_server_says() -> None:
    taken, silent = take_snapshots(FakeStack(), "client1", FakeStack().members)
    first = taken["mysql1"]
    assert first.version == "9.7.4-2 (Debian)" and first.data_folder == "/var/lib/mysql/"
    assert first.status["Questions"] == 1000 and "wsrep_cluster_status" not in first.status
    assert first.conflicts == {"1213": 2, "1205": 0}
    assert set(taken) == {"mysql1", "replica1"} and not silent


def test_a_silent_server_is_its_reason() -> None:
    stack = FakeStack(dead={"replica1": "exited"})
    taken, silent = take_snapshots(stack, "client1", stack.members)
    assert set(taken) == {"mysql1"} and silent == {"replica1": "cannot connect"}


def test_a_server_without_error_counters_is_still_a_snapshot() -> None:
    """MariaDB has no such table; its deadlock counters stand in, where it has them."""
    stack = FakeStack(fail_sql={"SELECT ERROR_NUMBER": (1146, "no such table")})
    assert take_snapshots(stack, "client1", stack.members)[0]["mysql1"].conflicts is None
    stack.status["mysql1"]["Innodb_deadlocks"] = 4
    stack.status["mysql1"]["wsrep_local_cert_failures"] = 3
    assert take_snapshots(stack, "client1", stack.members)[0]["mysql1"].conflicts == {"1213": 7}


def test_refused_connections_count_from_the_restart_where_there_was_one() -> None:
    before = {name: snapshot(Connection_errors_max_connections=5) for name in ("same", "restarted")}
    after = {
        "same": snapshot(Connection_errors_max_connections=7, Uptime=20),
        "restarted": snapshot(Connection_errors_max_connections=4, Uptime=3),
        "new": snapshot(Connection_errors_max_connections=1),
        "silent about it": snapshot(),
    }
    assert connections_refused(before, after) == {
        "same": 2,
        "restarted": 4,
        "new": 1,
        "silent about it": 0,
    }


def test_the_delta_keeps_counters_and_nothing_else() -> None:
    before = snapshot(
        Com_select=1, Innodb_rows_read=5, wsrep_flow_control_paused=0.1, Threads_connected=3
    )
    after = snapshot(
        Com_select=4, Innodb_rows_read=9, wsrep_flow_control_paused=0.4, Threads_connected=9
    )
    assert status_delta(before, after) == {
        "Com_select": 3,
        "Innodb_rows_read": 4,
        "Questions": 0,
        "wsrep_flow_control_paused": 0.3,
    }


@pytest.mark.parametrize(
    ("uptimes", "between_s", "is_restarted"),
    [
        # It ran longer after its restart than before.
        ((10, 25), ((100.0, 100.1), (140.1, 140.2)), True),
        ((10, 48), ((100.0, 100.1), (140.1, 140.2)), False),
        ((10, 50), ((100.0, 110.0), (140.0, 150.0)), False),  # another server answered late
        ((10, 42), ((100.0, 110.0), (140.0, 150.0)), False),
        ((10, 10), ((100.0, 100.1), (100.2, 100.3)), False),
    ],
)
def test_a_restart_shows_in_an_uptime_that_grew_less_than_time_went_by(
    uptimes: tuple[int, int], between_s: tuple[tuple[float, float], ...], is_restarted: bool
) -> None:
    both = zip(uptimes, between_s, strict=True)
    before, after = (replace(snapshot(Uptime=uptime), between_s=asked) for uptime, asked in both)
    assert restarted(before, after) is is_restarted


def test_a_snapshot_knows_when_it_was_taken() -> None:
    began_s = time.monotonic()
    state = take_snapshots(FakeStack(), "client1", FakeStack().members)[0]["mysql1"]
    assert began_s <= state.between_s[0] <= state.between_s[1] <= time.monotonic()


def test_a_restart_is_seen_and_its_counters_are_not_used() -> None:
    before, after = {"a": snapshot(Questions=900)}, {"a": snapshot(Uptime=2, Questions=5)}
    assert restarted(before["a"], after["a"])
    assert statements_answered(before, after, ["a", "b"]) == {}


def test_conflicts_are_shared_out_by_what_servers_counted() -> None:
    before = {"a": snapshot({"1213": 10, "1205": 1}), "b": snapshot({"1213": 0, "1205": 0})}
    after = {"a": snapshot({"1213": 15, "1205": 1}), "b": snapshot({"1213": 2, "1205": 0})}
    assert conflicts_by_code(9, before, after, ["a", "b"]) == {"1213": 7, "other": 2}
    assert conflicts_by_code(7, before, after, ["a", "b"]) == {"1213": 7}


def test_codes_are_null_where_they_cannot_be_known() -> None:
    before, after = {"a": snapshot({"1213": 10})}, {"a": snapshot({"1213": 15})}
    assert conflicts_by_code(3, before, after, ["a"]) is None
    assert conflicts_by_code(3, {"a": snapshot()}, {"a": snapshot()}, ["a"]) is None
    assert conflicts_by_code(3, before, {}, ["a"]) is None
    assert conflicts_by_code(None, before, after, ["a"]) is None


def test_no_conflict_needs_no_counter() -> None:
    assert conflicts_by_code(0, {}, {}, ["a"]) == {}


V2 = (
    "cpu.stat;cpu.stat usage_usec 2500000;cpu.stat user_usec 2000000;cpu.stat system_usec"
    " 500000;io.stat;io.stat 8:0 rbytes=1000 wbytes=20 rios=3 wios=4 dbytes=0 dios=0;io.stat 259:1"
    " rbytes=5 wbytes=6 rios=1;"
)
V1 = (
    "cpuacct.usage;cpuacct.usage 2500000000;blkio.throttle.io_service_bytes;"
    "blkio.throttle.io_service_bytes 8:0 Read 1000;blkio.throttle.io_service_bytes 8:0 Write 20;"
    "blkio.throttle.io_service_bytes 8:0 Sync 1020;blkio.throttle.io_service_bytes 8:0 Total 1020;"
    "blkio.throttle.io_service_bytes Total 1020;"
)
MEMBERS = [server("mysql1"), server("replica1", "replica"), server("haproxy1", "proxy"), CLIENT]
PROXY = server("haproxy1", "proxy", family=None, topology=None)


@pytest.mark.parametrize(
    ("counters", "expected"),
    [
        (V2, Usage(2.5, 1005, 26)),
        (V1, Usage(2.5, 1000, 20)),
        ("cpu.stat;cpu.stat usage_usec 7;io.stat;", Usage(7e-6, 0, 0)),
        ("cpu.stat;cpu.stat usage_usec 7;", Usage(7e-6, None, None)),
        (
            (
                "cpuacct.usage;cpuacct.usage"
                " 7000;blkio.throttle.io_service_bytes;blkio.throttle.io_service_bytes Total 0;"
            ),
            Usage(7e-6, None, None),
        ),
        ("", Usage(None, None, None)),
    ],
    ids=["v2", "v1", "no I/O yet", "no I/O controller", "v1 counts no I/O", "nothing readable"],
)
def test_the_counters_of_a_control_group(counters: str, expected: Usage) -> None:
    assert usage_in(counters) == expected


def test_what_was_used_is_the_difference_and_unknown_after_a_restart() -> None:
    before = {
        "mysql1": Usage(10.0, 5, None),
        "replica1": Usage(10.0, 5, 5),
        "gone1": Usage(1.0, 1, 1),
    }
    after = {"mysql1": Usage(12.5, 9, 7), "replica1": Usage(0.5, 0, 0), "new1": Usage(1.0, 1, 1)}
    assert used(before, after) == {"mysql1": Usage(2.5, 4, None)}


def test_processor_time_is_shown_apart_by_kind_of_node() -> None:
    usage = {name: Usage(seconds, None, None) for name, seconds in
             {"mysql1": 3.0, "replica1": 1.0, "haproxy1": 0.5, "client1": 2.0}.items()}  # fmt: skip
    assert cpu_per_transaction(usage, [*MEMBERS[:2], PROXY, CLIENT], 1, 2000) == {
        "server_cpu_ms_per_tx": 2.0,
        "proxy_cpu_ms_per_tx": 0.25,
        "client_cpu_ms_per_tx": 1.0,
    }


def test_other_groups_are_no_part_of_it() -> None:
    usage = {name: Usage(3.0, None, None) for name in ("mysql1", "mysql2", "client1")}
    nodes = [server("mysql1"), server("mysql2", group_index=2), CLIENT]
    assert cpu_per_transaction(usage, nodes, 1, 1000)["server_cpu_ms_per_tx"] == 3.0


@pytest.mark.parametrize(
    ("usage", "transactions"),
    [
        ({"mysql1": 3.0}, 0),
        ({"mysql1": 3.0}, None),
        ({"mysql1": 3.0}, 10),
        ({"mysql1": 3.0, "replica1": None}, 10),
    ],
    ids=["no transaction", "not counted", "one server was not read", "one server counts none"],
)
def test_what_is_not_whole_is_null(
    usage: dict[str, float | None], transactions: int | None
) -> None:
    known = {name: Usage(seconds, None, None) for name, seconds in usage.items()}
    assert set(cpu_per_transaction(known, MEMBERS[:2], 1, transactions).values()) == {None}


def test_a_node_without_container_is_not_asked_and_one_that_is_silent_is_left_out() -> None:
    stack = FakeStack(silent={"replica1"})
    outside = server("external1", "external", has_container=False)
    assert list(read_usage(stack, [*stack.nodes(), outside])) == ["mysql1", "client1"]
