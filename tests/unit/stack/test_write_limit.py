"""The limit on writes, set in the control groups of a host that is a folder."""

import subprocess
from pathlib import Path

import pytest

from sandbox.stack.abilities import WRITE_LIMIT


class Host:
    """The control groups and block devices of a host, in a folder: a disk 8:0 with a partition 8:1."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cgroup = root / "cgroup"
        self.cgroup.mkdir()
        disk, devices = root / "devices" / "sda", root / "block"
        (disk / "sda1").mkdir(parents=True)
        devices.mkdir()
        (disk / "dev").write_text("8:0\n")
        (disk / "sda1" / "partition").write_text("1\n")
        (devices / "8:0").symlink_to(disk)
        (devices / "8:1").symlink_to(disk / "sda1")

    def group(self, path: str, file: str) -> Path:
        """A control group's file."""
        made = self.cgroup / path / file
        made.parent.mkdir(parents=True, exist_ok=True)
        made.touch()
        return made

    def limit(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Runs the script with this host in place of the real one."""
        text = WRITE_LIMIT.replace("/sys/dev/block", str(self.root / "block")).replace("/cgroup", str(self.cgroup))
        argv = ["bash", "-c", text, "limit", *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


@pytest.mark.parametrize(
    ("group", "file", "limited_to", "free"),
    [
        ("system.slice/docker-0abc.scope", "io.max", "8:0 wbps=1000", "8:0 wbps=max"),
        ("docker/0abc", "io.max", "8:0 wbps=1000", "8:0 wbps=max"),
        ("blkio/docker/0abc", "blkio.throttle.write_bps_device", "8:0 1000", "8:0 0"),
        ("blkio/system.slice/docker-0abc.scope", "blkio.throttle.write_bps_device", "8:0 1000", "8:0 0"),
        ("blkio/docker/fff/docker/0abc", "blkio.throttle.write_bps_device", "8:0 1000", "8:0 0"),
    ],
)
@pytest.mark.parametrize("device", ["8:0", "8:1"])
def test_the_limit_is_set_on_the_whole_disk_in_any_layout_of_control_groups(
    host: Host, group: str, file: str, limited_to: str, free: str, device: str
) -> None:
    ours = host.group(group, file)
    host.group(f"{group}/own-of-the-container", file)
    host.group(group.replace("0abc", "9def"), file)
    host.group(group.replace("blkio", "memory"), "memory.limit_in_bytes")
    assert host.limit("0abc", device, "1000").returncode == 0 and ours.read_text() == f"{limited_to}\n"
    assert host.limit("0abc", device, "").returncode == 0 and ours.read_text() == f"{free}\n"
    assert host.limit("0abc").stdout == f"{ours}\n" and ours.read_text() == f"{free}\n", "without a device it looks"
    others = [path for path in host.cgroup.rglob("*") if path.is_file() and path != ours]
    assert others and not any(path.read_text() for path in others)


@pytest.mark.parametrize(
    ("group", "device", "said"),
    [
        ("docker/0abc", "0:45", "the data directory is not on a block device (0:45)"),
        ("docker/other", "8:0", "no limit for block devices among the control groups of the container"),
    ],
)
def test_what_cannot_be_limited_is_said_and_nothing_is_changed(host: Host, group: str, device: str, said: str) -> None:
    file = host.group(group, "io.max")
    ended = host.limit("0abc", device, "1000")
    assert (ended.returncode, ended.stderr) == (1, f"{said}\n") and not file.read_text()
