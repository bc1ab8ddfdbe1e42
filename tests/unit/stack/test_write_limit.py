"""The limit on writes: on which disk of a node, and set in the control groups of a host that is a
folder.
"""

import subprocess
from pathlib import Path

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.stack.control import Control
from sandbox.stack.engine_facts import WRITE_LIMIT
from sandbox.stack.protocol import ExecResult
from unit.stack.fake_docker import FakeDocker, answer


class Host:
    """The control groups and block devices of a host, in a folder: a disk 8:0 with a partition
    8:1.
    """

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
        text = WRITE_LIMIT.replace("/sys/dev/block", str(self.root / "block")).replace(
            "/cgroup", str(self.cgroup)
        )
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
        (
            "blkio/system.slice/docker-0abc.scope",
            "blkio.throttle.write_bps_device",
            "8:0 1000",
            "8:0 0",
        ),
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
    assert (
        host.limit("0abc", device, "1000").returncode == 0 and ours.read_text() == f"{limited_to}\n"
    )
    assert host.limit("0abc", device, "").returncode == 0 and ours.read_text() == f"{free}\n"
    assert host.limit("0abc").stdout == f"{ours}\n" and ours.read_text() == f"{free}\n", (
        "without a device it looks"
    )
    others = [path for path in host.cgroup.rglob("*") if path.is_file() and path != ours]
    assert others and not any(path.read_text() for path in others)


@pytest.mark.parametrize(
    ("group", "device", "said"),
    [
        ("docker/0abc", "0:45", "the data directory is not on a block device (0:45)"),
        (
            "docker/other",
            "8:0",
            "no limit for block devices among the control groups of the container",
        ),
    ],
)
def test_what_cannot_be_limited_is_said_and_nothing_is_changed(
    host: Host, group: str, device: str, said: str
) -> None:
    file = host.group(group, "io.max")
    ended = host.limit("0abc", device, "1000")
    assert (ended.returncode, ended.stderr) == (1, f"{said}\n") and not file.read_text()


def test_writes_are_limited_on_the_disk_of_the_data_directory(
    docker: FakeDocker, node: Control
) -> None:
    docker.on("^exec .*mountinfo", answer("8:1"))
    node.write_limit(1 << 20)
    run = docker.calls[-1]
    assert run[-5:] == (WRITE_LIMIT, "limit", node._id, "8:1", str(1 << 20))
    assert "--rm" in run and "/sys/fs/cgroup:/cgroup" in run and "--privileged" not in run
    node.write_limit(None)
    assert docker.calls[-1][-1] == ""


@pytest.mark.parametrize(
    ("device", "limit", "known"),
    [
        (answer(code=1, stderr="container is not running"), answer(), "container is not running"),
        (answer(""), answer(), "its data directory is on the file system of the container"),
        (
            answer("8:1"),
            answer(code=1, stderr="first\nread-only file system\n"),
            "read-only file system",
        ),
        (answer("8:1"), answer(code=1), "exit code 1"),
    ],
)
def test_writes_that_cannot_be_limited_have_a_reason(
    docker: FakeDocker, node: Control, device: ExecResult, limit: ExecResult, known: str
) -> None:
    docker.on("^exec .*mountinfo", device)
    docker.on("^run", limit)
    with pytest.raises(SandboxError) as refused:
        node.write_limit(1 << 20)
    assert (refused.value.what, refused.value.known) == (
        "the writes of mysql1 cannot be limited",
        known,
    )
    assert refused.value.exit_code is ExitCode.ENVIRONMENT


def test_a_btrfs_is_limited_by_the_device_that_it_is_on(
    docker: FakeDocker, node: Control, tmp_path: Path
) -> None:
    (tmp_path / "mountinfo").write_text(
        "24 21 0:61 / /var/lib/mysql rw,relatime - btrfs /dev/loop3 rw,space_cache\n"
    )
    (tmp_path / "loop3").mkdir()
    (tmp_path / "loop3" / "dev").write_text("7:3\n")

    def run(argv: tuple[str, ...]) -> ExecResult:
        script = (
            argv[-1].replace("/proc/self", str(tmp_path)).replace("/sys/class/block", str(tmp_path))
        )
        return answer(
            subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
        )

    docker.on("^exec .*mountinfo", run)
    node.write_limit(None)
    assert docker.calls[-1][-2] == "7:3"


def test_the_script_finds_the_device_of_the_last_mount(
    docker: FakeDocker, node: Control, tmp_path: Path
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "21 1 0:5 / / rw - overlay overlay rw\n22 21 8:1 / /var/lib/mysql rw - ext4 /dev/sda1"
        " rw\n23 21 7:0 /var/lib/mysql /mnt rw - ext4 /dev/loop0 rw\n24 21 8:2 / /var/lib/mysql rw"
        " - ext4 /dev/sda2 rw\n"
    )
    found: list[str] = []

    def run(argv: tuple[str, ...]) -> ExecResult:
        script = argv[-1].replace("/proc/self/mountinfo", str(mounts))
        found.append(
            subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
        )
        return answer(found[-1])

    docker.on("^exec .*mountinfo", run)
    node.write_limit(None)
    assert found == ["8:2"]
