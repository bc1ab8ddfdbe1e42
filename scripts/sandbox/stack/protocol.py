"""The interface of `stack` for the layers above it: a running stack, its nodes, its events."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from sandbox.core.words import ImageOrigin
from sandbox.stack.server_status import ServerStatus

if TYPE_CHECKING:  # Pydantic's models: what only looks at a stack does without them
    from sandbox.profile.library import Kind
    from sandbox.record.record import Inputs

ServerRole = Literal["writer", "reader", "stale"]
"""``stale``: it takes writes, but another server of its group is the writer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StackNode:
    """One node of a running stack. ``image`` is the reference, ``image_id`` the engine's
    ``sha256:…``.
    """

    name: str
    term: str
    component: str
    kind: "Kind"
    group_index: int | None
    family: Literal["mysql", "mariadb"] | None
    topology: Literal["single", "galera", "gr"] | None = None
    image: str | None = None
    image_id: str | None = None
    image_source: ImageOrigin | None = None
    digest: str | None = None
    """The digest of a published image."""
    package_version: str | None = None
    """The distribution's spelling, ``1:11.8.6-0+deb13u1``; None where the image has none."""
    host: str
    """Name under which the client node reaches it."""
    port: int | None
    """Entry port; None where it has none."""
    has_container: bool = True
    """False for an external server: no exec, no log, no root."""
    host_of: str | None = None
    """The server on whose host it stands; None where it has a host of its own."""
    rejoins: str = ""
    """Means by which it makes a server of its group follow the writer again; empty: none."""

    @property
    def is_server(self) -> bool:
        """Whether SQL status can be asked of it as of a database server."""
        return self.kind in ("database", "replica", "external")


def followers(servers: Sequence[StackNode], writer: str) -> list[StackNode]:
    """Servers with a writer's data: its group; of independent servers, itself and its replicas."""
    members = [server for server in servers if server.kind == "database"]
    if len(members) < 2 or members[0].topology != "single":
        return list(servers)
    first = members[0].name == writer
    return [
        server
        for server in servers
        if server.name == writer or (first and server.kind == "replica")
    ]


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """The target of a load, seen from the client node."""

    node: str
    host: str
    port: int
    group_index: int
    via: str
    """Its name for the user: ``haproxy1:rw``, ``writer``, ``pxc2``."""
    multiplexes: bool = False
    """Whether clients share server connections, so that prepared statements must be off."""
    user: str = "sbtest"
    schema: str = "sbtest"
    others: tuple[str, ...] = ()
    """Hosts of further servers, at the same port, over which the load's connections are spread."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """Every host that the load connects to."""
        return self.host, *self.others


@dataclass(frozen=True, slots=True)
class ExecResult:
    """The end of a command: one in a node, or of the `docker` client."""

    code: int
    stdout: str
    stderr: str

    @property
    def last_error(self) -> str:
        """The last line of its error output."""
        return self.stderr.strip().rpartition("\n")[2]


@dataclass(frozen=True, slots=True)
class SettingProof:
    """The proof query of one setting on one node: the expected and the actual answer."""

    setting: str
    node: str
    expected: str
    answer: str | None
    """The output, or the error where it failed; None where the node does not run."""

    @property
    def in_effect(self) -> bool:
        """Whether the server confirms the setting."""
        return self.answer == self.expected


@dataclass(frozen=True, slots=True)
class ReadyAnswer:
    """A node's answer to its readiness question, and whether that means yes."""

    ready: bool
    text: str


@dataclass(frozen=True, slots=True)
class Standing:
    """Every node's answer to its readiness question, if it was asked; every server's role."""

    ready: Mapping[str, ReadyAnswer]
    roles: Mapping[str, ServerRole | None]


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine's report on itself and on the machine where containers run (`docker info`)."""

    version: str
    operating_system: str
    kernel: str
    architecture: str
    cgroup_version: str
    storage_driver: str
    cpus: int
    memory_bytes: int


class Stream(Protocol):
    """A command running in a node."""

    def lines(self) -> Iterator[str]:
        """Lines of output and errors as they arrive, without line ends, until the command ends."""

    def send(self, line: str) -> None:
        """Sends a line of input to the command; lost where the command has ended."""

    def close_stdin(self) -> None:
        """Ends the command's input; harmless when repeated."""

    def wait(self, timeout_s: float) -> int:
        """Exit code of the command; TimeoutError when it is still running after ``timeout_s``."""

    def kill(self) -> None:
        """Ends our side only: the caller ends the command in the node. Harmless when repeated."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a container; None: no limit. ``memory_bytes``: of memory and swap together."""

    cpus: float | None = None
    memory_bytes: int | None = None


class NodeControl(Protocol):
    """The means to break and mend one node. Every method raises SandboxError (exit 4) where the
    engine refuses.
    """

    name: str
    kind: "Kind"

    def state(self) -> str:
        """``running``, ``paused``, ``exited (137), out of memory``, ``gone``, ``external``."""

    def address(self) -> str | None:
        """IP address in the stack's network; None while it is not connected or has ended."""

    def signal(self, name: str) -> None:
        """Sends a signal, such as ``KILL``, to the node's first process."""

    def pause(self) -> None:
        """Freezes every process. Harmless when repeated."""

    def unpause(self) -> None:
        """Lets them run again. Harmless when repeated."""

    def stop(self, grace_s: float) -> None:
        """TERM, and KILL after ``grace_s``. Returns when the container has ended."""

    def start(self) -> None:
        """Starts a container that has ended, and waits for no server. Harmless when it runs."""

    def in_volumes(self, script: str) -> ExecResult:
        """Runs ``sh -c script`` as root on the volumes of a container that has ended."""

    def empty_data(self) -> None:
        """Empties the data directory of a container that has ended: it starts as a new one."""

    def disconnect(self) -> None:
        """Unplugs it from the stack's network. Harmless when repeated."""

    def connect(self) -> None:
        """Plugs it in again under its name; its address may change. Harmless when repeated."""

    def limits(self) -> Limits:
        """Its limits now."""

    def limit(self, limits: Limits) -> None:
        """Sets both limits while it runs. A lower limit on memory ends processes above it."""

    def weigh(self, weight: float) -> None:
        """Sets its CPU weight, which counts where CPUs are short; every other container has 1."""

    def execute(self, script: str, timeout_s: float = 10.0) -> ExecResult:
        """Runs ``sh -c script`` as root in the container. TimeoutError past ``timeout_s``."""

    def ask(self, statement: str, timeout_s: float = 10.0) -> ExecResult:
        """Runs SQL on its server: as root, or as an external address's user. TimeoutError."""

    def in_network(self, script: str, timeout_s: float = 10.0) -> ExecResult:
        """Runs ``bash -c script`` in the node's network namespace, with NET_ADMIN, iptables and tc.

        The first call starts a helper (0.3 s); it lives until `release`, or until the stack is
        removed.
        """

    def beside_disk(self, script: str, timeout_s: float = 10.0) -> ExecResult:
        """Like `in_network`, with the data directory's volume at /data, and SYS_ADMIN for it.

        A second helper: while it lives, the engine does not unmount the volume.
        """

    def write_limit(self, bytes_per_s: int | None) -> None:
        """Limits its writes to the disk of the data directory, by control group; None: no limit."""

    def release(self) -> None:
        """Removes the helpers, where there are any. Harmless when repeated."""


class RunningStack(Protocol):
    """A stack that is up. Every method raises SandboxError (exit 4) without an engine."""

    name: str
    """``default`` when none was given; of one started by hand, its project."""
    project: str
    """Its identity on the engine."""
    profile: str
    """The expression it was started from."""
    inputs: "Inputs"
    """The user's inputs at ``up``, in addition to the profile."""

    def nodes(self) -> Sequence[StackNode]:
        """Every node of the plan, running or not, and external servers."""

    def roles(self) -> Mapping[str, ServerRole | None]:
        """Role of every database server, all asked at once; None without an answer or a role."""

    def entry_point(
        self, via: str | None, roles: Mapping[str, ServerRole | None] | None = None
    ) -> EntryPoint:
        """Resolves ``VIA=`` (None: the default entry point). SandboxError (exit 2) when ambiguous
        or unknown.

        ``roles``: of every server, where they were asked just now.
        """

    def run(
        self, node: str, argv: Sequence[str], stdin: str | None = None, timeout_s: float = 60.0
    ) -> ExecResult:
        """Runs a command in a node to its end; TimeoutError past ``timeout_s``."""

    def ask_session(
        self, node: str, argv: Sequence[str], line: str, timeout_s: float = 60.0
    ) -> ExecResult:
        """Sends a line to a command that keeps running in a node; the first line starts it. The
        answer is a line.

        The command starts an answer with ASCII 30, which is removed here. If the command ended
        instead: its exit code, not 0, and its last output. TimeoutError past ``timeout_s``.
        """

    def stream(self, node: str, argv: Sequence[str]) -> Stream:
        """Starts a command in a node; its input stays open until ``close_stdin``."""

    def stream_beside(self, node: str, image: str, argv: Sequence[str], weight: float) -> Stream:
        """Starts a program in a container of its own in a node's network; it ends with its input.

        ``image``: a key of the catalog, or key@version, that is here; ``weight``: as `weigh`.
        """

    def stream_within(self, node: str, argv: Sequence[str]) -> Stream:
        """Starts a program of the client's image in the node's processes and network, allowed to
        trace them; the node's files are in ``/proc/1/root``. It may be frozen.
        """

    def described(self, node: str) -> Mapping[str, Any]:
        """The engine's whole description of a node's container, its environment included."""

    def readiness(self) -> Mapping[str, ReadyAnswer]:
        """Each node's answer to its readiness question, all asked at once."""

    def standing(self, with_readiness: bool = True) -> Standing:
        """`readiness` and `roles`, for whoever asks again and again: their commands stay open."""

    def server_states(self) -> Mapping[str, ServerStatus]:
        """State of every database server, with the reason; asked now, its log included."""

    def wait_until_ready(self, timeout_s: float) -> None:
        """Returns when every node is ready. SandboxError (exit 4) if one does not get there."""

    def dead_nodes(self) -> Mapping[str, str]:
        """Nodes whose container does not run → its state: ``exited (137), out of memory``."""

    def starts(self) -> Mapping[str, str]:
        """When the container of each node started last, in the engine's words."""

    def log(self, node: str, since: datetime | None = None) -> str:
        """The node's log with timestamps, since a UTC time (None: since the container was made)."""

    def engine(self) -> Engine:
        """The engine on which it runs."""

    def prove_settings(self) -> Sequence[SettingProof]:
        """Runs the proof of every setting on every node it applies to, now."""

    def control(self, node: str) -> NodeControl:
        """The means to break a node. SandboxError (exit 2) for an unknown one."""

    def upgrade(self, node: str, version: str) -> None:
        """Stops a server in order and starts one of another version on its data, in a container of
        its own.

        Returns once it is started, without waiting for it. Raises SandboxError: exit 2 where the
        profile has no such version; exit 4 where its image is not here (nothing is stopped then),
        or the engine refuses.
        """

    def lacking(self) -> Mapping[str, str]:
        """Abilities of `KERNEL_ABILITIES` that the kernel lacks, each with the reason."""

    def secrets(self) -> frozenset[str]:
        """Every password of the stack, the same while it is up; none may appear in a saved file."""


NodeState = Literal["creating", "starting", "waiting", "ready", "failed", "stopping", "stopped"]
ImageState = Literal["waiting", "pulling", "building", "here", "failed"]


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """A node's state, its last answer, and seconds since the command began to work on it."""

    node: str
    state: NodeState
    answer: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ImageEvent:
    """An image being pulled or built, and seconds since the start."""

    reference: str
    state: ImageState
    detail: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence for the user."""

    text: str


@dataclass(frozen=True, slots=True)
class LogTail:
    """The last lines of the log of a node that failed."""

    node: str
    lines: tuple[str, ...]


Event = NodeEvent | ImageEvent | Note | LogTail
OnEvent = Callable[[Event], None]
