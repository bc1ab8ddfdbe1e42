"""Faults of a node's packets: a chain of filter rules, or a queueing discipline, in its network
namespace.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from sandbox.core.errors import MachineError, SandboxError, did_you_mean
from sandbox.failure.fault import Ability, Fault, Peer, Scene
from sandbox.failure.faults.common.node import NODES, SERVER_PORT, SERVERS, beside, has_processes
from sandbox.profile.library import Kind
from sandbox.stack.protocol import NodeControl

CHAIN = "SANDBOX-FAULT"
"""The beginning of the name of every chain: each fault has one of its own, so that two can be in
effect at once.
"""
Way = Literal["in", "out"]
_SIDES: Mapping[Way, tuple[str, str]] = {"in": ("INPUT", "-s"), "out": ("OUTPUT", "-d")}
"""Hook of a direction, and what of a packet is the peer there. A peer is never both of one packet:
one chain does.
"""
_OF_ITS_GROUP = ("servers", "proxies")
_KINDS: Mapping[str, frozenset[Kind]] = {
    "servers": SERVERS,
    "proxies": frozenset({"proxy"}),
    "client": frozenset({"client"}),
}
_CONNECT_S = 0.5
_HANGS = "124"  # exit status of timeout(1)


def clearing(chain: str) -> str:
    """The script that removes a chain, wherever an injection stopped; it fails where the chain is
    still there.
    """
    return f"""\
for hook in INPUT OUTPUT; do
  while iptables -w -D $hook -j {chain} 2>/dev/null; do :; done
done
iptables -w -F {chain} 2>/dev/null
iptables -w -X {chain} 2>/dev/null
rules=$(iptables -w -S) || exit
case $rules in *'-N {chain}'*) echo 'the chain {chain} is still there' >&2; exit 1 ;; esac
"""


def putting(chain: str, rules: Sequence[str]) -> str:
    """The script that puts rules in effect at once, by one process: each takes its time on a busy
    machine.
    """
    lines = [f":{chain} -", *(f"-A {chain} {rule}" for rule in rules)]
    lines += [f"-I {hook} -j {chain}" for hook, _ in _SIDES.values()]
    restore = "\n".join(
        ["iptables-restore -w --noflush <<'RULES' || exit", "*filter", *lines, "COMMIT", "RULES"]
    )
    return (
        f"rules=$(iptables -w -S) || exit\ncase $rules in *'-N {chain}'*)\n{clearing(chain)};;"
        f" esac\n{restore}\n"
    )


def put(node: NodeControl, chain: str, rules: Sequence[str]) -> None:
    """Puts rules in effect in the node's namespace, instead of those that the chain had."""
    beside(node, putting(chain, rules), f"filtering the packets of {node.name}")


def clear(node: NodeControl, chain: str) -> None:
    """Removes a chain, if its namespace exists still, and the helper."""
    try:
        if has_processes(node):
            beside(node, clearing(chain), f"clearing the packet filter of {node.name}")
    finally:
        node.release()


def start_helper(node: NodeControl) -> None:
    """Starts the helper before it is needed: an injection lasts 0.3 s less."""
    beside(node, "iptables -w -S >/dev/null", f"reading the packet filter of {node.name}")


class PacketFault(Fault):
    """The base of partition, reset and loss: which packets, and how it is seen that they are
    filtered.
    """

    needs: ClassVar[frozenset[Ability]] = frozenset({"iptables"})
    kinds: ClassVar[frozenset[Kind]] = NODES
    lives_in_container: ClassVar[bool] = True
    chain: ClassVar[str]
    away_from: str = Field(
        default="servers",
        min_length=1,
        description=(
            "from whom: servers or proxies (of its group), client, everyone, or a node's name"
        ),
    )
    one_way: Way | None = Field(
        default=None, description="only packets that it gets (in) or sends (out)"
    )
    port: int | None = Field(
        default=None, ge=1, le=65535, description="only TCP packets to this port"
    )

    def befalls_host(self) -> bool:
        return True

    @abstractmethod
    def verdict(self) -> str:
        """The end of each rule: what becomes of a packet."""

    def before(self, node: NodeControl, scene: Scene) -> dict[str, str]:
        self.chosen(node, scene)
        start_helper(node)
        return {}

    def inject(self, node: NodeControl, scene: Scene) -> None:
        put(node, self.chain, self.rules([peer.address for peer in self.chosen(node, scene)]))

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:
        listed = beside(node, "iptables -w -S", f"reading the packet filter of {node.name}")
        addresses = [peer.address for peer in self.chosen(node, scene)]
        return missing_rules(listed, self.chain, addresses, self.ways())

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:  # noqa: ARG002  (it needs nothing)
        clear(node, self.chain)

    def ways(self) -> list[Way]:
        """The directions that it filters."""
        return [self.one_way] if self.one_way else list(_SIDES)

    def rules(self, addresses: Sequence[str]) -> list[str]:
        """One rule for each address and direction, as iptables takes it."""
        port = f" -p tcp --dport {self.port}" if self.port else ""
        sides = [_SIDES[way][1] for way in self.ways()]
        return [
            f"{side} {address}{port} {self.verdict()}" for address in addresses for side in sides
        ]

    def chosen(self, node: NodeControl, scene: Scene) -> list[Peer]:
        """The peers that ``away_from`` means. Raises SandboxError (exit 2) where it means none.

        Nodes that are hit together stay connected with each other, unless one is named.
        """
        others = [peer for peer in scene.peers if peer.name != node.name]
        named = [peer for peer in others if peer.name == self.away_from]
        apart = [
            peer
            for peer in others
            if peer.name not in scene.targets and self._means(peer, node, scene)
        ]
        if not (named or apart):
            raise self._means_none(node, scene.targets, [peer.name for peer in others])
        return named or apart

    def _means(self, peer: Peer, node: NodeControl, scene: Scene) -> bool:
        if self.away_from in _OF_ITS_GROUP and scene.group.get(peer.name) != scene.group.get(
            node.name
        ):
            return False
        return self.away_from == "everyone" or peer.kind in _KINDS.get(self.away_from, ())

    def _means_none(
        self, node: NodeControl, targets: Sequence[str], others: Sequence[str]
    ) -> SandboxError:
        step = "try: make fault FAULT=partition OPTIONS=away_from=everyone"
        words = [*_KINDS, "everyone"]
        if self.away_from in words:
            known = (
                f"all hit by this fault: {', '.join(targets)}; no other matching node is running"
            )
            return SandboxError(
                f"away_from={self.away_from} matches no running peer of {node.name}", known, step
            )
        known = did_you_mean(self.away_from, [*words, *others])
        return SandboxError(f"{node.name} has no peer '{self.away_from}' that runs", known, step)


class Severance(PacketFault):
    """A packet filter that lets nothing through, which a connection attempt proves."""

    refuses: ClassVar[bool] = False
    """Whether an attempt must fail at once, and not hang."""

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:
        missing = super().missing_effect(node, scene)
        if missing or (self.port and self.one_way == "in"):  # then only the peers cannot connect
            return missing
        servers = {
            peer.address: peer.name for peer in self.chosen(node, scene) if peer.kind in SERVERS
        }
        script = connecting(list(servers), self.port or SERVER_PORT)
        for line in beside(node, script, f"connecting from {node.name}").splitlines():
            address, status = line.split()
            if status == "0":
                return f"a connection to {servers[address]} gets through"
            if status == _HANGS and self.refuses and "out" in self.ways():
                return f"a connection to {servers[address]} hangs"
        return None


def missing_rules(
    listed: str, chain: str, addresses: Sequence[str], ways: Sequence[Way]
) -> str | None:
    """The part that `iptables -S` lacks for the rules of a chain to be in effect; None where
    nothing is missing.
    """
    lines = listed.splitlines()
    for hook, _ in _SIDES.values():
        if f"-A {hook} -j {chain}" not in lines:
            return f"{hook} does not lead to the chain {chain}"
    rules = "\n".join(line for line in lines if line.startswith(f"-A {chain} "))
    sides = [_SIDES[way][1] for way in ways]
    absent = [
        each for each in addresses if any(f" {side} {each}/32 " not in rules for side in sides)
    ]
    return f"no rule for {', '.join(absent)}" if absent else None


def connecting(addresses: Sequence[str], port: int) -> str:
    """The script that connects to all addresses at once, and prints each with its exit status, 124
    where it hangs.
    """
    attempt = f"timeout {_CONNECT_S:g} bash -c '</dev/tcp/$1/{port}' 2>/dev/null; echo $1 $?"
    lines = [f"({attempt.replace('$1', address)}) &" for address in addresses]
    return "\n".join([*lines, "wait"]) + "\n"


class TrafficFault(Fault):
    """The base of delay and bandwidth. ``discipline``: its name for `tc`."""

    kinds: ClassVar[frozenset[Kind]] = NODES
    lives_in_container: ClassVar[bool] = True
    holds_device: ClassVar[bool] = True
    discipline: ClassVar[str]

    @abstractmethod
    def arguments(self) -> str:
        """The arguments of the discipline."""

    def before(self, node: NodeControl, scene: Scene) -> dict[str, str]:  # noqa: ARG002  (it slows down everyone)
        shown(node)  # the helper starts before it is needed
        return {}

    def inject(self, node: NodeControl, scene: Scene) -> None:  # noqa: ARG002  (the same)
        address = node.address()
        if address is None:
            raise MachineError(
                f"{node.name} has no address",
                "only a node on the network can be slowed",
                "try: make ps",
            )
        script = removing(self.discipline) + adding(
            address, f"{self.discipline} {self.arguments()}"
        )
        beside(node, script, f"slowing the network of {node.name}")

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (the same)
        there = any(
            line.startswith(f"qdisc {self.discipline} ") for line in shown(node).splitlines()
        )
        return None if there else f"no device of it has a {self.discipline}"

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:  # noqa: ARG002  (it needs nothing)
        try:
            if has_processes(node):
                beside(node, removing(self.discipline), f"restoring the network of {node.name}")
        finally:
            node.release()


def shown(node: NodeControl) -> str:
    """The disciplines of a node's devices, one a line."""
    return beside(node, "tc qdisc show", f"reading the traffic control of {node.name}")


def adding(address: str, discipline: str) -> str:
    """The script that gives the device of an address a discipline; a node plugged in again may have
    another device.
    """
    return f"""\
device=$(ip -o -4 address show | while read -r _ name _ own _; do
  case $own in {address}/*) printf '%s' "${{name%@*}}" ;; esac
done)
[ -n "$device" ] || {{ echo 'no device has the address {address}' >&2; exit 1; }}
tc qdisc add dev "$device" root {discipline}
"""


def removing(discipline: str) -> str:
    """The script that removes every such discipline, wherever it is; it fails where one is left."""
    return f"""\
tc qdisc show | while read -r _ name _ _ device _; do
  [ "$name" != {discipline} ] || tc qdisc del dev "$device" root
done
left=$(tc qdisc show) || exit
case $left in *'qdisc {discipline} '*) echo 'a {discipline} is left' >&2; exit 1 ;; esac
"""
