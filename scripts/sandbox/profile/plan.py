"""The Plan: groups and nodes of a stack, before any of it exists."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sandbox.profile.given import Binary
from sandbox.profile.images import ImageChoice
from sandbox.profile.library import Component, Kind, Question, Variant, deep_merge
from sandbox.profile.names import MEMBERS, bare
from sandbox.profile.versions import at_least


@dataclass(frozen=True, slots=True)
class GroupLink:
    """Replication from one group to another, as one piece of ``REPLICATE=`` asks for it."""

    number: int
    text: str
    """As typed."""
    sources: tuple[str, ...]
    """Servers that the target can follow, the first to begin with."""
    targets: tuple[str, ...]
    """Servers of which one follows, the first to begin with."""
    source_group: int
    target_group: int
    channel: str = ""
    """Name of the channel (MariaDB: of the connection); empty: the only one, without a name."""
    delay_s: int = 0
    gtid: bool = True
    """Whether positions are GTIDs; else a binary log file and a position in it."""
    ssl: bool = False
    mixed: bool = False
    """Whether its ends are of different families."""
    managed: bool = False
    """Whether the target follows its source's group by MySQL's own means."""
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Replication filter → its schemas, tables or patterns."""
    further: tuple[tuple[str, str], ...] = ()
    """Further options of the target's own statement: name and quoted value."""


@dataclass(frozen=True)
class Node:
    """One container of the planned stack; the templates of its component see it as ``node``."""

    name: str
    index: int
    service: str
    component: Component = field(repr=False)
    term: str
    kind: Kind
    group_index: int | None
    choice: ImageChoice
    server_id: int | None = None
    server_component: str = ""
    watches: str | None = None
    """Name of the database, for an auxiliary node created per database."""
    ports: Mapping[str, int] = field(default_factory=dict)
    memory_mb: int = 0
    user: str | None = None
    ready: Question | None = None
    role: Question | None = None
    base_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    applied: tuple[tuple[str, Variant], ...] = ()
    """Settings in effect on this node, in the order of the profile."""
    assignments: tuple[tuple[str, str], ...] = ()
    """``SET=`` pairs that apply to this node."""
    links: tuple[GroupLink, ...] = ()
    """Replication from other groups that may run on this node."""

    @property
    def admin_ports(self) -> list[str]:
        """Names of its ports that take no load; an auxiliary node has none."""
        return [name for name in self.component.spec.admin_ports if name in self.ports]

    @property
    def load_ports(self) -> list[str]:
        """Names of its ports that ``VIA=`` can name."""
        return [name for name in self.ports if name not in self.admin_ports]

    @property
    def image(self) -> str:
        """Image reference."""
        return self.choice.reference

    @property
    def series(self) -> str:
        """Series in the catalog, such as ``10.11``."""
        return self.choice.series

    @property
    def version(self) -> str:
        """Exact version as far as the catalog knows it."""
        return self.choice.version

    @property
    def is_server(self) -> bool:
        """Whether it is a database server: of the database term or a replica."""
        return self.kind in ("database", "replica")

    @property
    def host_of(self) -> str | None:
        """Name of the database on whose host it stands; None where it has a host of its own."""
        auxiliary = self.component.spec.auxiliary.get(self.service)
        return self.watches if auxiliary and auxiliary.shares_host else None

    @cached_property
    def settings(self) -> frozenset[str]:
        """Names of the settings in effect on this node."""
        return frozenset(name for name, _ in self.applied)

    @cached_property
    def options(self) -> dict[str, Any]:
        """The component's options, with those of the settings merged over them."""
        merged = dict(self.base_options)
        for _, variant in self.applied:
            merged = deep_merge(merged, variant.options)
        return merged

    @property
    def uid(self) -> str:
        """User id that must be able to read the files mounted only for this node."""
        return (self.user or "0:0").split(":")[0]

    @property
    def gid(self) -> str:
        """Group id that goes with ``uid``."""
        return (self.user or "0:0").split(":")[1]

    def at_least(self, since: str) -> bool:
        """Whether this node's version is ``since`` or newer."""
        return at_least(self.version, since)

    def assigned(self, name: str, otherwise: object) -> object:
        """Value that SET= gives a variable on this node, however it is spelled, else
        ``otherwise``.
        """
        given = {bare(key): value for key, value in self.assignments}
        return given.get(name, otherwise)

    def has_certificate(self, signed_by: str) -> bool:
        """Whether it gets a certificate of this kind."""
        given = self.component.spec.certificate
        return (
            given is not None and given.signed_by == signed_by and self.at_least(given.since or "0")
        )


@dataclass(frozen=True)
class Group:
    """A database term with everything attached to it."""

    index: int
    component: str
    topology: str
    family: str
    databases: tuple[Node, ...]
    replicas: tuple[Node, ...] = ()
    proxies: tuple[Node, ...] = ()
    """What is attached and holds no data: proxies, managers, arbitrators."""
    settings: tuple[str, ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    """(setting, node or term that has it) of the settings that not all of the group has."""
    external: str | None = None

    def places_of(self, setting: str) -> list[str]:
        """The nodes and terms that have a setting; empty where it is the whole group's."""
        return [place for name, place in self.places if name == setting]

    @property
    def database_names(self) -> list[str]:
        """Names of the nodes of the database term."""
        return [node.name for node in self.databases]

    @property
    def replica_names(self) -> list[str]:
        """Names of the asynchronous replicas."""
        return [node.name for node in self.replicas]

    @property
    def servers(self) -> tuple[Node, ...]:
        """Databases, then replicas."""
        return self.databases + self.replicas

    def behind(self, proxy: Node) -> tuple[Node, ...]:
        """The servers that a proxy of the group routes to."""
        return (
            self.databases if self.topology in proxy.component.spec.members_only else self.servers
        )

    @property
    def size(self) -> int:
        """Members of its cluster: the database nodes, and arbitrators, which hold no data."""
        return len(self.databases) + sum(node.kind == "arbitrator" for node in self.proxies)

    @property
    def every_member_writes(self) -> bool:
        """Whether all its database nodes take writes at once, each with all data."""
        return self.topology == "galera" or (
            self.topology == "gr" and "multi-primary" in self.settings
        )

    @property
    def first(self) -> str:
        """Name of the first database node: the source at first start."""
        return self.databases[0].name


@dataclass(frozen=True, slots=True)
class UserFile:
    """A file the user handed in (``CNF=``, ``INIT=``): its base name, content and sha256."""

    name: str
    content: str
    """Bytes that are no text are kept, as `surrogateescape` keeps them."""
    sha256: str

    @property
    def raw(self) -> bytes:
        """The content byte by byte."""
        return self.content.encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A configuration file (``CNF=``) for one node, or for those of one term."""

    place: str
    file: UserFile
    instead: bool = False
    """Whether it is in place of the generated file; else it is added."""

    @property
    def typed(self) -> str:
        """As it was typed, without the file's folder."""
        return f"{self.place}{'!' if self.instead else ':'}{self.file.name}"


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The user's request, before it is parsed."""

    profile: str
    assignments: tuple[str, ...] = ()
    cnf: UserFile | None = None
    """The option file that every server reads last."""
    init: UserFile | None = None
    cpus: str | None = None
    memory: str | None = None
    external: str | None = None
    cpuset: str | None = None
    """CPUs that each database node may use, such as ``0-1``."""
    disk: str | None = None
    """File system and size of each data directory's own disk, such as ``ext4:4g``; None: the
    engine's disk.
    """
    versions: tuple[tuple[str, str], ...] = ()
    """(node, version) of those that were upgraded since: another one than their term's."""
    binaries: tuple[Binary, ...] = ()
    """Servers that the user built, each made into an image."""
    images: tuple[str, ...] = ()
    """The user's own images, as IMAGE= takes them (profile/given.py); each honours the contract of
    the image that it replaces.
    """
    own_files: tuple[OwnFile, ...] = ()
    """Configuration files of single nodes and terms."""
    links: tuple[str, ...] = ()
    """Replication between groups (``REPLICATE=``), as typed."""


def memory_mb(amount: str) -> int:
    """An amount of memory in Docker's notation (``512m``, ``2g``, bytes without a letter), in
    MiB.
    """
    number = amount.lower().removesuffix("b")
    letter = number[-1:] if number[-1:].isalpha() else ""
    return (
        int(number.removesuffix(letter))
        * {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}[letter]
        // (1 << 20)
    )


@dataclass(frozen=True)
class Plan:
    """A planned stack. ``nodes`` holds every container; groups refer to the same objects."""

    request: PlanRequest
    profile: str
    groups: tuple[Group, ...]
    nodes: tuple[Node, ...]
    links: tuple[GroupLink, ...] = ()
    """Replication between its groups."""

    @property
    def databases(self) -> tuple[Node, ...]:
        """Every database server of the stack: members and replicas of all groups."""
        return tuple(node for node in self.nodes if node.is_server)

    @property
    def client(self) -> Node:
        """The client node, which sends the load and the queries."""
        return next(node for node in self.nodes if node.kind == "client")

    @property
    def memory_mb(self) -> int:
        """Estimated memory of the stack, MiB."""
        return sum(node.memory_mb for node in self.nodes)

    def node(self, name: str) -> Node:
        """Node by name. Raises KeyError if the stack has no such node."""
        return {node.name: node for node in self.nodes}[name]

    def group_of(self, node: Node) -> Group | None:
        """The group a node belongs to; None for a node that watches the whole stack."""
        return None if node.group_index is None else self.groups[node.group_index - 1]

    def unavailable(self) -> list[Node]:
        """Nodes whose image is unavailable: not local, and it can be neither pulled nor built
        here.
        """
        return [node for node in self.nodes if node.choice.source == "unavailable"]


def entry_words(plan: Plan) -> frozenset[str]:
    """The words that ``VIA=`` accepts before a server can be asked: names of nodes and terms,
    ports, possible roles.
    """
    nodes = [node for node in plan.nodes if node.ports and (node.is_server or node.kind == "proxy")]
    externals = [f"external{group.index}" for group in plan.groups if group.external]
    words = {*externals, "writer"}
    if externals:
        words.add("external")
    if len(plan.databases) > 1:
        words.add("reader")
    if any(group.every_member_writes for group in plan.groups):
        words.add(MEMBERS)
    return frozenset(words.union(*(_words_of(node) for node in nodes)))


def _words_of(node: Node) -> set[str]:
    """An auxiliary node is reached only by its own name, not by its component's term."""
    terms = {node.term, node.component.name} if node.service == node.component.name else set()
    names = {node.name, *terms}
    return names | {f"{name}:{port}" for name in names for port in node.load_ports}
