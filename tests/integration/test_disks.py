"""Data directories on disks of their own, on real servers: filled, slow, without power; no loop
device stays.
"""

import random
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.live import SANDBOX, LiveStack, leftovers, live_stack, run, sandbox
from sandbox.stack.naming import project_name

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(
        not Path("/dev/loop-control").exists(), reason="this machine has no loop devices"
    ),
]
MYSQL = "mysql@9.7"


def loop_devices(name: str) -> list[str]:
    """Those of a stack, by the name that the kernel keeps or by the file."""
    lines = run(["losetup", "--all"]).stdout.splitlines()
    return [line for line in lines if project_name(name) in line]


def gone(name: str) -> None:
    """Nothing of a stack is left."""
    assert leftovers(f"sandbox.stack={project_name(name)}") == [] and loop_devices(name) == []


@pytest.fixture(scope="module")
def stack() -> Iterator[LiveStack]:
    """A server on an ext4 of its own."""
    with live_stack(f"{MYSQL}+relaxed", "--disk", "ext4:1g") as live:
        yield live
    gone(live.name)


def mounted(stack: LiveStack) -> str:
    """Type, source and size in bytes of the data directory's file system."""
    words = "df -B1 --output=fstype,source,size /var/lib/mysql | tail -n 1"
    return run(["docker", "exec", stack.container("mysql1"), "sh", "-c", words]).stdout


def test_the_data_directory_is_a_file_system_of_its_own(stack: LiveStack) -> None:
    kind, source, size = mounted(stack).split()
    assert (kind, source[:9]) == ("ext4", "/dev/loop") and 0.8 * 2**30 < int(size) < 2**30
    direct_io = Path("/sys/block", Path(source).name, "loop/dio")
    assert direct_io.read_text().strip() == "1"
    (node,) = [each for each in stack.data() if each["name"] == "mysql1"]
    assert node["ready"] is not False and len(loop_devices(stack.name)) == 1


@pytest.mark.parametrize(
    "fault",
    [
        "power-loss",
        pytest.param("disk-full", marks=pytest.mark.long),
        pytest.param("slow-disk", marks=pytest.mark.long),
    ],
)
def test_a_fault_of_the_disk_shows_and_heals(stack: LiveStack, fault: str) -> None:
    sandbox("fault", "-n", stack.name, "--fault", fault, "--target", "writer")
    try:
        assert f"broken on purpose: {fault} on mysql1" in sandbox("ps", "-n", stack.name).stdout
    finally:
        sandbox("heal", "-n", stack.name)
    sandbox("start", "-n", stack.name)
    assert stack.role("mysql1") == "writer"


@pytest.mark.long
def test_a_server_that_ends_for_a_full_disk_is_back_after_the_heal(stack: LiveStack) -> None:
    sandbox("fault", "-n", stack.name, "--fault", "disk-full", "--target", "writer")
    abort = "kill -s ABRT $(cat /sandbox/server.pid)"
    run(["docker", "exec", "--user", "0", stack.container("mysql1"), "sh", "-c", abort])
    sandbox("heal", "-n", stack.name)
    assert stack.role("mysql1") == "writer"
    stack.sql("mysql1", "create or replace view sandbox.after_the_heal as select 1")


@pytest.mark.long
def test_writes_that_had_no_room_have_ended_after_the_heal(stack: LiveStack) -> None:
    ledger = stack.ledger("mysql1")
    try:
        ledger.wait_for(300)
        sandbox("fault", "-n", stack.name, "--fault", "disk-full", "--target", "writer")
    finally:
        sandbox("heal", "-n", stack.name)
        began = time.monotonic()
        stack.sql("mysql1", "create or replace view sandbox.after_the_heal as select 2")
        ledger.stop()
    assert time.monotonic() - began < 20, "it tries such a write again after 60 s"


def lost_rows(stack: LiveStack, fault: str) -> int:
    """Acknowledged rows that are gone after a fault hit a server that takes writes all the time."""
    stack.sql("mysql1", "drop table if exists sbtest.ledger")
    ledger = stack.ledger("mysql1")
    try:
        ledger.wait_for(300)
        sandbox("fault", "-n", stack.name, "--fault", fault, "--target", "mysql1")
    finally:
        sandbox("heal", "-n", stack.name)
        sandbox("start", "-n", stack.name)
        ledger.stop()
    there = {int(number) for number in stack.sql("mysql1", "select id from sbtest.ledger").split()}
    return len({*ledger.acknowledged} - there)


@pytest.mark.long
def test_a_lost_host_keeps_what_its_kernel_had(stack: LiveStack) -> None:
    assert lost_rows(stack, "host-loss") == 0


@pytest.mark.long
def test_relaxed_flushing_loses_acknowledged_rows_with_the_power(stack: LiveStack) -> None:
    # A flush each second: an attempt loses nothing where one has just happened.
    assert any(lost_rows(stack, "power-loss") for _ in range(3))


@pytest.mark.long
@pytest.mark.parametrize("disk", ["ext4:1g", "xfs:1g"])
def test_durable_flushing_loses_nothing_with_the_power(disk: str) -> None:
    with live_stack(f"{MYSQL}+durable", "--disk", disk) as durable:
        assert [lost_rows(durable, "power-loss") for _ in range(2)] == [0, 0]
    gone(durable.name)


@pytest.mark.long
def test_a_file_system_that_cannot_lose_power_is_skipped() -> None:
    with live_stack(MYSQL, "--disk", "btrfs:1g") as live:
        done = sandbox(
            "fault", "-n", live.name, "--fault", "power-loss", "--target", "writer", check=False
        )
        assert done.returncode == 3 and "btrfs cannot be shut down" in done.stderr
        for fault in ("disk-full", "slow-disk"):
            sandbox("fault", "-n", live.name, "--fault", fault, "--target", "writer")
            sandbox("heal", "-n", live.name)
    gone(live.name)


@pytest.mark.long
def test_a_cluster_without_power_forms_again() -> None:
    with live_stack("galera3", "--disk", "ext4:1g") as cluster:
        assert len(loop_devices(cluster.name)) == 3
        sandbox("fault", "-n", cluster.name, "--fault", "power-loss", "--target", "all")
        sandbox("heal", "-n", cluster.name)
        sandbox("start", "-n", cluster.name)
        assert sorted(cluster.writers()) == ["galera1", "galera2", "galera3"]
    gone(cluster.name)


def killed_after(name: str, seconds: float) -> None:
    """An `up` that SIGKILL ends; the clients that it has started live on."""
    words = [
        SANDBOX,
        "up",
        "-n",
        name,
        "--profile",
        "mysql@9.7+replica1",
        "--disk",
        "ext4:1g",
        "--snapshots",
        "0",
    ]
    with subprocess.Popen(
        [str(word) for word in words], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    ) as up:
        time.sleep(seconds)
        up.send_signal(signal.SIGKILL)


@pytest.mark.long
def test_whenever_up_is_killed_no_loop_device_stays() -> None:
    draw, attached = random.Random(1), 0
    for _ in range(10):
        name = f"t-{uuid.uuid4().hex[:6]}"
        killed_after(name, draw.uniform(0.8, 4))
        attached += bool(loop_devices(name))
        sandbox("down", "-n", name)
        gone(name)
    assert attached, "none was killed after its disks were made"


def test_a_wrong_disk_starts_nothing() -> None:
    name = f"t-{uuid.uuid4().hex[:6]}"
    for disk in ("zfs:4g", "ext4", "ext4:100m"):
        done = sandbox("up", "-n", name, "--profile", MYSQL, "--disk", disk, check=False)
        assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 3, done.stderr
    gone(name)
