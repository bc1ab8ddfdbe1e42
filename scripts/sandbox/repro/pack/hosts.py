"""PURE: which server a word of a repro means in a pack, and what kind of server each is."""

from dataclasses import dataclass

from sandbox.profile.plan import Group, Node, Plan
from sandbox.repro.pack.refusal import UnsayableError


@dataclass(frozen=True)
class Hosts:
    """The servers of a plan by the words of its repro."""

    plan: Plan

    @property
    def names(self) -> list[str]:
        """All of them, in the order of the profile."""
        return [node.name for node in self.plan.databases]

    @property
    def writer(self) -> str:
        """The one that takes writes when the stack is new."""
        return self.plan.groups[0].first

    def named(self, word: str | None) -> str:
        """The server that a step means. Raises UnsayableError for one that a pack has not."""
        if word in (None, "writer"):
            return self.writer
        if word in ("reader", "one-reader"):
            return self._reader(str(word))
        if word in self.names:
            return str(word)
        of_term = [node.name for node in self.plan.databases if word in (node.term, _kind(node))]
        if len(of_term) == 1:
            return of_term[0]
        raise UnsayableError(f"@{word} is no server ({', '.join(self.names)})")

    def _reader(self, word: str) -> str:
        group = self.plan.groups[0]
        if group.replicas:
            return group.replicas[0].name
        if group.topology == "gr" and not group.every_member_writes and group.size > 1:
            return group.databases[1].name
        raise UnsayableError(f"@{word}: no server of {self.plan.profile} is one when it is new")

    def kind(self, node: Node) -> str:
        """How its state is found: ``galera``, ``group``, or ``replication``, also of one alone."""
        group = self.plan.group_of(node)
        if group is None or node.kind == "replica":
            return "replication"
        return {"galera": "galera", "gr": "group"}.get(group.topology, "replication")

    def detail(self, node: Node) -> str:
        """What its state is found by: members of its cluster, or how it shows its channels."""
        group = self.plan.group_of(node)
        if group is not None and self.kind(node) != "replication":
            return str(group.size)
        return shows_channels(node)


def _kind(node: Node) -> str:
    return node.component.name


def shows_channels(node: Node) -> str:
    """The statement with which a server shows what it follows."""
    if node.component.spec.family == "mariadb":
        return "show all slaves status"
    return "show replica status" if node.at_least("8.0.22") else "show slave status"


def is_alone(group: Group) -> bool:
    """Whether a group is one server that nobody follows."""
    return group.topology == "single" and not group.replicas
