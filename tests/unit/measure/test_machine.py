"""The machine: its fingerprint as the client node reads it, and its load while a run measured."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox.measure.counters import ServerState
from sandbox.measure.in_client import fingerprint
from sandbox.measure.machine import file_system_of, host_load, take_fingerprint
from sandbox.record.record import HostLoad
from unit.fake_stack import MOUNTS, FakeStack


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/var/lib/mysql/", "ext4"),
        ("/var/lib/mysql", "ext4"),
        ("/var/lib/mysql-files", "overlay"),
        ("/data", "overlay"),
    ],
)
def test_the_deepest_mount_above_the_data_counts(folder: str, kind: str) -> None:
    assert file_system_of(MOUNTS, folder) == kind


def test_no_mount_is_null() -> None:
    assert file_system_of("", "/var/lib/mysql") is None


def test_everything_comes_from_where_the_containers_run() -> None:
    stack = FakeStack()
    before = {"mysql1": ServerState("9.7.4", "/var/lib/mysql/", {}, {}, None)}
    environment = take_fingerprint(stack, "client1", stack.members[:2], before)
    assert (environment.cpu_model, environment.cpu_governor, environment.cpus) == (
        "Test CPU",
        "performance",
        4,
    )
    assert (environment.engine_version, environment.storage_driver) == ("28.2.2", "overlay2")
    assert environment.data_file_system == {"mysql1": "ext4"}
    assert (
        environment.inputs.assignments == ["innodb_io_capacity=200"]
        and environment.inputs.cpus == "1"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the script reads /proc, which only Linux has")
def test_the_script_reads_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    fingerprint.main()
    seen = json.loads(capsys.readouterr().out)
    assert set(seen) == {"cpu_model", "cpu_governor", "memory_bytes", "kernel", "virtualization"}
    assert (
        seen["memory_bytes"] > 0
        and seen["kernel"] == Path("/proc/sys/kernel/osrelease").read_text().strip()
    )


def test_a_machine_with_the_flag_is_a_virtual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprint, "text_of", lambda path: None)
    assert fingerprint.virtualization("flags\t: fpu hypervisor sse\n") == "unnamed hypervisor"
    assert fingerprint.virtualization("flags\t: fpu sse\n") == "none"
    assert fingerprint.virtualization("CPU part\t: 0xd0c\n") is None


def line(
    t_s: float, user: int, idle: int, steal: int, cpu_us: int, load: float = 1.0
) -> dict[str, Any]:
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
