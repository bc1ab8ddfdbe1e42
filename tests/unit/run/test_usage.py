"""What nodes used of the machine: the lines of both kinds of control group, differences, and milliseconds by metric."""

import pytest

from sandbox.run.usage import Usage, cpu_per_transaction, read_usage, usage_in, used
from unit.fake_stack import CLIENT, FakeStack, server

V2 = (
    "cpu.stat;cpu.stat usage_usec 2500000;cpu.stat user_usec 2000000;cpu.stat system_usec 500000;"
    "io.stat;io.stat 8:0 rbytes=1000 wbytes=20 rios=3 wios=4 dbytes=0 dios=0;io.stat 259:1 rbytes=5 wbytes=6 rios=1;"
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
            "cpuacct.usage;cpuacct.usage 7000;blkio.throttle.io_service_bytes;blkio.throttle.io_service_bytes Total 0;",
            Usage(7e-6, None, None),
        ),
        ("", Usage(None, None, None)),
    ],
    ids=["v2", "v1", "no I/O yet", "no I/O controller", "v1 counts no I/O", "nothing readable"],
)
def test_the_counters_of_a_control_group(counters: str, expected: Usage) -> None:
    assert usage_in(counters) == expected


def test_what_was_used_is_the_difference_and_unknown_after_a_restart() -> None:
    before = {"mysql1": Usage(10.0, 5, None), "replica1": Usage(10.0, 5, 5), "gone1": Usage(1.0, 1, 1)}
    after = {"mysql1": Usage(12.5, 9, 7), "replica1": Usage(0.5, 0, 0), "new1": Usage(1.0, 1, 1)}
    assert used(before, after) == {"mysql1": Usage(2.5, 4, None)}


def test_processor_time_is_told_apart_by_kind_of_node() -> None:
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
    [({"mysql1": 3.0}, 0), ({"mysql1": 3.0}, None), ({"mysql1": 3.0}, 10), ({"mysql1": 3.0, "replica1": None}, 10)],
    ids=["no transaction", "not counted", "one server was not read", "one server counts none"],
)
def test_what_is_not_whole_is_null(usage: dict[str, float | None], transactions: int | None) -> None:
    known = {name: Usage(seconds, None, None) for name, seconds in usage.items()}
    assert set(cpu_per_transaction(known, MEMBERS[:2], 1, transactions).values()) == {None}


def test_a_node_without_container_is_not_asked_and_one_that_is_silent_is_left_out() -> None:
    stack = FakeStack(silent={"replica1"})
    outside = server("external1", "external", has_container=False)
    assert list(read_usage(stack, [*stack.nodes(), outside])) == ["mysql1", "client1"]
