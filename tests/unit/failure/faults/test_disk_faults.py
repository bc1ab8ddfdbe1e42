"""Faults of a disk of its own: full, or without its power; and which data directory has one."""

from dataclasses import dataclass, field

import pytest

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.failure.faults.common.node import data_mount
from sandbox.failure.faults.disk_full import DiskFull, trying
from sandbox.failure.faults.power_loss import PowerLoss
from sandbox.stack.protocol import ExecResult
from unit.failure.faults.fake_node import FakeNode, scene
from unit.failure.faults.test_every_fault import furnish

ROOT = "1 0 0:50 / / rw - overlay overlay rw\n"
HOSTS = "3 1 254:1 /docker/containers/x/hosts /etc/hosts rw - ext4 /dev/vda1 rw\n"


def test_the_ballast_leaves_what_it_shall(node: FakeNode) -> None:
    furnish(node, "disk-full")
    DiskFull(leave_bytes=200).inject(node, scene())
    assert (node.root / "var/lib/mysql/.sandbox-ballast").stat().st_size == 4800
    DiskFull().heal(node, {})
    assert not (node.root / "var/lib/mysql/.sandbox-ballast").exists()


def test_a_disk_with_less_room_than_shall_be_left_is_not_filled(node: FakeNode) -> None:
    furnish(node, "disk-full")
    with pytest.raises(MachineError) as refused:
        DiskFull(leave_bytes=5000).inject(node, scene())
    assert refused.value.known == "fewer than 5000 bytes were free"
    assert not (node.root / "var/lib/mysql/.sandbox-ballast").exists()


def test_a_write_that_fails_for_another_reason_is_no_full_disk(node: FakeNode) -> None:
    furnish(node, "disk-full")
    node.tool("dd", "echo 'dd: Permission denied' >&2; exit 1\n")
    with pytest.raises(MachineError, match="filling the disk of galera1 failed") as refused:
        DiskFull().inject(node, scene())
    assert refused.value.known == "dd: Permission denied"
    assert node.execute(trying(1)).code == 1


def test_a_server_that_a_full_disk_ended_is_in_effect_and_starts_for_the_heal(
    node: FakeNode,
) -> None:
    furnish(node, "disk-full")
    DiskFull().inject(node, scene())
    node.end("exited (134)")
    assert DiskFull().missing_effect(node, scene()) is None
    DiskFull().heal(node, {})
    assert node.whole and not (node.root / "var/lib/mysql/.sandbox-ballast").exists()
    assert node.calls[-2:] == [
        "in_volumes",
        "start",
    ], "an entrypoint that meets a vanishing file fails"


def test_a_ballast_that_stays_is_no_heal(node: FakeNode) -> None:
    node.tool("rm", "echo 'rm: Read-only file system' >&2; exit 1\n")
    with pytest.raises(MachineError) as refused:
        DiskFull().heal(node, {})
    assert refused.value.known == "rm: Read-only file system"


@pytest.mark.parametrize(
    ("mounts", "found"),
    [
        (ROOT, {"shared": "it is on the file system of the container"}),
        (
            ROOT
            + "2 1 254:1 /docker/volumes/a/_data /var/lib/mysql rw - ext4 /dev/vda1 rw\n"
            + HOSTS,
            {"shared": "its file system is mounted at /etc/hosts, too"},
        ),
        (
            ROOT + "2 1 254:9 /volumes/a/_data /var/lib/mysql rw - ext4 /dev/vdb1 rw\n" + HOSTS,
            {"shared": "it is the folder /volumes/a/_data of /dev/vdb1"},
        ),
        (
            ROOT + "2 1 7:0 /data /var/lib/mysql rw - ext4 /dev/loop0 rw\n" + HOSTS,
            {"device": "7:0"},
        ),
        (
            ROOT + "2 1 7:0 / /var/lib/mysql rw shared:1 - ext4 /dev/loop0 rw\n" + HOSTS,
            {"device": "7:0"},
        ),
        (
            ROOT + "2 1 0:60 / /var/lib/mysql rw - tmpfs tmpfs rw,size=262144k,mode=755\n",
            {"device": "0:60", "size": "268435456"},
        ),
        (ROOT + "2 1 0:60 / /var/lib/mysql rw - tmpfs tmpfs rw\n", {"device": "0:60"}),
    ],
)
def test_which_data_directory_has_a_disk_of_its_own(mounts: str, found: dict[str, str]) -> None:
    mount = data_mount(mounts)
    assert {name: mount[name] for name in ("shared", "device", "size") if name in mount} == found


@pytest.mark.parametrize(
    ("mount", "blocks", "known"),
    [
        (
            "2 1 254:1 /docker/volumes/a/_data /var/lib/mysql rw - ext4 /dev/vda1 rw\n",
            1,
            "it is the folder",
        ),
        ("2 1 7:0 / /var/lib/mysql rw - ext4 /dev/loop0 rw\n", 2 * 1024**3, "1024 GiB; at most 64"),
        ("2 1 0:60 / /var/lib/mysql rw - tmpfs tmpfs rw\n", None, "of unknown size"),
        ("2 1 0:60 / /var/lib/mysql rw - tmpfs tmpfs rw,size=65g\n", None, "65 GiB; at most 64"),
    ],
)
def test_no_disk_is_filled_that_may_be_the_hosts(
    node: FakeNode, mount: str, blocks: int | None, known: str
) -> None:
    (node.root / "proc/self/mountinfo").write_text(ROOT + mount)
    if blocks is not None:
        device = node.root / "sys/dev/block" / mount.split()[2]
        device.mkdir(parents=True)
        (device / "size").write_text(f"{blocks}\n")
    with pytest.raises(SandboxError) as refused:
        DiskFull().before(node, scene())
    assert known in refused.value.known and "may be the host's" in refused.value.what
    assert refused.value.exit_code is ExitCode.UNKNOWN


def test_a_btrfs_has_the_size_of_its_device(node: FakeNode) -> None:
    mount = "2 1 0:61 / /var/lib/mysql rw - btrfs /dev/loop3 rw\n"
    (node.root / "proc/self/mountinfo").write_text(ROOT + mount)
    device = node.root / "sys/class/block/loop3"
    device.mkdir(parents=True)
    (device / "size").write_text("2097152\n")
    assert DiskFull().before(node, scene()) == {}


@pytest.mark.parametrize(
    ("mount", "known"),
    [
        (
            "2 1 254:1 /docker/volumes/a/_data /var/lib/mysql rw - ext4 /dev/vda1 rw\n",
            "it is the folder",
        ),
        ("2 1 254:1 / /var/lib/mysql rw - ext4 /dev/vda1 rw\n", "it is / of /dev/vda1"),
        (
            "2 1 7:0 /volumes/a/_data /var/lib/mysql rw - ext4 /dev/loop0 rw\n",
            "it is /volumes/a/_data of /dev/loop0",
        ),
        (
            "2 1 0:61 / /var/lib/mysql rw - btrfs /dev/loop0 rw\n",
            "btrfs cannot be shut down without flushing",
        ),
    ],
)
def test_no_disk_loses_power_that_is_not_the_nodes_own(
    node: FakeNode, mount: str, known: str
) -> None:
    (node.root / "proc/self/mountinfo").write_text(ROOT + mount)
    with pytest.raises(SandboxError) as refused:
        PowerLoss().before(node, scene())
    assert known in refused.value.known and refused.value.exit_code is ExitCode.UNKNOWN
    assert not {"beside_disk", "signal KILL"} & {*node.calls}


def test_no_packet_leaves_a_node_whose_disk_has_lost_its_power(node: FakeNode) -> None:
    furnish(node, "power-loss")
    PowerLoss().before(node, scene())
    PowerLoss().inject(node, scene())
    rules = (node.root / "rules-before").read_text()
    assert "-A OUTPUT -j SANDBOX-FAULT-POWER" in rules and "-A SANDBOX-FAULT-POWER -j DROP" in rules
    assert node.calls[-2:] == ["signal KILL", "release"], "or the engine could not unmount the disk"


def test_what_shares_the_host_loses_its_power_too_and_does_not_keep_the_disk_mounted(
    node: FakeNode,
) -> None:
    furnish(node, "power-loss")
    node.name, node.kind = "sshd1", "manager"
    assert PowerLoss().befalls_host() and node.kind in PowerLoss.kinds
    PowerLoss().before(node, scene())
    PowerLoss().inject(node, scene())
    assert node.status == "exited (137)" and node.calls[-1] == "release"
    assert not (node.root / "powerless").exists(), (
        "XFS lets nobody open its root once it is shut down"
    )
    PowerLoss().heal(node, {})
    assert node.whole


def test_a_server_may_end_by_itself_when_its_disk_is_gone(node: FakeNode) -> None:
    furnish(node, "power-loss")
    cut = node.beside_disk

    def crashing(script: str, timeout_s: float = 10.0) -> ExecResult:
        result = cut(script, timeout_s)
        node.end("exited (134)")
        return result

    node.beside_disk = crashing  # type: ignore[method-assign]
    PowerLoss().inject(node, scene())
    assert PowerLoss().missing_effect(node, scene()) is None and node.calls[-1] == "release"


def test_a_power_cut_that_the_engine_refuses_is_an_error(node: FakeNode) -> None:
    furnish(node, "power-loss")
    node.status = "paused"
    with pytest.raises(MachineError, match="does not run"):
        PowerLoss().inject(node, scene())


def test_a_loss_of_power_that_was_ended_halfway_is_healed(node: FakeNode) -> None:
    furnish(node, "power-loss")
    node.tool("cp", 'echo "cp: cannot create: Input/output error" >&2; exit 1\n')
    PowerLoss().heal(node, {})
    assert [call for call in node.calls if call != "execute"] == [
        "signal KILL",
        "release",
        "start",
    ] and node.whole


CAUGHT, UNCAUGHT = "00000001000024e8", "00000001000024c8"
"""Signals that a server catches, and that a crashing one has left of them."""


@dataclass
class Server:
    """How a server answers the writes that are asked for after a heal, and whether its crash has
    begun by then.
    """

    node: FakeNode
    answers: list[str]
    asked: list[str] = field(default_factory=list)

    def ask(self, statement: str, timeout_s: float = 10.0) -> ExecResult:
        """Takes the next of the answers."""
        assert timeout_s > 60, "a write without room is tried again after a minute"
        self.asked.append(statement)
        said = self.answers.pop(0)
        self.node.tool("grep", f"echo 'SigCgt: {UNCAUGHT if said == 'crashes' else CAUGHT}'\n")
        if said == "ends":
            self.node.end("exited (134)")
        return (
            ExecResult(1, "", "ERROR 2013: Lost connection")
            if said in ("ends", "starts")
            else ExecResult(0, "", "")
        )


@pytest.mark.parametrize(
    ("answers", "started"),
    [
        (["writes"], False),
        (["ends"], True),
        (["crashes", "ends"], True),
        (["starts", "writes"], False),
    ],
)
def test_the_heal_follows_a_server_until_it_writes_or_has_ended(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, answers: list[str], started: bool
) -> None:
    monkeypatch.setattr("sandbox.failure.faults.disk_full._PAUSE_S", 0.01)
    server = Server(node, answers)
    monkeypatch.setattr(node, "ask", server.ask)
    DiskFull().settle(node)
    assert not server.answers and server.asked[0].startswith("FLUSH LOCAL")
    assert ("start" in node.calls) is started and node.whole


@pytest.mark.parametrize("status", ["paused", "gone"])
def test_what_another_fault_does_to_it_meanwhile_is_not_waited_for(
    node: FakeNode, status: str
) -> None:
    node.status = status
    DiskFull().settle(node)
    assert "start" not in node.calls
