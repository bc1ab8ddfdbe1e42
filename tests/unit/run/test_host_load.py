"""Shares of time from raw counters, and null where the kernel tells nothing."""

from typing import Any

from sandbox.results.record import HostLoad
from sandbox.run.host_load import host_load


def line(t_s: float, user: int, idle: int, steal: int, cpu_us: int, load: float = 1.0) -> dict[str, Any]:
    """One host line of the sampler."""
    ticks = {"user": user, "idle": idle, "iowait": 0, "steal": steal}
    stalled = {"cpu": {"some": cpu_us}, "io": {"some": 0, "full": 0}, "memory": None}
    return {"t_s": t_s, "host": {"cpu_ticks": ticks, "stalled_us": stalled, "load_average": load}}


def test_shares_of_the_window() -> None:
    lines = [line(0, 0, 0, 0, 0), line(1, 80, 20, 0, 500_000, 3.0), line(2, 120, 60, 20, 1_000_000)]
    load = host_load(lines)
    assert (load.seconds, load.cpu_busy_percent, load.steal_percent) == (2.0, 70.0, 10.0)
    assert load.steal_percent_max_1s == 20.0
    assert load.pressure_cpu_some_percent == 50.0
    assert load.load_average_1min_max == 3.0


def test_no_pressure_information_is_null_and_no_stall_is_zero() -> None:
    load = host_load([line(0, 0, 0, 0, 0), line(1, 1, 1, 0, 0)])
    assert load.pressure_memory_some_percent is None
    assert load.pressure_io_full_percent == 0.0


def test_one_line_is_no_window() -> None:
    assert host_load([line(0, 0, 0, 0, 0)]) == HostLoad()


def test_no_tick_is_null() -> None:
    load = host_load([line(0, 1, 1, 0, 0), line(1, 1, 1, 0, 0)])
    assert load.cpu_busy_percent is None and load.steal_percent_max_1s is None
