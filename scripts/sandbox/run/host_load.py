"""The machine during a load, from the sampler's raw counters. Pure."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from sandbox.results.record import HostLoad

_IDLE = ("idle", "iowait")


def host_load(lines: Sequence[Mapping[str, Any]]) -> HostLoad:
    """Shares of the time between the first and the last host line of the sampler; nulls for fewer than two lines."""
    if len(lines) < 2:
        return HostLoad()
    first, last = lines[0], lines[-1]
    seconds = last["t_s"] - first["t_s"]
    busy, steal = _cpu_percent(first, last)
    steals = [_cpu_percent(one, other)[1] for one, other in pairwise(lines)]
    return HostLoad(
        seconds=round(seconds, 1),
        cpu_busy_percent=busy,
        steal_percent=steal,
        steal_percent_max_1s=max((value for value in steals if value is not None), default=None),
        pressure_cpu_some_percent=_pressure(first, last, "cpu", "some"),
        pressure_io_some_percent=_pressure(first, last, "io", "some"),
        pressure_io_full_percent=_pressure(first, last, "io", "full"),
        pressure_memory_some_percent=_pressure(first, last, "memory", "some"),
        load_average_1min_max=max(line["host"]["load_average"] for line in lines),
    )


def _cpu_percent(first: Mapping[str, Any], last: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Busy time and steal time of all processors, percent; None where no tick passed."""
    before, after = first["host"]["cpu_ticks"], last["host"]["cpu_ticks"]
    ticks = {name: after[name] - before[name] for name in after}
    total = sum(ticks.values())
    if total <= 0:
        return None, None
    busy = total - sum(ticks[name] for name in _IDLE)
    return round(100 * busy / total, 1), round(100 * ticks["steal"] / total, 2)


def _pressure(first: Mapping[str, Any], last: Mapping[str, Any], resource: str, kind: str) -> float | None:
    """Share of the time that some or all tasks were stalled for a resource, percent."""
    before, after = first["host"]["stalled_us"][resource], last["host"]["stalled_us"][resource]
    microseconds = 1e6 * (last["t_s"] - first["t_s"])
    if before is None or after is None or kind not in after or microseconds <= 0:
        return None
    stalled: float = 100 * (after[kind] - before[kind]) / microseconds
    return round(stalled, 2)
