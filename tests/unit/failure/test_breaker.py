"""Breaking and healing: written down first, all nodes at once, and nothing stays broken because
another heal fails.
"""

import os
import signal
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.failure import breaker as breaker_module
from sandbox.failure.breaker import Breaker, _outcomes, heal_recorded
from sandbox.failure.fault import Fault, FaultRequest, end_together, refuse_unable
from sandbox.failure.faults.hang import Hang
from sandbox.stack.journal import Breakage, breakages, forget_breakage
from sandbox.stack.protocol import ExecResult, Limits, NodeControl
from unit.failure.faults.breaker_rig import broken
from unit.failure.faults.recording_node import RecordingNode, together
from unit.fake_stack import FakeStack, server

pytestmark = pytest.mark.usefixtures("cache")
REFUSED = MachineError("docker unpause failed", "no such device", "try: make doctor")


def request(fault: str = "hang", *nodes: str, **options: str | int | float) -> FaultRequest:
    """A fault on the source, or on these nodes."""
    return FaultRequest(fault, options, nodes or ("mysql1",))


def injected(stack: FakeStack, *requests: FaultRequest) -> Breaker:
    """A breaker that has injected these, under the keys 0, 1, …"""
    breaker = Breaker(stack)
    for number, each in enumerate(requests):
        breaker.prepare(str(number), each)
        breaker.inject(str(number))
    return breaker


def test_it_is_written_down_before_it_breaks_and_until_it_is_healed(
    stack: FakeStack, log: list[str]
) -> None:
    seen: list[Breakage] = []
    stack.controls["mysql1"].now = Limits(2.0, None)
    stack.controls["mysql1"].on = {"limit": lambda: seen.extend(breakages(stack.project))}
    breaker = Breaker(stack)
    breaker.prepare("a", request("slow-node", cpus="0.5"))
    assert not log and not broken(stack), "prepared is not broken"
    injection = breaker.inject("a")
    (noted,) = seen
    assert (noted.fault, noted.node, noted.options) == ("slow-node", "mysql1", {"cpus": "0.5"})
    assert noted.before == {"cpus": "2.0"}
    assert (
        injection.began_ns < injection.ended_ns <= time.monotonic_ns() and injection.missing == {}
    )
    healed_ns = breaker.heal("a")
    assert injection.ended_ns < healed_ns <= time.monotonic_ns()
    assert log == ["limit mysql1 0.5", "limit mysql1 2.0"] and not broken(stack)
    breaker.close()
    assert len(log) == 2


def test_several_nodes_break_and_heal_at_once(stack: FakeStack, log: list[str]) -> None:
    for action in ("pause", "unpause"):
        both = together(2, action)
        for name in ("mysql1", "replica1"):
            stack.controls[name].on |= both
    breaker = injected(stack, request("hang", "mysql1", "replica1"))
    assert sorted(broken(stack)) == ["hang on mysql1", "hang on replica1"]
    breaker.heal("0")
    assert sorted(log) == ["pause mysql1", "pause replica1", "unpause mysql1", "unpause replica1"]


@pytest.mark.parametrize(
    ("asked", "hit"),
    [
        (request("hang"), ["mysql1", "sshd1"]),
        (request("hang", what="server"), ["mysql1"]),
        (request("unplug"), ["mysql1", "sshd1"]),
        (request("slow-node"), ["mysql1"]),
        (request("hang", "replica1"), ["replica1"]),
    ],
    ids=["hang", "hang of the server", "unplug", "slow-node", "hang of another"],
)
def test_what_befalls_a_host_befalls_all_that_stands_on_it(
    stack: FakeStack, log: list[str], asked: FaultRequest, hit: list[str]
) -> None:
    stack.members.append(
        server("sshd1", "manager", family=None, topology=None, port=None, host_of="mysql1")
    )
    stack.controls["sshd1"] = RecordingNode("sshd1", "manager", log)
    breaker = Breaker(stack)
    breaker.prepare("a", asked)
    breaker.inject("a")
    assert sorted(broken(stack)) == [f"{asked.fault} on {name}" for name in hit]
    breaker.heal("a")
    assert not broken(stack)


def test_what_is_not_in_effect_is_named_and_healed_like_all_else(stack: FakeStack) -> None:
    def ends() -> None:
        stack.controls["replica1"].status = "exited (137)"

    stack.controls["replica1"].pause = ends
    breaker = Breaker(stack)
    breaker.prepare("a", request("hang", "mysql1", "replica1"))
    assert breaker.inject("a").missing == {"replica1": "its container is exited (137)"}
    assert len(broken(stack)) == 2
    breaker.close()
    assert not broken(stack)


def test_a_fault_sees_the_other_nodes_as_they_are(stack: FakeStack) -> None:
    breaker = Breaker(stack)
    breaker.prepare("a", request("hang", "mysql1"))
    scene = breaker._prepared["a"].scene
    assert [peer.address for peer in scene.peers] == [
        f"address of {node.name}" for node in stack.members
    ]
    assert (scene.targets, scene.group["replica1"]) == (("mysql1",), 1)


def test_a_packet_fault_concerns_the_peers_that_run_when_it_is_injected(stack: FakeStack) -> None:
    addresses: dict[str, str | None] = {"replica1": None, "client1": "172.18.0.6"}
    for name in addresses:
        stack.controls[name].address = partial(addresses.get, name)
    breaker = Breaker(stack)
    breaker.prepare("a", request("loss"))
    addresses |= {"replica1": "172.18.0.3", "client1": None}
    breaker.inject("a")
    peers = {
        peer.name: peer.address
        for peer in breaker._prepared["a"].scene.peers
        if peer.name != "mysql1"
    }
    assert peers == {
        "replica1": "172.18.0.3",
        "client1": "172.18.0.6",
    }, "one that is down may get the same again"
    breaker.close()


def test_what_ends_with_a_container_is_injected_into_one_that_starts_anew(
    stack: FakeStack, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(breaker_module, "LOOK_S", 0.01)
    refused = threading.Event()
    stack.controls["mysql1"].said = ExecResult(124, "", "")  # a write is slow
    breaker = injected(stack, request("slow-node"), request("slow-disk"))
    log.clear()
    stack.controls["mysql1"].refuses = {
        "write_limit": MachineError("docker exec failed", "it has ended", "-")
    }
    stack.controls["mysql1"].on = {"write_limit": refused.set}
    stack.started |= {"mysql1": "2", "replica1": "2"}
    assert refused.wait(10)
    stack.controls["mysql1"].refuses = {}
    end = time.monotonic() + 10
    while not log and time.monotonic() < end:
        time.sleep(0.01)
    breaker.heal("1")
    stack.started |= {"mysql1": "3"}
    time.sleep(0.1)
    breaker.close()
    assert log == [
        "write_limit mysql1 1048576",
        "write_limit mysql1",
        "execute mysql1",
        "limit mysql1",
    ]


@pytest.mark.parametrize("ended_by", ["heal", "close"])
def test_a_heal_that_fails_keeps_its_record_and_is_tried_again(
    stack: FakeStack, log: list[str], ended_by: str
) -> None:
    breaker = injected(stack, request("hang", "mysql1", "replica1"))
    stack.controls["mysql1"].refuses = {"unpause": REFUSED}
    with pytest.raises(SandboxError) as stays:
        breaker.heal("0") if ended_by == "heal" else breaker.close()
    assert stays.value.what == "not healed: hang on mysql1"
    assert stays.value.known == "mysql1: docker unpause failed (no such device)"
    assert (
        stays.value.next_step.startswith("try: make heal   (")
        and stays.value.exit_code is ExitCode.ENVIRONMENT
    )
    assert broken(stack) == ["hang on mysql1"] and log[-1] == "unpause replica1"
    stack.controls["mysql1"].refuses = {}
    breaker.close()
    assert not broken(stack) and log.count("unpause replica1") == 1


def test_closing_heals_the_latest_first_and_all_though_some_fail(
    stack: FakeStack, log: list[str]
) -> None:
    stack.name = "b"
    stack.controls["replica1"].refuses = {"unpause": KeyError("bug")}
    faults = (
        request("hang"),
        request("hang", "replica1"),
        request("slow-node"),
        request("unplug", "replica1"),
    )
    breaker = injected(stack, *faults)
    stack.controls["mysql1"].refuses = {"limit": REFUSED}
    log.clear()
    with pytest.raises(SandboxError) as stays:
        breaker.close()
    assert log == ["connect replica1", "unpause mysql1"]
    assert stays.value.what == "not healed: slow-node on mysql1, hang on replica1"
    assert (
        "replica1: KeyError: 'bug'" in stays.value.known
        and "make heal NAME=b" in stays.value.next_step
    )
    assert sorted(broken(stack)) == ["hang on replica1", "slow-node on mysql1"]


def test_a_fault_that_fails_half_way_stays_written_down_until_it_is_healed(
    stack: FakeStack, log: list[str]
) -> None:
    stack.controls["replica1"].refuses = {
        "pause": MachineError("docker pause failed", "busy", "try: make doctor")
    }
    breaker = Breaker(stack)
    breaker.prepare("a", request("hang", "mysql1", "replica1"))
    with pytest.raises(SandboxError, match="docker pause failed"):
        breaker.inject("a")
    assert len(broken(stack)) == 2, "who knows what has become of it"
    breaker.close()
    assert not broken(stack) and {"unpause mysql1", "unpause replica1"} <= set(log)


def test_a_node_that_does_not_answer_is_an_error_of_the_environment(stack: FakeStack) -> None:
    stack.controls["mysql1"].refuses = {
        "pause": TimeoutError("docker exec did not end within 10 s")
    }
    breaker = Breaker(stack)
    breaker.prepare("a", request())
    with pytest.raises(SandboxError, match="does not answer") as late:
        breaker.inject("a")
    assert late.value.exit_code is ExitCode.ENVIRONMENT and "within 10 s" in late.value.known


def test_what_cannot_be_written_down_is_not_injected(
    stack: FakeStack, log: list[str], cache: Path
) -> None:
    breaker = Breaker(stack)
    breaker.prepare("a", request())
    (cache / "sandbox").write_text("a file where the folder should be")
    with pytest.raises(SandboxError, match="hang is not injected") as refused:
        breaker.inject("a")
    assert refused.value.exit_code is ExitCode.ENVIRONMENT and not log


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (request("hnag"), "there is no fault 'hnag'"),
        (request("hang", what="all"), "what=all is not valid for the fault hang"),
        (request("hang", "client1"), "the fault hang cannot hit client1"),
        (request("hang", "mysql1", "client1"), "the fault hang cannot hit client1"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_done(
    stack: FakeStack, log: list[str], asked: FaultRequest, what: str
) -> None:
    breaker = Breaker(stack)
    with pytest.raises(SandboxError) as refused:
        breaker.prepare("a", asked)
    assert refused.value.what == what and refused.value.exit_code is ExitCode.BAD_INPUT
    breaker.close()
    assert not log and not broken(stack)


@pytest.mark.parametrize(
    ("fault", "need"),
    [
        ("delay", "netem"),
        ("bandwidth", "tbf"),
        ("partition", "iptables"),
        ("slow-disk", "write-limit"),
    ],
)
def test_a_fault_is_skipped_where_the_kernel_lacks_what_it_needs(
    stack: FakeStack, log: list[str], fault: str, need: str
) -> None:
    stack.lacks = {need: "Error: Specified qdisc kind is unknown."}
    with pytest.raises(SandboxError) as skipped:
        Breaker(stack).prepare("a", request(fault))
    assert skipped.value.what == f"the fault {fault} is skipped: the engine's kernel has no {need}"
    assert skipped.value.known == "Error: Specified qdisc kind is unknown."
    assert skipped.value.exit_code is ExitCode.UNKNOWN and not log
    Breaker(stack, is_able=True).prepare("a", request("slow-disk"))  # it was asked before


@pytest.mark.parametrize("fault", ["hang", "disk-full"])
def test_the_kernel_is_not_asked_for_what_needs_nothing_of_it(
    stack: FakeStack, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeStack, "lacking", lambda _: pytest.fail("that costs a container"))
    refuse_unable(stack.lacking, fault)


def test_the_helper_of_what_is_never_injected_is_removed(stack: FakeStack, log: list[str]) -> None:
    breaker = Breaker(stack)
    breaker.prepare("a", request("host-loss", "mysql1", "replica1"))
    log.clear()
    breaker.close()
    assert sorted(log) == ["release mysql1", "release replica1"] and not broken(stack)


def test_another_node_takes_the_place_of_the_one_prepared_before(
    stack: FakeStack, log: list[str]
) -> None:
    breaker = Breaker(stack)
    breaker.prepare("0", request("host-loss", "mysql1"))
    breaker.prepare("0", request("host-loss", "replica1"))
    assert "release mysql1" in log and "release replica1" not in log
    breaker.inject("0")
    assert "signal replica1 KILL" in log and "signal mysql1 KILL" not in log


def test_a_helper_that_stays_hides_no_fault_that_stays(stack: FakeStack) -> None:
    breaker = injected(stack, request("hang"))
    breaker.prepare("b", request("host-loss", "replica1"))
    stack.controls["replica1"].refuses = {
        "release": MachineError("docker rm failed", "busy", "try: make doctor")
    }
    stack.controls["mysql1"].refuses = {"unpause": REFUSED}
    with pytest.raises(SandboxError, match="not healed: hang on mysql1"):
        breaker.close()


def test_the_helper_of_what_cannot_be_prepared_is_removed_unless_it_is_in_use(
    stack: FakeStack, log: list[str]
) -> None:
    stack.controls["replica1"].said = ExecResult(1, "", "iptables: not permitted")
    breaker = Breaker(stack)
    with pytest.raises(SandboxError, match="reading the packet filter of replica1 failed"):
        breaker.prepare("a", request("host-loss", "mysql1", "replica1"))
    assert {"release mysql1", "release replica1"} <= set(log)
    breaker.prepare("b", request("hang"))
    log.clear()
    with pytest.raises(SandboxError, match="reading the packet filter"):
        breaker.prepare("a", request("host-loss", "mysql1", "replica1"))
    assert "release replica1" in log and "release mysql1" not in log


def test_the_same_fault_right_after_heals_to_what_was_before_both(
    stack: FakeStack, log: list[str]
) -> None:
    stack.controls["mysql1"].now = Limits(2.0, None)
    breaker = injected(stack, request("slow-node"))
    breaker.prepare("1", request("slow-node"))
    breaker.heal("0")
    breaker.inject("1")
    breaker.heal("1")
    assert log == ["limit mysql1 0.1", "limit mysql1 2.0"] * 2


def test_a_limit_right_after_another_one_of_its_kind_heals_to_none(
    stack: FakeStack, log: list[str]
) -> None:
    stack.controls["mysql1"].now = Limits(2.0, None)
    breaker = injected(stack, request("slow-node"))
    breaker.prepare("1", request("slow-node", cpus=0.5))
    breaker.heal("0")
    breaker.inject("1")
    breaker.heal("1")
    assert log == ["limit mysql1 0.1", "limit mysql1 2.0", "limit mysql1 0.5", "limit mysql1 2.0"]


def test_a_second_fault_that_ends_the_same_node_is_refused(stack: FakeStack) -> None:
    """The heal of the first one starts the node, though the second one lasts."""
    stack.name = "b"
    injected(stack, request("graceful"))
    other = Breaker(stack)
    other.prepare("both", request("server-crash"))
    with pytest.raises(SandboxError) as refused:
        other.inject("both")
    assert refused.value.what == "graceful is already active on mysql1"
    assert not end_together("hang", "server-crash") and not end_together("by-hand", "host-loss")


def test_faults_of_a_nodes_device_do_not_go_together() -> None:
    """A device has one discipline at its root, and a node that is plugged in again has another
    device.
    """
    device = ("bandwidth", "delay", "unplug")
    assert all(end_together(one, other) for one in device for other in device)
    assert not any(
        end_together(one, other)
        for one in device
        for other in ("partition", "loss", "hang", "slow-disk")
    )


def test_a_second_fault_of_a_kind_is_refused_as_long_as_the_first_is_there(
    stack: FakeStack, log: list[str]
) -> None:
    stack.name = "b"
    breaker = injected(stack, request("hang"))
    other = Breaker(stack)
    for key, nodes in (("twice", ("replica1", "mysql1")), ("apart", ("replica1",))):
        other.prepare(key, request("hang", *nodes))
    with pytest.raises(SandboxError) as refused:
        other.inject("twice")
    assert refused.value.what == "hang is already active on mysql1"
    assert (
        refused.value.next_step == "try: make heal NAME=b"
        and refused.value.exit_code is ExitCode.BAD_INPUT
    )
    assert log == ["pause mysql1"] and broken(stack) == ["hang on mysql1"]
    other.inject("apart")
    other.heal("apart")
    breaker.heal("0")
    other.inject("twice")
    assert sorted(broken(stack)) == ["hang on mysql1", "hang on replica1"]


def test_an_interruption_waits_until_nothing_is_half_done(stack: FakeStack, log: list[str]) -> None:
    def interrupt() -> None:
        for _ in range(3):
            time.sleep(0.1)  # until all are under way, or the interruption before is waiting
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)

    stack.controls["mysql1"].on = {"pause": interrupt}
    breaker = Breaker(stack)
    breaker.prepare("a", request())
    with pytest.raises(KeyboardInterrupt):
        breaker.inject("a")
    assert log == ["pause mysql1"]
    breaker.close()
    assert log == ["pause mysql1", "unpause mysql1"] and not broken(stack)


def test_an_interruption_while_a_thread_starts_waits_for_it_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    original = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        original(thread)
        raise KeyboardInterrupt

    def slowly(name: str) -> None:
        time.sleep(0.1)
        done.append(name)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(KeyboardInterrupt):
        _outcomes(slowly, ["begun", "not begun"])
    assert done == ["begun"]


@pytest.mark.parametrize("by", ["the breaker", "make heal"])
def test_what_is_healed_inside_a_node_that_hangs_lets_it_run_meanwhile(
    stack: FakeStack, log: list[str], by: str
) -> None:
    breaker = injected(stack, request("server-crash"), request("hang"), request("unplug"))
    log.clear()
    if by == "the breaker":
        breaker.heal("2")
        breaker.heal("0")
        assert broken(stack) == ["hang on mysql1"]
    else:
        forget_breakage(next(each for each in breakages(stack.project) if each.fault == "hang"))
        assert heal_recorded(stack, lambda _: None) is None
    assert log == ["connect mysql1", "unpause mysql1", "signal mysql1 USR2", "pause mysql1"]


def test_what_outlasts_a_heal_is_followed_beside_the_trial_and_waited_for_at_its_end(
    stack: FakeStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_settle, settled = threading.Event(), list[str]()

    def settle(_: Fault, node: NodeControl) -> None:
        assert may_settle.wait(10)
        settled.append(node.name)

    monkeypatch.setattr(Hang, "outlasts_heal", True)
    monkeypatch.setattr(Hang, "settle", settle)
    breaker = injected(stack, request("hang"))
    breaker.heal("0")
    assert not settled, "the time of the heal is not put off"
    may_settle.set()
    breaker.close()
    assert settled == ["mysql1"]
