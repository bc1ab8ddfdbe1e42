"""The library: components, settings and named profiles, as their files declare them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import Field

from sandbox.profile.images import USER, Catalog, Declared, Text

Kind = Literal[
    "database", "replica", "arbitrator", "proxy", "manager", "monitor", "client", "external"
]


class Question(Declared):
    """One question and the one answer that means yes: a query or a command, run in the node or from
    the client.
    """

    query: str | None = None
    command: list[str] | None = None
    expect: str | None = ""
    """None: only the command's exit status counts, whatever it prints."""
    via: Literal["self", "client"] = "self"


class ServiceSpec(Declared):
    """A fragment's declaration of one of its services."""

    kind: Kind
    memory_mb: int = 40
    user: str | None = Field(default=None, pattern=USER)
    image_user: str | None = None
    """Name of the user that the image starts as, if that is not root (profile/files.py)."""
    ready: Question | None = None
    ports: dict[str, int] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)


class Auxiliary(ServiceSpec):
    """An additional service of a fragment: one more node per component node, per database or per
    stack.
    """

    image: str
    per: Literal["node", "database", "stack"]
    taken_from: str | None = None
    """Component whose fragment has this service; what stands here is laid over it."""
    where: str | None = None
    """Template, seen by a node of its component: empty where that node has no such service; None:
    it always has.
    """
    shares_host: bool = False
    """Whether the node of a database stands for a process of that one's host: what befalls the host
    befalls both.
    """


class ReplicationSource(Declared):
    """The additions of a component's fragment to the single server that it replicates from.
    ``service``: lists are appended.
    """

    ready: Question
    role: Question
    service: dict[str, Any] = Field(default_factory=dict)
    configs: list[str] = Field(default_factory=list)
    """The fragment's own configs that this service gets."""


class Servers(Declared):
    """The needs of a component from the servers of its group that belong to ``family`` and
    replicate as ``topology``.

    ``before``: the first version that does not work with it, because of ``why``; ``suggested``: one
    that does. Without it every version works. ``variables`` that its documentation asks for; SET=
    wins over them. ``proof``: asked of each server, whether it is as that asks for.
    """

    family: Literal["mysql", "mariadb"]
    topology: Literal["single", "galera", "gr"] | None = None
    before: str | None = None
    suggested: str = ""
    why: str = ""
    variables: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    proof: Question | None = None

    def concerns(self, family: str, topology: str) -> bool:
        """Whether it is about the servers of such a group."""
        return self.family == family and self.topology in (None, topology)


class Certificate(Declared):
    """A server's certificate, generated with the stack's passwords. ``since``: the oldest version
    that gets one.

    A self-signed one saves the server generating its own keys: the RSA pairs at MySQL's first start
    (0.5 s of CPU), the 4,096-bit pair at every start of MariaDB from 11.4 on (1 s).
    """

    signed_by: Literal["itself", "authority"]
    since: str | None = None


class OwnCheck(Declared):
    """A program's own check of its configuration, run before it starts.

    ``command``: words, ``{{ file }}`` stands for the file; ``since``: the first version that
    has it.
    """

    command: list[str]
    since: Text | None = None


class UserFileSpec(Declared):
    """What ``CNF=<component>:<file>`` and ``CNF=<component>!<file>`` do to a component."""

    target: str | None = None
    """The generated file that is meant; None: the option files of a server, which reads the user's
    last.
    """
    added: Literal["appended", "merged"] = "appended"
    """``merged``: a JSON object, whose keys are replaced."""
    check: OwnCheck | None = None
    running: str = ""
    """Shell command in the container: whether the running program was started with that file."""


class Adjustable(Declared):
    """An option of a component that ``SET=<component>:<option>=…`` changes, and the question that
    reads it back.
    """

    help: str
    pattern: str
    """The whole value, as a regular expression."""
    no_effect: str = ""
    """Template, seen by a node of the component: why the option changes nothing there; empty: it
    does.
    """
    proof: Question


class ComponentSpec(ServiceSpec):
    """The `x-component` block, as written."""

    help: str
    aliases: list[str] = Field(default_factory=list)
    """Other words that people type for it; a plan shows its name."""
    based_on: str | dict[str, str] | None = None
    attaches: Literal["group", "stack"] | None = None
    attaches_to: list[str] | None = None
    needs: str | None = None
    """Component of which its group must have at least one."""
    alone: bool = False
    """Whether a group can have only one of it."""
    servers: list[Servers] = Field(default_factory=list)
    note: str = ""
    """Template of what `plan` prints about it next to its role; empty: nothing."""
    rejoins: str = ""
    """Template of the means by which it makes an old source follow the writer again; empty: it does
    not.
    """
    family: Literal["mysql", "mariadb"] | None = None
    topology: Literal["single", "galera", "gr"] | None = None
    image: str | None = None
    version_from: Literal["group"] | None = None
    since: str | None = None
    """Oldest version that it works with."""
    count: int = 1
    ports_of_variables: dict[str, int] = Field(default_factory=dict)
    """Further ports of a server, by the variable that opens each where SET= turns it on."""
    proofs_of_ports: dict[str, Question] = Field(default_factory=dict)
    """Variable → the question whether its port is open."""
    admin_ports: list[str] = Field(default_factory=list)
    """Names of the ports that take no load: an administration interface, a statistics page."""
    members_only: list[Literal["galera", "gr"]] = Field(default_factory=list)
    """For a proxy: topologies in which it routes only to the cluster's members, not to their
    replicas.
    """
    memory_mb: int = 100
    config_dir: str | None = None
    sql_client: str = "mysql"
    server: str = "mysqld"
    entrypoint: list[str] = Field(default_factory=list)
    """The words that start a database in its image, after a fragment's own ``entrypoint``."""
    certificate: Certificate | None = None
    ssh_key: bool = False
    """Whether its nodes log in to each other, by a key of the stack's own."""
    grace_s: int = 10
    credential_rotation: str | None = None
    """Template of the SQL that gives a server restored from a snapshot new passwords; None: it
    cannot be restored.
    """
    rotation_begins_with: list[str] = Field(default_factory=list)
    """First-start templates that go into it, since the base data directory lacks them; they may be
    repeated.
    """
    rotation_once: list[str] = Field(default_factory=list)
    """First-start templates that must not be repeated, such as one that sets a replica's source."""
    base_directory: str | None = None
    """The component whose first start creates the data directory that its servers can start from;
    None: they cannot.
    """
    shaping: list[str] = Field(default_factory=list)
    """The variables that shape a fresh data directory, or what the first start writes into it."""
    timeout_s: int = 120
    variables: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    role: Question | None = None
    """The question about its role; the answer starts with ``writer``, ``reader`` or ``stale``, or
    says why the server is none of them.
    """
    state: Question | None = None
    """The question about its state; a line of the answer is ``name<TAB>value``, or vertical output.
    """
    source: ReplicationSource | None = None
    adjustable: dict[str, Adjustable] = Field(default_factory=dict)
    """Options that the user may change, by name."""
    user_file: UserFileSpec | None = None
    """None: its configuration takes no file of the user's."""
    auxiliary: dict[str, Auxiliary] = Field(default_factory=dict)


class Component(Declared):
    """A component ready for use: inheritance resolved, its files read."""

    name: str
    spec: ComponentSpec
    services: dict[str, dict[str, Any]]
    configs: dict[str, dict[str, str]]
    volumes: dict[str, dict[str, Any] | None]
    files: dict[str, str]

    @property
    def countable(self) -> bool:
        """Whether its term may carry a count."""
        if self.spec.attaches == "stack":
            return self.spec.kind == "client"
        return self.spec.kind in ("database", "replica", "arbitrator", "proxy", "manager")


def deep_merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``over`` merged over ``base``: mappings merge key by key, anything else is replaced."""
    merged = dict(base)
    for key, value in over.items():
        mine = merged.get(key)
        if isinstance(mine, Mapping) and isinstance(value, Mapping):
            merged[key] = deep_merge(mine, value)
        else:
            merged[key] = value
    return merged


def inherit(
    base: Mapping[str, Any], base_name: str, over: Mapping[str, Any], name: str
) -> dict[str, Any]:
    """A raw fragment merged over the raw fragment it is based on; the base's main service takes the
    new name.
    """
    renamed = dict(base)
    services = dict(base.get("services", {}))
    if base_name in services:
        services[name] = services.pop(base_name)
    renamed["services"] = services
    return deep_merge(renamed, over)


def take_over(lender: Mapping[str, Any], service: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """A raw fragment with an auxiliary service of another one and its configs; its own words about
    them win.
    """
    declared = lender["services"][service]
    given = {
        "x-component": {"auxiliary": {service: lender["x-component"]["auxiliary"][service]}},
        "services": {service: declared},
        "configs": {
            entry["source"]: lender["configs"][entry["source"]] for entry in declared["configs"]
        },
    }
    return deep_merge(given, own)


def as_source(database: Component, replica: Component) -> Component:
    """The component of a single server with replicas: its own, plus what their fragment adds to
    their source.
    """
    source = replica.spec.source
    if source is None:
        return database
    service = database.services[database.name]
    laid = deep_merge(service, source.service) | {
        "configs": [*service["configs"], *source.service["configs"]]
    }
    configs = {name: replica.configs[name] for name in source.configs}
    files = {config["file"]: replica.files[config["file"]] for config in configs.values()}
    return database.model_copy(
        update={
            "spec": database.spec.model_copy(update={"ready": source.ready, "role": source.role}),
            "services": {**database.services, database.name: laid},
            "configs": {**database.configs, **configs},
            "files": {**database.files, **files},
        }
    )


class When(Declared):
    """The conditions for a variant to apply to a node; all that are given must hold."""

    component: list[str] | None = None
    family: Literal["mysql", "mariadb"] | None = None
    topology: list[str] | None = None
    since: Text | None = None
    before: Text | None = None
    capability: str | None = None

    def describe(self) -> str:
        """The condition in words, for the error message that names what works."""
        parts = [
            " or ".join(self.component or []),
            self.family or "",
            "/".join(self.topology or []),
        ]
        parts += [
            f"{self.since} and newer" if self.since else "",
            f"before {self.before}" if self.before else "",
        ]
        parts.append(f"with {self.capability.replace('_', ' ')}" if self.capability else "")
        return " ".join(part for part in parts if part) or "any"


class Variant(Declared):
    """The changes that the setting makes where ``when`` holds."""

    when: When = When()
    variables: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    first_start: str = ""
    service: dict[str, Any] = Field(default_factory=dict)
    """The part merged over the node's Compose service, such as its environment."""
    from_client: list[str] = Field(default_factory=list)
    """Folders of the client's image that the node has, too, read-only, under the same paths."""
    proof: Question


class Setting(Declared):
    """One file of ``profiles/settings/``."""

    name: str
    help: str
    applies_to: Literal["databases", "members", "replicas", "proxies"]
    """All servers of the group; only those of its database term; only its replicas; only its
    proxies.
    """
    variants: list[Variant]
    conflicts: list[str] = Field(default_factory=list)
    """Settings or components that cannot be in the same group."""
    needs: list[str] = Field(default_factory=list)
    """Components of which the group must have at least one."""
    whole_group: str = ""
    """Why it makes no sense on some nodes of its group alone; empty: it does."""


class NamedProfile(Declared):
    """One file of ``profiles/named/``."""

    name: str
    help: str
    profile: str


class Components(Protocol):
    """Components by name; a replica is resolved for the group component it attaches to."""

    def names(self) -> list[str]:
        """Every component's name."""

    def aliases(self) -> Mapping[str, str]:
        """Alias → the component's name."""

    def get(self, name: str, group_component: str | None = None) -> Component:
        """The component; if it is based on its group's component, resolved for that one."""


@dataclass(frozen=True)
class Library:
    """The names that a profile can use."""

    components: Components
    settings: Mapping[str, Setting]
    named: Mapping[str, NamedProfile]
    catalog: Catalog

    def words(self) -> list[str]:
        """Every word that can be a term, for did-you-mean."""
        words = {*self.components.names(), *self.components.aliases(), *self.settings, *self.named}
        return sorted(words)
