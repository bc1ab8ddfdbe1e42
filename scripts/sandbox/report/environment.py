"""PURE: the machine of a measurement, and its load meanwhile."""

import statistics
from collections.abc import Sequence

from sandbox.results.manifest import HostCheck
from sandbox.results.record import Record

UNKNOWN = "unknown"


def environment_rows(records: Sequence[Record]) -> list[tuple[str, str]]:
    """The machine, from the first record that describes it; then its load over all records."""
    machine = next((each.environment for each in records if each.environment.cpu_model), None)
    if machine is None:
        return []
    systems = sorted({kind for kind in machine.data_file_system.values() if kind})
    memory = f"{machine.memory_bytes / 2**30:.1f} GiB" if machine.memory_bytes else UNKNOWN
    return [
        ("processor", f"{machine.cpus or UNKNOWN} x {machine.cpu_model}, governor {machine.cpu_governor or UNKNOWN}"),
        ("memory", memory),
        ("system", f"{machine.operating_system or UNKNOWN}, kernel {machine.kernel or UNKNOWN}"),
        ("architecture", f"{machine.architecture or UNKNOWN}, {machine.virtualization or 'not virtual'}"),
        ("engine", f"Docker {machine.engine_version or UNKNOWN}, cgroup v{machine.cgroup_version or '?'}"),
        ("storage", f"{machine.storage_driver or UNKNOWN}; data on {', '.join(systems) or UNKNOWN}"),
        *_load_rows(records),
    ]


def _load_rows(records: Sequence[Record]) -> list[tuple[str, str]]:
    during = [record.environment.during for record in records if record.status == "ok"]
    named = {
        "CPU busy": [each.cpu_busy_percent for each in during],
        "CPU steal": [each.steal_percent for each in during],
        "stalled on CPU": [each.pressure_cpu_some_percent for each in during],
        "stalled on I/O": [each.pressure_io_some_percent for each in during],
    }
    return [(name, _range([value for value in found if value is not None])) for name, found in named.items()]


def _range(values: Sequence[float]) -> str:
    if not values:
        return UNKNOWN
    if len(values) == 1:
        return f"{values[0]:.1f} %"
    return f"median {statistics.median(values):.1f} % of a run's time ({min(values):.1f} to {max(values):.1f} %)"


def host_check_row(checks: Sequence[HostCheck]) -> list[tuple[str, str]]:
    """Speed of the machine before each block; empty for a result without blocks."""
    if not checks:
        return []
    turns, syncs = [check.cpu_turns for check in checks], [check.fsync_ms for check in checks]
    return [
        (
            "before each block",
            f"processor loop {min(turns):,} to {max(turns):,} iterations in 0.5 s, "
            f"median fsync {min(syncs):.2f} to {max(syncs):.2f} ms",
        )
    ]
