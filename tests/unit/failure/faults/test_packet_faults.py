"""Faults by packet filter and traffic control: whom they concern, their rules, and what shows that
they work.
"""

from typing import Any

import pytest

from sandbox.core.errors import SandboxError
from sandbox.failure.fault import Scene
from sandbox.failure.faults.bandwidth import Bandwidth
from sandbox.failure.faults.common import packets
from sandbox.failure.faults.delay import Delay
from sandbox.failure.faults.host_loss import HostLoss
from sandbox.failure.faults.loss import Loss
from sandbox.failure.faults.partition import Partition
from sandbox.failure.faults.reset import Reset
from unit.failure.faults.fake_node import GROUP, PEERS, FakeNode, scene

IN_2, OUT_2 = "-A {chain} -s 172.18.0.3/32 {end}", "-A {chain} -d 172.18.0.3/32 {end}"


def rules(node: FakeNode) -> list[str]:
    """The packet filter of a node."""
    return (node.root / "rules").read_text().splitlines()


@pytest.mark.parametrize(
    ("away_from", "targets", "names"),
    [
        ("servers", ["galera1"], {"galera2", "galera3"}),
        ("servers", ["galera1", "galera3"], {"galera2"}),
        ("proxies", ["galera1"], {"haproxy1"}),
        ("client", ["galera1"], {"client1"}),
        ("everyone", ["galera1"], {"galera2", "galera3", "haproxy1", "client1", "mysql1"}),
        ("galera3", ["galera1"], {"galera3"}),
        ("galera3", ["galera1", "galera3"], {"galera3"}),
        ("mysql1", ["galera1"], {"mysql1"}),
    ],
)
def test_away_from_chooses_the_peers(
    node: FakeNode, away_from: str, targets: list[str], names: set[str]
) -> None:
    assert {
        peer.name for peer in Partition(away_from=away_from).chosen(node, scene(targets))
    } == names


def test_the_peers_of_a_proxy_are_the_servers_of_its_group(node: FakeNode) -> None:
    node.name, node.kind = "haproxy1", "proxy"
    chosen = Partition().chosen(node, scene(["haproxy1"]))
    assert [peer.name for peer in chosen] == ["galera1", "galera2", "galera3"]


@pytest.mark.parametrize(
    ("away_from", "targets", "what", "known"),
    [
        (
            "servers",
            ["galera1", "galera2", "galera3"],
            "away_from=servers matches no running peer of galera1",
            "all hit by this fault",
        ),
        (
            "galera4",
            ["galera1"],
            "galera1 has no peer 'galera4' that runs",
            "did you mean 'galera3'?",
        ),
        ("galera1", ["galera1"], "galera1 has no peer 'galera1' that runs", "did you mean"),
        (
            "severs",
            ["galera1"],
            "galera1 has no peer 'severs' that runs",
            "did you mean 'servers'?",
        ),
    ],
)
def test_a_word_that_means_no_peer_is_refused_before_anything_breaks(
    node: FakeNode, away_from: str, targets: list[str], what: str, known: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        Partition(away_from=away_from).before(node, scene(targets))
    assert (
        refused.value.what == what and known in refused.value.known and refused.value.exit_code == 2
    )
    assert node.calls == []


def test_no_proxy_runs(node: FakeNode) -> None:
    servers = Scene(["galera1"], PEERS[:3], GROUP)
    with pytest.raises(SandboxError, match="away_from=proxies matches no running peer"):
        Partition(away_from="proxies").chosen(node, servers)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Partition(away_from="galera2"), ["-s {} -j DROP", "-d {} -j DROP"]),
        (Partition(away_from="galera2", one_way="in"), ["-s {} -j DROP"]),
        (
            Partition(away_from="galera2", one_way="out", port=3306),
            ["-d {} -p tcp --dport 3306 -j DROP"],
        ),
        (
            Reset(away_from="galera2"),
            [
                f"{side} {{}} -p tcp ! --tcp-flags RST RST -j REJECT --reject-with tcp-reset"
                for side in ("-s", "-d")
            ],
        ),
        (
            Reset(away_from="galera2", one_way="in", port=4567),
            ["-s {} -p tcp --dport 4567 ! --tcp-flags RST RST -j REJECT --reject-with tcp-reset"],
        ),
        (
            Loss(away_from="galera2", share=0.25, one_way="out"),
            ["-d {} -m statistic --mode random --probability 0.250000 -j DROP"],
        ),
    ],
)
def test_the_rules_of_a_fault(
    node: FakeNode, fault: packets.PacketFault, expected: list[str]
) -> None:
    fault.inject(node, scene())
    chain = fault.chain
    own = [f"-A {chain} {rule.format('172.18.0.3/32')}" for rule in expected]
    assert rules(node) == [f"-N {chain}", *own, f"-A INPUT -j {chain}", f"-A OUTPUT -j {chain}"]


def test_an_injection_replaces_what_an_earlier_one_left(node: FakeNode) -> None:
    Partition(away_from="everyone").inject(node, scene())
    Partition(away_from="galera2").inject(node, scene())
    assert sum("172.18.0" in rule for rule in rules(node)) == 2


def test_two_packet_faults_at_once_do_not_disturb_each_other(node: FakeNode) -> None:
    cut, lossy = Partition(away_from="galera2"), Loss()
    cut.inject(node, scene())
    lossy.inject(node, scene())
    cut.heal(node, {})
    assert lossy.missing_effect(node, scene()) is None and cut.missing_effect(node, scene())


@pytest.mark.parametrize(
    ("lost", "missing"),
    [
        (
            "-A OUTPUT -j SANDBOX-FAULT-PARTITION",
            "OUTPUT does not lead to the chain SANDBOX-FAULT-PARTITION",
        ),
        ("-A SANDBOX-FAULT-PARTITION -d 172.18.0.4/32 -j DROP", "no rule for 172.18.0.4"),
    ],
)
def test_a_rule_that_is_absent_shows(node: FakeNode, lost: str, missing: str) -> None:
    Partition().inject(node, scene())
    (node.root / "rules").write_text("\n".join(rule for rule in rules(node) if rule != lost) + "\n")
    assert Partition().missing_effect(node, scene()) == missing


@pytest.mark.parametrize(
    ("fault", "accepting", "hanging", "missing"),
    [
        (Partition(), "172.18.0.4", "172.18.0.3", "a connection to galera3 gets through"),
        (Partition(), "172.18.0.5 172.18.0.6", "172.18.0.3 172.18.0.4", None),
        (Partition(away_from="everyone"), "172.18.0.5", "172.18.0.3", None),
        (Partition(away_from="mysql1", one_way="in", port=3306), "172.18.0.7", "", None),
        (
            Partition(away_from="mysql1", one_way="out", port=3306),
            "172.18.0.7",
            "",
            "a connection to mysql1 gets through",
        ),
        (Reset(), "", "", None),
        (Reset(), "", "172.18.0.4", "a connection to galera3 hangs"),
        (Reset(one_way="in"), "", "172.18.0.4", None),
        (Loss(), "172.18.0.3", "", None),
    ],
)
def test_a_connection_attempt_is_the_proof(
    node: FakeNode, fault: packets.PacketFault, accepting: str, hanging: str, missing: str | None
) -> None:
    fault.inject(node, scene())
    (node.root / "accepting").write_text(accepting)
    (node.root / "hanging").write_text(hanging)
    assert fault.missing_effect(node, scene()) == missing


def test_a_chain_that_cannot_be_removed_is_no_heal(node: FakeNode) -> None:
    Partition().inject(node, scene())
    node.tool("iptables", 'case $* in *-S*) cat "$ROOT/rules" ;; *) exit 4 ;; esac\n', "helper")
    with pytest.raises(SandboxError) as refused:
        Partition().heal(node, {})
    assert "is still there" in refused.value.known and node.calls[-1] == "release"


def test_the_helper_goes_with_the_fault_even_where_the_node_has_ended(node: FakeNode) -> None:
    Partition().inject(node, scene())
    node.end("exited (1)")
    node.calls.clear()
    Partition().heal(node, {})
    assert node.calls == ["release"]


def test_a_lost_host_sends_nothing_while_it_is_killed(node: FakeNode) -> None:
    HostLoss().before(node, scene())
    node.calls.clear()
    HostLoss().inject(node, scene())
    assert node.calls == ["in_network", "signal KILL"] and node.status == "exited (137)"
    HostLoss().heal(node, {})
    assert node.calls[2:] == ["release", "start"], "the helper keeps the dead namespace until then"


def test_a_lost_host_that_was_not_killed_gets_its_packets_back(node: FakeNode) -> None:
    packets.put(node, "SANDBOX-FAULT-HOST", ["-j DROP"])
    assert HostLoss().missing_effect(node, scene()) == "its container is running"
    HostLoss().heal(node, {})
    assert node.whole and "start" not in node.calls


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (Delay(), "netem 8001: dev eth1 root refcnt 2 limit 1000000 delay 50.000ms"),
        (
            Delay(delay_ms=20, jitter_ms=5, reorder_share=0.25),
            (
                "netem 8001: dev eth1 root refcnt 2 limit 1000000 delay 20.000ms 5.000ms reorder"
                " 25.0000%"
            ),
        ),
        (
            Bandwidth(),
            "tbf 8001: dev eth1 root refcnt 2 rate 10000000bit burst 32768 latency 400.000ms",
        ),
        (
            Bandwidth(mbit_per_s=1000),
            "tbf 8001: dev eth1 root refcnt 2 rate 1000000000bit burst 1250000 latency 400.000ms",
        ),
    ],
)
def test_traffic_is_shaped_on_the_device_of_the_address(
    node: FakeNode, fault: Any, line: str
) -> None:
    fault.inject(node, scene())
    assert (node.root / "disciplines").read_text() == f"qdisc {line}\n"


def test_a_discipline_is_there_once_however_often_it_is_injected(node: FakeNode) -> None:
    for _ in range(2):
        Bandwidth().inject(node, scene())
    assert (node.root / "disciplines").read_text().count("tbf") == 1


def test_another_discipline_is_left_alone(node: FakeNode) -> None:
    Bandwidth().inject(node, scene())
    with pytest.raises(SandboxError, match="slowing the network of galera1 failed"):
        Delay().inject(node, scene())
    Delay().heal(node, {})
    assert Bandwidth().missing_effect(node, scene()) is None


def test_a_discipline_that_cannot_be_removed_is_no_heal(node: FakeNode) -> None:
    Delay().inject(node, scene())
    node.tool("tc", '[ "$2" != show ] || cat "$ROOT/disciplines"\n', "helper")
    with pytest.raises(SandboxError) as refused:
        Delay().heal(node, {})
    assert refused.value.known == "a netem is left" and node.calls[-1] == "release"


@pytest.mark.parametrize(
    ("at", "known"), [(None, "only a node on the network"), ("172.18.0.20", "no device has")]
)
def test_a_node_without_its_address_cannot_be_slowed(
    node: FakeNode, at: str | None, known: str
) -> None:
    node.at = at
    with pytest.raises(SandboxError) as refused:
        Delay().inject(node, scene())
    assert known in refused.value.known
