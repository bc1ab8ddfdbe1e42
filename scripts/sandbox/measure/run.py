"""A run, a bench or a trial: what it is asked for, how it opens on a stack, what its steps find."""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

from sandbox.core.errors import MachineError, SandboxError
from sandbox.load.common.registry import NamedWorkload
from sandbox.load.common.workload import (
    Event,
    Parameters,
    PreparedData,
    Second,
    Session,
    Workload,
    refuse_unfit,
)
from sandbox.measure.counters import ServerState, restarted
from sandbox.measure.run_checks import set_in_effect, settings_in_effect
from sandbox.profile.names import MEMBERS
from sandbox.record.consistency import ConsistencyRecord
from sandbox.record.record import (
    CheckRecord,
    Environment,
    HostLoad,
    Metrics,
    PreparationRecord,
    Record,
    Status,
)
from sandbox.record.store import ResultFolder
from sandbox.stack.protocol import EntryPoint, RunningStack, ServerRole, StackNode


@dataclass(frozen=True)
class RunRequest:
    """The request of any run. ``seed`` None: a random one; ``command``: as typed."""

    workload: NamedWorkload
    parameters: Parameters
    via: str | None = None
    seed: int | None = None
    command: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raises SandboxError (exit 2) for a workload that this entry point cannot have."""
        if self.workload.workload.needs_members and self.via != MEMBERS:
            what = f"tables_per_member needs VIA={MEMBERS}"
            known = "elsewhere no member has connections of its own"
            step = f"try: make bench VIA={MEMBERS} OPTIONS=tables_per_member=on"
            raise SandboxError(what, known, step)

    @property
    def name(self) -> str:
        """The name of its result, besides the profile."""
        return self.workload.name

    @property
    def has_load(self) -> bool:
        """Whether its workload runs; else the workload is there for its data alone."""
        return True

    @property
    def uses(self) -> frozenset[str]:
        """TABLES, ROWS, DIST and RATE as far as it uses them, by the names of `Parameters`."""
        return self.workload.workload.uses

    @property
    def data_need(self) -> PreparedData | None:
        """The data that the load works on; None: it needs none."""
        return self.workload.workload.data_needed(self.parameters)

    @property
    def work_s(self) -> float | None:
        """About how long a load that ends with its work takes; None: it ends by the clock."""
        return self.workload.workload.work_s(self.parameters)

    @property
    def consumes_data(self) -> bool:
        """Whether the load uses its data up, so that it is made again for each phase."""
        return self.workload.workload.consumes_data

    def placed(self, entry: EntryPoint) -> EntryPoint:
        """The entry point as the run uses it. Raises SandboxError (exit 2) where it cannot."""
        return entry

    def refuse_stack(self, nodes: Sequence[StackNode], entry: EntryPoint, stack: str) -> None:
        """Raises SandboxError (exit 2) for a stack, named ``stack``, that lacks what it needs."""
        kinds = {node.kind for node in nodes if node.group_index == entry.group_index}
        refuse_unfit(self.workload.workload, self.workload.name, kinds, stack)


AnyRequest = TypeVar("AnyRequest", bound=RunRequest)
LARGEST_SEED = 2**31 - 2
"""sysbench takes a signed 32-bit seed; the warm-up uses the seed plus 1."""
NO_LOAD = "noop"
"""The workload that loads nothing and has no data."""
AT_WORK = ("writer", "reader")
"""Roles of a server that takes part in its group."""


class RunEndedError(Exception):
    """A run cannot continue, or is invalid; carries the status and reason of its record."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass
class Opening(Generic[AnyRequest]):
    """A request, and the stack as a run finds it, queried once.

    ``series``: the seconds of load, as they come.
    """

    request: AnyRequest
    session: Session
    nodes: tuple[StackNode, ...]
    roles: dict[str, ServerRole | None]
    down_at_start: dict[str, str]
    series: list[Second]

    @property
    def stack(self) -> RunningStack:
        """The stack under load."""
        return self.session.stack


@dataclass(frozen=True, slots=True)
class StackFacts:
    """A stack as it was found at one moment. ``down``: nodes that do not run, with their state."""

    nodes: Sequence[StackNode]
    roles: Mapping[str, ServerRole | None]
    down: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RunPlace:
    """Where a run leaves its record: ``runs/<cell>.<block>`` of a result."""

    result: ResultFolder
    cell: str
    block: int
    started_utc: datetime


@dataclass
class Run(Opening[AnyRequest]):
    """The part of a run that a bench and a trial share.

    The fixed part is set when it opens; steps fill in the rest.
    """

    folder: Path
    run_id: str
    cell: str
    block: int
    started_utc: datetime
    secrets: frozenset[str]
    checks: list[CheckRecord] = field(default_factory=list)
    preparation: PreparationRecord | None = None
    metrics: Metrics = field(default_factory=Metrics)
    before: dict[str, ServerState] = field(default_factory=dict)
    after: dict[str, ServerState] = field(default_factory=dict)
    host_load: HostLoad = field(default_factory=HostLoad)
    environment: Environment = field(default_factory=Environment)
    """The machine's fingerprint; a run that gets one does not take it again."""
    files: dict[str, str] = field(default_factory=dict)
    consistency: list[ConsistencyRecord] = field(default_factory=list)
    """Whether the servers held the same in the end, where that was looked at."""
    closing: ExitStack = field(default_factory=ExitStack)
    """Everything that the steps have started beside the stack: it ends with the run, the latest
    first.
    """

    @property
    def workload(self) -> Workload:
        """The workload that its request asks for."""
        return self.request.workload.workload

    @property
    def writers_at_start(self) -> int:
        """How many servers behind the entry point took writes when the run began."""
        return sum(self.roles.get(node.name) == "writer" for node in self.servers_of_group)

    @property
    def servers_of_group(self) -> list[StackNode]:
        """The servers behind the entry point."""
        group = self.session.entry.group_index
        return [node for node in self.nodes if node.is_server and node.group_index == group]

    @property
    def live_servers(self) -> list[StackNode]:
        """Database servers of the whole stack that ran when the run opened."""
        return [node for node in self.live_nodes if node.is_server]

    @property
    def logged_nodes(self) -> Sequence[StackNode]:
        """Nodes whose logs are kept beside the record."""
        return self.nodes

    @property
    def live_nodes(self) -> list[StackNode]:
        """Nodes of the whole stack that ran when the run opened."""
        return [node for node in self.nodes if node.name not in self.down_at_start]

    def keep(self, word: str, name: str) -> Path:
        """Path of a file next to the record; adds it to the record's list of files."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        self.files[word] = name
        return path

    def completed(self, record: Record) -> Record:
        """The record with what only this kind of run has found."""
        return record


AnyRun = TypeVar("AnyRun", bound=Run[Any])


def open_stack(
    stack: RunningStack,
    request: AnyRequest,
    on_event: Callable[[Event], None],
    known: StackFacts | None = None,
) -> Opening[AnyRequest]:
    """Where the load goes and where it comes from; the request has its seed from here on.

    ``known``: the stack as it was found a moment ago, where it need not be asked again. Raises
    SandboxError: exit 2 for an invalid ``VIA=`` or ``SEED=``, or a workload or target that needs
    another stack; exit 4 for a stack that cannot take a load.
    """
    seed = _seed(request.seed)
    request = replace(request, seed=seed)
    series = list[Second]()
    found = known or StackFacts(stack.nodes(), stack.roles(), stack.dead_nodes())
    nodes, roles, down = found.nodes, found.roles, found.down
    entry = request.placed(stack.entry_point(request.via, roles))
    request.refuse_stack(nodes, entry, f"stack {stack.name} ({stack.profile})")
    client = next((node.name for node in nodes if node.kind == "client"), None)
    if client is None or client in down:
        what = f"stack {stack.name} has no running client node"
        raise MachineError(what, "the load runs in the client node", "try: make ps")
    group = [node for node in nodes if node.is_server and node.group_index == entry.group_index]
    servers = [node for node in group if node.name not in down]
    writer = writer_for(entry, servers, roles, stack.name)
    # A server that neither writes nor follows the writer never gets the load's writes.
    servers = [
        node for node in servers if node.kind == "external" or roles.get(node.name) in AT_WORK
    ]

    def keep_series(event: Event) -> None:
        if isinstance(event, Second):
            series.append(event)
        on_event(event)

    session = Session(stack, client, entry, writer, servers, request.parameters, seed, keep_series)
    return Opening(request, session, tuple(nodes), dict(roles), dict(down), series)


def open_run(kind: type[AnyRun], opening: Opening[Any], place: RunPlace, **more: Any) -> AnyRun:
    """The run before its first step, with its folder. ``more``: fields of that kind alone."""
    run = f"{place.cell}.{place.block}"
    return kind(
        **vars(opening),
        folder=place.result.start_run(place.cell, place.block),
        run_id=f"{place.result.path.name}/{run}",
        cell=place.cell,
        block=place.block,
        started_utc=place.started_utc,
        secrets=opening.stack.secrets(),
        **more,
    )


def _seed(asked: int | None) -> int:
    if asked is None:
        return random.SystemRandom().randint(1, LARGEST_SEED)
    if not 1 <= asked <= LARGEST_SEED:
        what = f"SEED={asked} is not valid"
        raise SandboxError(
            what, f"a seed is a number from 1 to {LARGEST_SEED}", "try: make bench SEED=1"
        )
    return asked


def writer_for(
    entry: EntryPoint,
    servers: Sequence[StackNode],
    roles: Mapping[str, ServerRole | None],
    stack: str,
) -> EntryPoint:
    """The entry point itself where it is a writer, else the first writer among servers of its
    group.

    Raises SandboxError (exit 4) where none of them is. ``stack``: its name.
    """
    # An external server is not asked for its role: it accepts writes or returns an error.
    writers = [
        server
        for server in servers
        if roles.get(server.name) == "writer" or server.kind == "external"
    ]
    chosen = next(
        (server for server in writers if server.name == entry.node), next(iter(writers), None)
    )
    if chosen is None or chosen.port is None:
        text = ", ".join(
            f"{server.name} {roles.get(server.name) or 'no role'}" for server in servers
        )
        what = f"group {entry.group_index} of stack {stack} has no writer"
        raise MachineError(what, text or "none of its servers is running", "try: make ps")
    entry = replace(entry, node=chosen.name, host=chosen.host, port=chosen.port, others=())
    return replace(entry, via="writer", multiplexes=False)


def idle_servers(
    servers: Sequence[StackNode], roles: Mapping[str, ServerRole | None]
) -> dict[str, str]:
    """Servers of ours that neither write nor follow a writer, each with its role."""
    ours = (node.name for node in servers if node.is_server and node.has_container)
    return {name: roles.get(name) or "no role" for name in ours if roles.get(name) not in AT_WORK}


def prove_settings(run: Run[Any]) -> None:
    """Asks the live servers whether every setting is in effect.

    Raises RunEndedError where one is not: the run would measure something else.
    """
    check = settings_in_effect(run.stack.prove_settings())
    run.checks.append(check)
    if check.verdict == "fail":
        raise RunEndedError("failed", f"setting not in effect: {check.detail}")


def prove_assignments(run: Run[Any]) -> None:
    """Reads SET= back from the servers that the run begins with.

    Raises RunEndedError where a value is not in effect: the run would measure something else.
    """
    assignments = run.stack.inputs.assignments
    if not assignments:
        return
    servers = {name: server.variables for name, server in run.before.items()}
    check = set_in_effect(assignments, servers)
    run.checks.append(check)
    if check.verdict == "fail":
        raise RunEndedError("failed", f"SET is not in effect: {check.detail}")


def nodes_lost(run: Run[Any]) -> dict[str, str]:
    """Nodes that ran at the start but do not now, or whose server restarted, with states."""
    down = run.stack.dead_nodes()
    dead = {name: state for name, state in down.items() if name not in run.down_at_start}
    unheard = [name for name in run.before if name not in run.after] if run.after else []
    silent = dict.fromkeys(unheard, "its server did not answer after the load")
    heard = [name for name in run.before if name in run.after]
    again = [name for name in heard if restarted(run.before[name], run.after[name])]
    return {**silent, **dict.fromkeys(again, "its server restarted"), **dead}
