"""Faults of a server and its limits: what each does to a node, and what shows that it works."""

import time
from pathlib import Path

import pytest

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.failure import fault
from sandbox.failure.faults import out_of_memory, sql
from sandbox.failure.faults.corruption import Corruption
from sandbox.failure.faults.graceful import Graceful
from sandbox.failure.faults.hang import Hang
from sandbox.failure.faults.out_of_memory import OutOfMemory
from sandbox.failure.faults.server_crash import ServerCrash
from sandbox.failure.faults.slow_disk import SlowDisk, writing
from sandbox.failure.faults.slow_node import SlowNode
from sandbox.failure.faults.sql import SqlFault
from sandbox.failure.faults.unplug import Unplug
from sandbox.failure.guard import PATIENCE_S
from sandbox.profile.library import Kind
from sandbox.stack.protocol import ExecResult, Limits
from unit.failure.faults.fake_node import FakeNode, scene
from unit.failure.faults.recording_node import RecordingNode
from unit.failure.faults.test_every_fault import furnish


def test_a_crash_leaves_the_container(node: FakeNode) -> None:
    ServerCrash().inject(node, scene())
    assert node.status == "running" and "signal USR1" in node.calls
    ServerCrash().heal(node, {})
    assert node.calls[-1] == "signal USR2" and node.whole


def test_a_crash_that_ended_the_container_is_another_fault(node: FakeNode) -> None:
    node.end("exited (137)")
    assert (
        ServerCrash().missing_effect(node, scene()) == "its container, which stays, is exited (137)"
    )
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
    assert (
        node.whole
        and Hang(what="server").missing_effect(node, scene())
        == "the state of its server is 'S', not T"
    )


def test_a_hung_server_that_was_killed_since_needs_no_signal(node: FakeNode) -> None:
    Hang(what="server").inject(node, scene())
    node.signal("USR1")
    Hang(what="server").heal(node, {})
    assert node.status == "running"


def test_a_proxy_has_no_server_of_its_own_to_stop(node: FakeNode) -> None:
    node.kind = "proxy"
    with pytest.raises(SandboxError) as refused:
        Hang(what="server").before(node, scene())
    assert (
        refused.value.exit_code is ExitCode.BAD_INPUT
        and "only its container can" in refused.value.known
    )


def test_a_graceful_stop_has_its_time(node: FakeNode) -> None:
    Graceful(grace_s=7).inject(node, scene())
    assert node.calls == ["stop 7"]


@pytest.mark.parametrize(
    ("kind", "listens"), [("database", True), ("database", False), ("proxy", False)]
)
def test_a_stop_that_is_still_under_way_is_waited_for(
    node: FakeNode, kind: Kind, listens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.kind = kind
    if not listens:
        node._listen("")
    monkeypatch.setattr(fault.soon, "__defaults__", (60.0,))  # the stop ends at the first wait
    monkeypatch.setattr(time, "sleep", lambda _: node.end("exited (0)"))
    Graceful().heal(node, {})
    assert node.whole and "start" in node.calls


def test_a_server_that_never_got_the_signal_is_left_alone(node: FakeNode) -> None:
    Graceful().heal(node, {})
    assert node.whole and not {"start", "stop 60"} & {*node.calls}


def test_an_unplugged_node_may_come_back_elsewhere(node: FakeNode) -> None:
    assert Unplug().missing_effect(node, scene()) == "it still has the address 172.18.0.2"
    Unplug().inject(node, scene())
    Unplug().heal(node, {})
    assert node.address() == "172.18.0.9"


@pytest.mark.parametrize(
    ("code", "missing"),
    [
        (124, None),
        (0, "1048576 bytes are written in 0.5 s"),
        (1, "a write of 1048576 bytes fails (1)"),
    ],
)
def test_a_slow_disk_takes_longer_than_half_of_what_its_limit_says(
    node: FakeNode, code: int, missing: str | None
) -> None:
    node.tool("timeout", f'echo "$@" >>"$ROOT/tried"; exit {code}\n')
    assert SlowDisk().missing_effect(node, scene()) == missing
    first, *second = (node.root / "tried").read_text().splitlines()
    assert first.startswith("0.500 dd if=/dev/zero") and first.endswith(
        "count=16 oflag=direct conv=fsync"
    )
    assert [line.endswith("count=16 conv=fsync") for line in second] == (
        [True] if code == 1 else []
    )


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
        node.now == Limits(0.25, 1_000_000)
        and SlowNode().missing_effect(node, scene()) == "it may use 0.25 processors"
    )
    SlowNode().heal(node, before)
    assert before == {"cpus": ""} and node.now == Limits(None, 1_000_000)
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
    assert node.whole and node.calls[-2:] == [
        "limit 2.0 None",
        "start",
    ], "first the limits, so that it can start"


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
    OutOfMemory().heal(node, {"memory_bytes": ""})
    assert node.whole


def test_a_server_that_the_kernel_has_not_killed_is_no_more_its_choice(node: FakeNode) -> None:
    before = OutOfMemory().before(node, scene())
    node.execute(out_of_memory._CHOOSE_SERVER)
    score = Path("/proc") / (node.root / "sandbox/server.pid").read_text().strip() / "oom_score_adj"
    assert score.read_text() == "1000\n"
    OutOfMemory().heal(node, before)
    assert score.read_text() == Path("/proc/self/oom_score_adj").read_text()


def test_two_limits_of_one_node_may_be_healed_in_any_order(node: FakeNode) -> None:
    slow, full = SlowNode(), OutOfMemory()
    before_slow = slow.before(node, scene())
    slow.inject(node, scene())
    before_full = full.before(node, scene())
    full.inject(node, scene())
    slow.heal(node, before_slow)
    full.heal(node, before_full)
    assert node.now == Limits(2.0, None) and node.whole


def test_a_page_is_damaged_and_restored_to_the_byte(node: FakeNode) -> None:
    furnish(node, "corruption")
    table = node.root / "var/lib/mysql/sandbox/ledger.ibd"
    intact = table.read_bytes()
    before = Corruption().before(node, scene())
    assert before == {
        "file": "/var/lib/mysql/sandbox/ledger.ibd",
        "offset": "65540",
        "bytes": "00000004",
    }
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
        (
            Corruption(page=9),
            "its number there is absent: not written yet, or another innodb_page_size",
        ),
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


@pytest.mark.parametrize(
    "error", ["ERROR 2013 (HY000): Lost connection", "ERROR 1053 (08S01): Server shutdown"]
)
def test_a_statement_may_end_its_connection(node: FakeNode, error: str) -> None:
    node.tool("mysql", f"echo '{error}' >&2; exit 1\n")
    SqlFault(statement="SHUTDOWN").inject(node, scene())
    assert SqlFault(statement="SHUTDOWN").missing_effect(node, scene()) is None


def test_a_server_that_a_statement_ended_starts_again(node: FakeNode) -> None:
    furnish(node, "sql")
    node.end("exited (0)")
    SqlFault(statement="SHUTDOWN", heal_statement="DO 1").heal(node, {})
    assert node.whole and not (node.root / "asked").exists()


def test_a_server_that_still_shuts_down_is_waited_for_and_starts_again(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    furnish(node, "sql")
    node._listen("")
    monkeypatch.setattr(time, "sleep", lambda _: node.end("exited (0)"))
    SqlFault(statement="SHUTDOWN", heal_statement="DO 1").heal(node, {})
    assert node.whole and "start" in node.calls and not (node.root / "asked").exists()


def test_a_server_whose_end_does_not_come_is_healed_by_its_statement(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    furnish(node, "sql")
    node._listen("")
    monkeypatch.setattr(sql, "SHUTDOWN_LIMIT_S", 0.0)
    SqlFault(statement="x", heal_statement="DO 1").heal(node, {})
    assert (node.root / "asked").read_text().endswith("DO 1\n") and "start" not in node.calls


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


def external(*answers: str, says: str = "") -> RecordingNode:
    """An external server that answers so, each answer an error or empty, and from then on
    ``says``.
    """
    made = [ExecResult(int(bool(error)), "", f"{error}\n") for error in (*answers, says)]
    return RecordingNode(
        "external1", "external", status="external", answers=made[:-1], said=made[-1]
    )


AWAY = "ERROR 2003 (HY000): Can't connect to server on 'db.example' (111)"
NO_NAME = "ERROR 2005 (HY000): Unknown server host 'db.example' (-2)"
LOST = "ERROR 2013 (HY000) at line 1: Lost connection to server during query"


def test_an_external_server_is_broken_and_mended_by_statements_alone() -> None:
    node, fault = (
        external(),
        SqlFault(statement="SET GLOBAL a = 1", heal_statement="SET GLOBAL a = 0"),
    )
    assert fault.before(node, scene()) == {}
    fault.inject(node, scene())
    assert fault.missing_effect(node, scene()) is None
    fault.heal(node, {})
    assert (
        node.asked == ["SET GLOBAL a = 1", "SET GLOBAL a = 0"] and node.log == ["ask external1"] * 2
    )


def test_an_external_server_that_a_statement_ends_is_broken() -> None:
    node, fault = external(LOST), SqlFault(statement="ALTER SYSTEM CRASH")
    fault.inject(node, scene())
    fault.heal(node, {})
    assert node.asked == ["ALTER SYSTEM CRASH"], "without heal_statement there is nothing to mend"


def test_an_external_server_that_refuses_the_statement_is_not_broken() -> None:
    node = external(says="ERROR 1227 (42000): Access denied; you need SUPER")
    with pytest.raises(MachineError, match="external1 refuses the statement") as refused:
        SqlFault(statement="SHUTDOWN").inject(node, scene())
    assert refused.value.known == "ERROR 1227 (42000): Access denied; you need SUPER"
    with pytest.raises(MachineError, match="refuses the statement"):
        SqlFault(statement="x", heal_statement="y").heal(node, {})
    assert node.asked == ["SHUTDOWN", "y"], "a refusal is not asked for again"


def test_an_external_server_that_cannot_be_reached_is_not_broken() -> None:
    with pytest.raises(MachineError, match="external1 refuses the statement"):
        SqlFault(statement="SHUTDOWN").inject(external(AWAY), scene())


def test_an_external_server_that_starts_is_asked_again_until_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    node = external(AWAY, NO_NAME, LOST)
    SqlFault(statement="x", heal_statement="DO 1").heal(node, {})
    assert node.asked == ["DO 1"] * 4


def test_an_external_server_that_stays_away_is_not_healed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "RETURN_LIMIT_S", 0.0)
    with pytest.raises(MachineError) as unhealed:
        SqlFault(statement="x", heal_statement="DO 1").heal(external(says=AWAY), {})
    assert unhealed.value.lines() == ["external1 does not answer", AWAY, "try: make heal"]
    assert sql.RETURN_LIMIT_S < PATIENCE_S, "the guard of a killed trial waits for it"


def test_a_server_of_ours_is_asked_once(node: FakeNode) -> None:
    node.tool("mysql", f"echo asked >>{node.root}/asked; echo '{LOST}' >&2; exit 1\n")
    with pytest.raises(MachineError, match="galera1 refuses the statement"):
        SqlFault(statement="x", heal_statement="y").heal(node, {})
    assert (node.root / "asked").read_text() == "asked\n"
