"""Faults of a server, its disk and its limits: what each does to a node, and what shows that it works."""

import pytest

from sandbox.errors import ExitCode, MachineError, SandboxError
from sandbox.faults.common.own_disk import data_mount
from sandbox.faults.corruption import Corruption
from sandbox.faults.disk_full import DiskFull, trying
from sandbox.faults.graceful import Graceful
from sandbox.faults.hang import Hang
from sandbox.faults.out_of_memory import OutOfMemory
from sandbox.faults.power_loss import PowerLoss
from sandbox.faults.server_crash import ServerCrash
from sandbox.faults.slow_disk import SlowDisk, writing
from sandbox.faults.slow_node import SlowNode
from sandbox.faults.sql import SqlFault
from sandbox.faults.unplug import Unplug
from sandbox.stack.protocol import ExecResult, Limits
from unit.faults.fake_node import FakeNode, scene
from unit.faults.test_every_fault import furnish

ROOT = "1 0 0:50 / / rw - overlay overlay rw\n"
HOSTS = "3 1 254:1 /docker/containers/x/hosts /etc/hosts rw - ext4 /dev/vda1 rw\n"


def test_a_crash_leaves_the_container(node: FakeNode) -> None:
    ServerCrash().inject(node, scene())
    assert node.status == "running" and "signal USR1" in node.calls
    ServerCrash().heal(node, {})
    assert node.calls[-1] == "signal USR2" and node.whole


def test_a_crash_that_ended_the_container_is_another_fault(node: FakeNode) -> None:
    node.end("exited (137)")
    assert ServerCrash().missing_effect(node, scene()) == "its container, which stays, is exited (137)"
    ServerCrash().heal(node, {})
    assert node.calls[-1] == "start"


def test_a_server_that_survives_is_an_error(node: FakeNode) -> None:
    node.stays_alive = True
    with pytest.raises(SandboxError, match="the server of galera1 does not end"):
        ServerCrash().inject(node, scene())


def test_a_hang_stops_the_container_or_the_server_alone(node: FakeNode) -> None:
    Hang().inject(node, scene())
    assert node.status == "paused"
    Hang().heal(node, {})
    Hang(what="server").inject(node, scene())
    assert node.status == "running" and not node.whole
    assert Hang(what="server").missing_effect(node, scene()) is None
    Hang(what="server").heal(node, {})
    assert node.whole and Hang(what="server").missing_effect(node, scene()) == "the state of its server is 'S', not T"


def test_a_hung_server_that_was_killed_since_needs_no_signal(node: FakeNode) -> None:
    Hang(what="server").inject(node, scene())
    node.signal("USR1")
    Hang(what="server").heal(node, {})
    assert node.status == "running"


def test_a_proxy_has_no_server_of_its_own_to_stop(node: FakeNode) -> None:
    node.kind = "proxy"
    with pytest.raises(SandboxError) as refused:
        Hang(what="server").before(node, scene())
    assert refused.value.exit_code is ExitCode.BAD_INPUT and "only its container can" in refused.value.known


def test_a_graceful_stop_has_its_time(node: FakeNode) -> None:
    Graceful(grace_s=7).inject(node, scene())
    assert node.calls == ["stop 7"]


def test_an_unplugged_node_may_come_back_elsewhere(node: FakeNode) -> None:
    assert Unplug().missing_effect(node, scene()) == "it still has the address 172.18.0.2"
    Unplug().inject(node, scene())
    Unplug().heal(node, {})
    assert node.address() == "172.18.0.9"


@pytest.mark.parametrize(
    ("code", "missing"),
    [(124, None), (0, "1048576 bytes are written in 0.5 s"), (1, "a write of 1048576 bytes fails (1)")],
)
def test_a_slow_disk_takes_longer_than_half_of_what_its_limit_says(
    node: FakeNode, code: int, missing: str | None
) -> None:
    node.tool("timeout", f'echo "$@" >>"$ROOT/tried"; exit {code}\n')
    assert SlowDisk().missing_effect(node, scene()) == missing
    first, *second = (node.root / "tried").read_text().splitlines()
    assert first.startswith("0.500 dd if=/dev/zero") and first.endswith("count=16 oflag=direct conv=fsync")
    assert [line.endswith("count=16 conv=fsync") for line in second] == ([True] if code == 1 else [])


def test_what_a_slow_disk_was_tried_with_is_removed(node: FakeNode) -> None:
    assert node.execute(writing(65536, 10.0)).code == 0
    assert not list((node.root / "var/lib/mysql").iterdir())


def test_a_disk_that_does_not_answer_at_all_is_slow(node: FakeNode) -> None:
    node.late = True
    assert SlowDisk().missing_effect(node, scene()) is None


def test_a_slow_node_keeps_its_memory(node: FakeNode) -> None:
    node.now = Limits(None, 1_000_000)
    before = SlowNode().before(node, scene())
    SlowNode(cpus=0.25).inject(node, scene())
    assert (
        node.now == Limits(0.25, 1_000_000) and SlowNode().missing_effect(node, scene()) == "it may use 0.25 processors"
    )
    SlowNode().heal(node, before)
    assert before == {"cpus": "", "memory_bytes": "1000000"} and node.now == Limits(None, 1_000_000)
    assert SlowNode().missing_effect(node, scene()) == "it may use all processors"


@pytest.mark.parametrize("refuses", [False, True])
def test_memory_is_lowered_until_the_kernel_kills(node: FakeNode, refuses: bool) -> None:
    node.used_bytes, node.refuses_less_than_used = 400_000_000, refuses
    before = OutOfMemory().before(node, scene())
    OutOfMemory(share=0.8).inject(node, scene())
    assert node.status == "exited (137), out of memory"
    limits = [call for call in node.calls if call.startswith("limit")]
    expected = ["320000000", "404194304"] if refuses else ["320000000", "256000000"]
    assert limits == [f"limit 2.0 {size}" for size in expected]
    OutOfMemory().heal(node, before)
    assert node.whole and node.calls[-2:] == ["limit 2.0 None", "start"], "first the limits, so that it can start"


@pytest.mark.parametrize(
    ("status", "missing"),
    [
        ("exited (137), out of memory", None),
        ("exited (137)", None),
        ("exited (1)", "its container is exited (1)"),
        ("running", "the kernel has not killed it"),
    ],
)
def test_whether_memory_was_the_reason(node: FakeNode, status: str, missing: str | None) -> None:
    node.status = status
    assert OutOfMemory().missing_effect(node, scene()) == missing


def test_a_server_that_died_within_its_container_counts_and_starts_again(node: FakeNode) -> None:
    node.signal("USR1")
    assert OutOfMemory().missing_effect(node, scene()) is None
    OutOfMemory().heal(node, {"cpus": "2.0", "memory_bytes": ""})
    assert node.whole


def test_a_page_is_damaged_and_restored_to_the_byte(node: FakeNode) -> None:
    furnish(node, "corruption")
    table = node.root / "var/lib/mysql/sandbox/ledger.ibd"
    intact = table.read_bytes()
    before = Corruption().before(node, scene())
    assert before == {"file": "/var/lib/mysql/sandbox/ledger.ibd", "offset": "65540", "bytes": "00000004"}
    Corruption().inject(node, scene())
    assert node.page(4) == b"\xff\xff\xff\xfb" and node.page(3) == b"\0\0\0\3"
    assert node.calls[-1] == "signal USR2"
    node.end("exited (1)")  # the server refused the page
    assert Corruption().missing_effect(node, scene()) is None
    Corruption().heal(node, before)
    assert table.read_bytes() == intact and node.whole


def test_a_table_is_written_back_before_a_page_is_damaged(node: FakeNode) -> None:
    furnish(node, "corruption")
    table, content = node.root / "var/lib/mysql/sandbox/ledger.ibd", node.root / "content"
    table.rename(content)
    table.write_bytes(bytes(6 * 16384))
    node.tool("mysql", f'echo "$@" >"$ROOT/asked"; cp "{content}" "{table}"\n')
    assert Corruption().before(node, scene())["bytes"] == "00000004"
    assert "innodb_max_dirty_pages_pct = 0" in (node.root / "asked").read_text()


@pytest.mark.parametrize(
    ("fault", "known"),
    [
        (Corruption(page=9), "its number there is absent: not written yet, or another innodb_page_size"),
        (Corruption(page=2, page_bytes=8192), "its number there is 00000001"),
        (Corruption(file="sbtest/none"), "there is no such file"),
    ],
)
def test_a_page_that_is_not_there_is_refused_before_anything_breaks(
    node: FakeNode, fault: Corruption, known: str
) -> None:
    furnish(node, "corruption")
    node.tool("mysql", "")
    with pytest.raises(MachineError) as refused:
        fault.before(node, scene())
    assert known in refused.value.known and node.whole


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


def test_a_server_that_a_full_disk_ended_is_in_effect_and_starts_for_the_heal(node: FakeNode) -> None:
    furnish(node, "disk-full")
    DiskFull().inject(node, scene())
    node.end("exited (134)")
    assert DiskFull().missing_effect(node, scene()) is None
    DiskFull().heal(node, {})
    assert node.whole and not (node.root / "var/lib/mysql/.sandbox-ballast").exists()


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
            ROOT + "2 1 254:1 /docker/volumes/a/_data /var/lib/mysql rw - ext4 /dev/vda1 rw\n" + HOSTS,
            {"shared": "its file system is mounted at /etc/hosts, too"},
        ),
        (
            ROOT + "2 1 254:9 /volumes/a/_data /var/lib/mysql rw - ext4 /dev/vdb1 rw\n" + HOSTS,
            {"shared": "it is the folder /volumes/a/_data of /dev/vdb1"},
        ),
        (ROOT + "2 1 7:0 /data /var/lib/mysql rw - ext4 /dev/loop0 rw\n" + HOSTS, {"device": "7:0"}),
        (ROOT + "2 1 7:0 / /var/lib/mysql rw shared:1 - ext4 /dev/loop0 rw\n" + HOSTS, {"device": "7:0"}),
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
        ("2 1 254:1 /docker/volumes/a/_data /var/lib/mysql rw - ext4 /dev/vda1 rw\n", 1, "it is the folder"),
        ("2 1 7:0 / /var/lib/mysql rw - ext4 /dev/loop0 rw\n", 2 * 1024**3, "1024 GiB; at most 64"),
        ("2 1 0:60 / /var/lib/mysql rw - tmpfs tmpfs rw\n", None, "of unknown size"),
        ("2 1 0:60 / /var/lib/mysql rw - tmpfs tmpfs rw,size=65g\n", None, "65 GiB; at most 64"),
    ],
)
def test_no_disk_is_filled_that_may_be_the_hosts(node: FakeNode, mount: str, blocks: int | None, known: str) -> None:
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
        ("2 1 254:1 /docker/volumes/a/_data /var/lib/mysql rw - ext4 /dev/vda1 rw\n", "it is the folder"),
        ("2 1 254:1 / /var/lib/mysql rw - ext4 /dev/vda1 rw\n", "it is / of /dev/vda1"),
        ("2 1 7:0 /volumes/a/_data /var/lib/mysql rw - ext4 /dev/loop0 rw\n", "it is /volumes/a/_data of /dev/loop0"),
        ("2 1 0:61 / /var/lib/mysql rw - btrfs /dev/loop0 rw\n", "btrfs cannot be shut down without flushing"),
    ],
)
def test_no_disk_loses_power_that_is_not_the_nodes_own(node: FakeNode, mount: str, known: str) -> None:
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
    assert [call for call in node.calls if call != "execute"] == ["signal KILL", "release", "start"] and node.whole


def test_a_statement_goes_through_the_nodes_own_client(node: FakeNode) -> None:
    furnish(node, "sql")
    SqlFault(statement="SET GLOBAL x = 'it''s'").inject(node, scene())
    words = (node.root / "asked").read_text().splitlines()
    assert words == [
        "--defaults-file=" + str(node.root / "sandbox/client.cnf"),
        "-N",
        "-B",
        "-e",
        "SET GLOBAL x = 'it''s'",
    ]
    SqlFault(statement="x", heal_statement="SET GLOBAL x = 1").heal(node, {})
    assert (node.root / "asked").read_text().endswith("SET GLOBAL x = 1\n")


@pytest.mark.parametrize("error", ["ERROR 2013 (HY000): Lost connection", "ERROR 1053 (08S01): Server shutdown"])
def test_a_statement_may_end_its_connection(node: FakeNode, error: str) -> None:
    node.tool("mysql", f"echo '{error}' >&2; exit 1\n")
    SqlFault(statement="SHUTDOWN").inject(node, scene())
    assert SqlFault(statement="SHUTDOWN").missing_effect(node, scene()) is None


def test_a_server_that_a_statement_ended_starts_again(node: FakeNode) -> None:
    furnish(node, "sql")
    node.end("exited (0)")
    SqlFault(statement="SHUTDOWN", heal_statement="DO 1").heal(node, {})
    assert node.whole and not (node.root / "asked").exists()


def test_a_statement_that_is_refused_is_no_injection_and_no_heal(node: FakeNode) -> None:
    node.tool("mysql", "echo 'ERROR 1064 (42000): You have an error' >&2; exit 1\n")
    fault = SqlFault(statement="x", heal_statement="y")
    with pytest.raises(MachineError) as refused:
        fault.inject(node, scene())
    with pytest.raises(MachineError) as unhealed:
        fault.heal(node, {})
    assert refused.value.known == unhealed.value.known == "ERROR 1064 (42000): You have an error"


def test_a_statement_of_no_end_is_an_error_that_says_how_to_allow_more(node: FakeNode) -> None:
    node.late = True
    with pytest.raises(MachineError) as refused:
        SqlFault(statement="DO SLEEP(60)", timeout_s=0.5).inject(node, scene())
    assert refused.value.known == "no answer within 0.5 s; timeout_s allows more"


def test_an_external_server_is_broken_by_its_owner(node: FakeNode) -> None:
    node.kind = "external"
    with pytest.raises(SandboxError) as refused:
        SqlFault(statement="SHUTDOWN").before(node, scene())
    assert refused.value.exit_code is ExitCode.BAD_INPUT and "by-hand" in refused.value.known
