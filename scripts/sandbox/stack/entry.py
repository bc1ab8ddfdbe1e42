"""Entry points of SQL and load in a running stack: `VIA=`, the default, and the account."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sandbox.core.errors import MachineError, SandboxError, did_you_mean
from sandbox.profile.grammar import external_address
from sandbox.profile.names import MEMBERS
from sandbox.stack.inventory import Container
from sandbox.stack.protocol import EntryPoint, ServerRole

Roles = Callable[[], Mapping[str, ServerRole | None]]
_ROLES = ("writer", "reader")


class Entries:
    """The entry points of one stack; ``roles`` is asked only where the answer depends on them."""

    def __init__(self, nodes: Sequence[Container], roles: Roles) -> None:
        self._nodes = [
            node
            for node in nodes
            if node.about.get("ports") and (node.is_server or node.kind == "proxy")
        ]
        self._roles = roles
        self._externals = _externals(nodes)

    def resolve(self, via: str | None) -> EntryPoint:
        """The entry point that ``VIA=`` names (None: the default).

        Raises SandboxError: exit 2 where it is ambiguous or unknown, exit 4 where no server has the
        role.
        """
        if via is None or via in _ROLES:
            return self._of_group(self._only_group(via), via)
        if via == MEMBERS:
            return self._every_member(self._only_group(via))
        name, _, port = via.partition(":")
        node = self._named(name)
        if isinstance(node, EntryPoint):
            return node
        if port:
            return self._at(node, port, via)
        return self._at(node, None, name)

    def choices(self) -> list[str]:
        """The valid values of ``VIA=`` for this stack."""
        nodes = [node.node for node in self._nodes]
        ports = [f"{node.node}:{port}" for node in self._nodes for port in _load_ports(node)[1:]]
        roles = list(_ROLES)
        if any(_is_clustered(node) for node in self._nodes):
            roles.append(MEMBERS)
        return [*nodes, *ports, *roles, *(entry.node for entry in self.externals())]

    def externals(self) -> list[EntryPoint]:
        """External servers."""
        return list(self._externals.values())

    def writers(self) -> list[EntryPoint]:
        """A writer of every group that is not external."""
        return [
            self._of_group(group, "writer")
            for group in self._groups()
            if group not in self._externals
        ]

    def defaults(self) -> list[EntryPoint]:
        """The entry point of every group, as a summary shows it."""
        return [self._of_group(group, None) for group in self._groups()]

    def _groups(self) -> list[int]:
        return sorted(
            {node.about["group"] for node in self._nodes if node.about["group"]}
            | set(self._externals)
        )

    def _only_group(self, via: str | None) -> int:
        groups = self._groups()
        if len(groups) == 1:
            return groups[0]
        if not groups:
            raise MachineError(
                "the stack has no database server",
                "an entry point is a server or its proxy",
                "try: make ps",
            )
        meant = f"the stack has {len(groups)} groups"
        if via:
            meant = f"VIA={via} exists in {len(groups)} groups"
        raise self._ambiguous(f"{meant}: which one is meant?", self._nodes[0])

    def _ambiguous(self, what: str, example: Container) -> SandboxError:
        step = f"try: make ps   (then the same command with VIA={example.node})"
        return SandboxError(what, f"VIA= can be {', '.join(self.choices())}", step)

    def _of_group(self, group: int, role: str | None) -> EntryPoint:
        """The group's last proxy; without one, or for a role, a server that has the role now."""
        proxies = [node for node in self._members(group) if node.kind == "proxy"]
        if role is None and proxies:
            return self._at(proxies[-1], None, proxies[-1].node)
        if group in self._externals and role != "reader":
            return self._externals[group]
        return self._with_role(self._members(group), role or "writer", role or "writer")

    def _members(self, group: int) -> list[Container]:
        return [node for node in self._nodes if node.about["group"] == group and _is_entry(node)]

    def _with_role(self, nodes: Sequence[Container], role: str, via: str) -> EntryPoint:
        roles = self._roles()
        for node in nodes:
            if node.is_server and roles.get(node.node) == role:
                return self._at(node, None, via)
        text = ", ".join(
            f"{node.node} {roles.get(node.node) or 'no role'}" for node in nodes if node.is_server
        )
        raise MachineError(
            f"no server is a {role} now", text or "the group has no sandbox server", "try: make ps"
        )

    def _every_member(self, group: int) -> EntryPoint:
        """All members of a cluster that take writes now. Raises SandboxError (exit 2) where not
        every one is to.
        """
        members = [node for node in self._members(group) if _is_clustered(node)]
        roles = self._roles()
        reader = next((node.node for node in members if roles.get(node.node) == "reader"), None)
        if not members or reader:
            what = f"{reader} is a reader" if reader else "the servers of this group are no cluster"
            step = "try: make up PROFILE=galera3   (or gr3+multi-primary)"
            raise SandboxError(
                f"VIA={MEMBERS} needs a cluster whose every member takes writes", what, step
            )
        first = self._with_role(members, "writer", MEMBERS)
        others = (
            node.node
            for node in members
            if roles.get(node.node) == "writer" and node.node != first.node
        )
        return replace(first, others=tuple(others))

    def _named(self, name: str) -> Container | EntryPoint:
        """The node of a name, or that of a term: its proxy, or the writer among its servers."""
        for entry in self._externals.values():
            if name in (entry.node, "external"):
                return entry
        exact = [node for node in self._nodes if node.node == name]
        of_term = [
            node
            for node in self._nodes
            if name in (node.about["term"], node.about["component"]) and _is_entry(node)
        ]
        found = exact or of_term
        if not found:
            raise SandboxError(
                f"VIA={name} is not a node or term of this stack",
                did_you_mean(name, self.choices()),
                "try: make ps",
            )
        if len({node.about["group"] for node in found}) > 1:
            raise self._ambiguous(f"VIA={name} exists in several groups", found[0])
        if len(found) > 1 and found[0].is_server:
            return self._with_role(
                found, "writer" if found[0].kind == "database" else "reader", name
            )
        return found[0]

    def _at(self, node: Container, port: str | None, via: str) -> EntryPoint:
        ports: Mapping[str, int] = node.about["ports"]
        name = port or next(iter(ports))
        for_load = _load_ports(node)
        if name not in for_load:
            what = f"{node.node} has no port '{name}'"
            if name in ports:
                what = f"the port '{name}' of {node.node} does not take load"
            known = f"load can go to {', '.join(for_load)}"
            step = f"try: make ps   (then the same command with VIA={node.node}:{for_load[0]})"
            raise SandboxError(what, known, step)
        shown = f"{node.node}:{name}" if len(ports) > 1 and via not in (*_ROLES, MEMBERS) else via
        return EntryPoint(
            node.node, node.node, ports[name], node.about["group"], shown, node.about["multiplexes"]
        )


def _load_ports(node: Container) -> list[str]:
    """Names of the ports that load can go to, the node's own first."""
    not_for_load = node.about.get("admin_ports", [])
    return [name for name in node.about["ports"] if name not in not_for_load]


def _is_entry(node: Container) -> bool:
    """Whether it is the term's main service, not a helper next to it."""
    return bool(node.about["service"] == node.about["component"])


def _is_clustered(node: Container) -> bool:
    """Whether it is a member of a cluster, whose servers may all take writes."""
    return node.kind == "database" and node.about["topology"] != "single"


def _externals(nodes: Sequence[Container]) -> dict[int, EntryPoint]:
    """Entry points of external servers, by group; the client knows their addresses."""
    client = next((node for node in nodes if node.kind == "client"), None)
    urls: Mapping[str, str] = client.about.get("externals", {}) if client else {}
    found = {int(group): external_address(url) for group, url in urls.items()}
    return {
        group: EntryPoint(
            f"external{group}", at.host, at.port, group, "external", user=at.user, schema=at.schema
        )
        for group, at in found.items()
    }


ROOT_CNF = "/sandbox/root.cnf"
APP_CNF = "/sandbox/app.cnf"
_NEUTRAL = ("--no-defaults", "--default-character-set=utf8mb4", "--skip-ssl-verify-server-cert")
"""Options of those files, without their user."""


@dataclass(frozen=True, slots=True)
class Login:
    """The account for an entry point. ``file``: the option file that has its password; None: the
    user gives it.
    """

    user: str
    file: str | None

    @property
    def client_options(self) -> list[str]:
        """Options of the command-line client, credentials first."""
        return [f"--defaults-file={self.file}"] if self.file else [*_NEUTRAL, f"--user={self.user}"]


def login(nodes: Sequence[Container], entry: EntryPoint, user: str | None = None) -> Login:
    """The account of a user at an entry point; None: root on a server, the application's user
    elsewhere.

    A proxy may know no other: ProxySQL and MaxScale have their own lists of users.
    """
    is_server = any(each.node == entry.node and each.is_server for each in nodes)
    wanted = user or ("root" if is_server else entry.user)
    if entry.via == "external":
        return Login(wanted, APP_CNF if wanted == entry.user else None)
    return Login(wanted, {"root": ROOT_CNF, entry.user: APP_CNF}.get(wanted))


def client_argv(client: Container, entry: EntryPoint, account: Login) -> list[str]:
    """The command line of the client node's client at an entry point."""
    program = client.about["sql_client"]
    return [program, *account.client_options, "-h", entry.host, "-P", str(entry.port)]
