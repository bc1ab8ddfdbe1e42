"""Samples become rates and values second by second; what is missing stays missing."""

import json
from collections.abc import Sequence

from sandbox.record.server_series import Points, added_up, server_series


def line(node: str, slot: int, t_s: float | None, **status: float) -> bytes:
    reason = {} if status else {"reason": "missed"}
    return json.dumps(
        {"node": node, "slot": slot, "t_s": t_s, "status": status or None, **reason}
    ).encode()


def series(lines: Sequence[bytes], name: str, seconds: int = 3) -> list[float | None]:
    return server_series(lines, seconds)["mysql1"][name]


def test_a_counter_is_a_rate_over_the_time_that_passed() -> None:
    lines = [line("mysql1", 0, 0.0, Com_select=100), line("mysql1", 1, 1.0, Com_select=300)]
    lines += [line("mysql1", 2, 2.5, Com_select=600), line("mysql1", 3, 3.0, Com_select=600)]
    assert series(lines, "Com_select") == [200, 200, 0]


def test_a_gauge_is_reported_as_it_is() -> None:
    lines = [line("mysql1", slot, slot, Threads_running=slot + 1) for slot in range(4)]
    assert series(lines, "Threads_running") == [2, 3, 4]


def test_units_are_those_of_the_table() -> None:
    counters = {
        "wsrep_flow_control_paused_ns": 5e8,
        "Innodb_os_log_written": 2e6,
        "Innodb_row_lock_time": 40,
    }
    lines = [line("mysql1", 0, 0, **dict.fromkeys(counters, 0)), line("mysql1", 1, 1, **counters)]
    found = server_series(lines, 1)["mysql1"]
    assert found == {
        "wsrep_flow_control_paused_ns": [50.0],
        "Innodb_os_log_written": [2.0],
        "Innodb_row_lock_time": [40.0],
    }


def test_a_missed_sample_is_missing_on_both_sides() -> None:
    lines = [
        line("mysql1", 0, 0, Com_select=1),
        line("mysql1", 1, None),
        line("mysql1", 2, 2, Com_select=5),
    ]
    lines.append(line("mysql1", 3, 3, Com_select=6))
    assert series(lines, "Com_select") == [None, None, 1]


def test_a_restarted_server_has_no_negative_rate() -> None:
    lines = [line("mysql1", 0, 0, Com_select=900), line("mysql1", 1, 1, Com_select=5)]
    assert series(lines, "Com_select", 1) == [None]


def test_what_came_after_the_load_is_left_out_and_torn_lines_are_passed_over() -> None:
    lines = [
        b'{"node":null,"began_utc_s":1}',
        b'{"node":null,"slot":0,"host":{}}',
        b"Warning: x",
        b'{"node":"mysql1","sl',
    ]
    lines += [line("mysql1", slot, slot, Com_select=slot) for slot in range(9)]
    assert series(lines, "Com_select", 2) == [1, 1]


def test_a_server_that_never_answered_has_nothing() -> None:
    assert server_series([line("mysql1", 0, None)], 1) == {"mysql1": {}}
    assert server_series([], 1) == {}


def test_servers_add_up_and_a_second_that_one_lacks_is_missing() -> None:
    servers: dict[str, dict[str, Points]] = {
        "a": {"Com_select": [1.0, None], "wsrep_local_commits": [1.0, 2.0]},
        "b": {"Com_select": [2.0, 3.0]},
    }
    assert added_up(servers) == {"Com_select": [3.0, None], "wsrep_local_commits": [1.0, 2.0]}
    assert added_up({"a": servers["a"]}) == servers["a"]
    assert added_up({}) == {}
