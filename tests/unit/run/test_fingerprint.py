"""The fingerprint of the machine, put together from engine, client and server nodes."""

import json
import sys
from pathlib import Path

import pytest

from sandbox.run.fingerprint import file_system_of, take_fingerprint
from sandbox.run.in_client import fingerprint
from sandbox.run.snapshot import ServerState
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
    assert (environment.cpu_model, environment.cpu_governor, environment.cpus) == ("Test CPU", "performance", 4)
    assert (environment.engine_version, environment.storage_driver) == ("28.2.2", "overlay2")
    assert environment.data_file_system == {"mysql1": "ext4"}
    assert environment.inputs.assignments == ["innodb_io_capacity=200"] and environment.inputs.cpus == "1"


@pytest.mark.skipif(sys.platform != "linux", reason="the script reads /proc, which only Linux has")
def test_the_script_reads_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    fingerprint.main()
    seen = json.loads(capsys.readouterr().out)
    assert set(seen) == {"cpu_model", "cpu_governor", "memory_bytes", "kernel", "virtualization"}
    assert seen["memory_bytes"] > 0 and seen["kernel"] == Path("/proc/sys/kernel/osrelease").read_text().strip()


def test_a_machine_with_the_flag_is_a_virtual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprint, "text_of", lambda path: None)
    assert fingerprint.virtualization("flags\t: fpu hypervisor sse\n") == "unnamed hypervisor"
    assert fingerprint.virtualization("flags\t: fpu sse\n") == "none"
    assert fingerprint.virtualization("CPU part\t: 0xd0c\n") is None
