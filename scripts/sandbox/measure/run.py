"""A run: its request, how it opens on a stack, and what its steps have found so far."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Protocol

from sandbox.core.errors import MachineError, SandboxError
from sandbox.failure.breaker import Breaking
from sandbox.failure.targets import refuse_impossible
from sandbox.judge.survival import Lasted
from sandbox.load.common.registry import NamedWorkload
from sandbox.load.common.workload import (
    Event,
    Parameters,
    PreparedData,
    Second,
    Session,
    Workload,
    refuse_as_companion,
    refuse_unfit,
)
from sandbox.measure.counters import ServerState, Usage
from sandbox.measure.run_checks import Condition, settings_in_effect
from sandbox.measure.sampler import Sampler
from sandbox.measure.trial.prober import ProbeRates, RunningProbe
from sandbox.measure.trial.schedule import SAME, Scenario, Schedule, Step
from sandbox.profile.names import MEMBERS
from sandbox.record.record import (
    Absence,
    CheckRecord,
    Environment,
    HostLoad,
    Metrics,
    PreparationRecord,
    Status,
    TrialRecord,
)
from sandbox.record.store import ResultFolder
from sandbox.stack.protocol import EntryPoint, RunningStack, ServerRole, StackNode

LARGEST_SEED = 2**31 - 2
"""sysbench takes a signed 32-bit seed; the warm-up uses the seed plus 1."""
NO_LOAD = "noop"
"""The workload that loads nothing and has no data."""
AT_WORK = ("writer", "reader")
"""Roles of a server that takes part in its group."""


@dataclass(frozen=True, slots=True)
class BenchRequest:
    """A request of ``make bench``. ``seed`` None: a random one; ``command``: as typed, for the record."""

    workload: NamedWorkload
    parameters: Parameters
    via: str | None = None
    seed: int | None = None
    command: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    """Conditions that the run's samples must meet for the run to be valid."""
    schema: str | None = None
    """Schema of the data on an external server; None: the one in its address."""
    trial: "TrialRequest | None" = None
    """None: a bench, in which nothing breaks."""

    def __post_init__(self) -> None:
        """Raises SandboxError (exit 2) for what makes no sense through this entry point."""
        if self.trial and self.via == MEMBERS:
            what = f"a trial does not go through VIA={MEMBERS}"
            known = (
                "without a proxy its probe knows every server; a load on all members would end with the first of them"
            )
            raise SandboxError(what, known, "try: make trial VIA=writer")
        if self.trial:
            refuse_as_companion(self.workload.workload, self.workload.name, self.parameters)
        if self.workload.workload.needs_members and self.via != MEMBERS:
            what = f"tables_per_member needs VIA={MEMBERS}"
            known = "elsewhere no member has connections of its own"
            raise SandboxError(what, known, f"try: make bench VIA={MEMBERS} OPTIONS=tables_per_member=on")

    @property
    def is_idle(self) -> bool:
        """Whether it is a trial without a load: its workload is there for its data alone."""
        return self.trial is not None and not self.trial.loaded

    @property
    def uses(self) -> frozenset[str]:
        """Which of TABLES, ROWS, DIST and RATE it uses, by the names of `Parameters`."""
        uses = self.workload.workload.uses
        return uses & {"tables", "rows_per_table"} if self.is_idle else uses

    @property
    def data_need(self) -> PreparedData | None:
        """The data that the load works on; None: it needs none."""
        return self.workload.workload.data_needed(self.parameters)

    @property
    def work_s(self) -> float | None:
        """About how long the measured load takes if it ends with its work; None: it ends by the clock."""
        return None if self.trial else self.workload.workload.work_s(self.parameters)

    @property
    def consumes_data(self) -> bool:
        """Whether the load uses its data up, so that it is made again for each phase."""
        return self.workload.workload.consumes_data


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """What breaks during a run. ``loaded``: beside the probe, the workload at half of what the stack reaches.

    ``transaction``: each write of the probe is BEGIN, INSERT and COMMIT; else it commits by itself.

    ``redundancy_limit_s``: how long the stack may take to be whole again after the last heal.
    """

    schedule: Schedule
    scenario: Scenario | None = None
    """What the schedule of another seed is drawn from; None: it is the same for every seed."""
    loaded: bool = False
    rates: ProbeRates = field(default_factory=ProbeRates)
    timeout_s: float = 2.0
    transaction: bool = False
    redundancy_limit_s: float = 180.0

    def drawn(self, seed: int) -> "TrialRequest":
        """The request with the schedule of a run's seed."""
        return replace(self, schedule=self.scenario.schedule(seed)) if self.scenario else self


@dataclass
class StepTimes:
    """A step of a schedule as it went, on the probe's clock, µs. ``ended_us``: of an action, when it was done."""

    step: Step
    nodes: list[str]
    began_us: float
    ended_us: float
    heal_began_us: float | None = None
    healed_us: float | None = None
    gave_up: bool = False
    """Whether it was healed because writes did not come back within the limit."""
    outcome: str | None = None
    """What an action did, or why it did not."""
    refused: bool = False
    undone: bool = False
    """Whether the trial is one of something else for that: it was not done, and that is no result of the setup."""
    joined_s: list[Lasted] = field(default_factory=list)
    """How long each server that an action started took until it was ready, in seconds; open: it was not, by then."""


@dataclass
class Timeline:
    """What happened when in a trial, on the probe's clock, µs."""

    steps: list[StepTimes] = field(default_factory=list)
    whole_us: float | None = None
    """When every node was ready again and had caught up; None: not within the limit."""
    watched_us: float | None = None
    """Until when it was watched whether they were."""
    end_us: float | None = None
    """When the probe was stopped."""
    clock_us: float | None = None
    """By how much these times can be wrong."""
    moved: dict[str, str] = field(default_factory=dict)
    """Nodes whose address has changed, each with the new one."""


class LoadAlongside(Protocol):
    """The load beside the probe: its target rate, None where the workload has none; and how often it was started."""

    rate_per_s: int | None
    starts: int

    def save(self, path: Path, probe_us: Callable[[int], float]) -> None:
        """Writes what it did in each second; ``probe_us``: a time on our monotonic clock, ns, on the probe's."""


class RunEndedError(Exception):
    """A run cannot continue, or is invalid; carries the status and reason of its record."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass
class Opening:
    """A request, and the stack as a run finds it, queried once. ``series``: the seconds of load, as they come."""

    request: BenchRequest
    session: Session
    nodes: tuple[StackNode, ...]
    roles: dict[str, ServerRole | None]
    down_at_start: dict[str, str]
    series: list[Second]

    @property
    def stack(self) -> RunningStack:
        """The stack under load."""
        return self.session.stack


@dataclass
class Run(Opening):
    """The fixed part is set when the run opens; steps fill in the rest."""

    folder: Path
    run_id: str
    cell: str
    block: int
    started_utc: datetime
    secrets: frozenset[str]
    checks: list[CheckRecord] = field(default_factory=list)
    preparation: PreparationRecord | None = None
    load_command: tuple[str, ...] | None = None
    metrics: Metrics = field(default_factory=Metrics)
    before: dict[str, ServerState] = field(default_factory=dict)
    after: dict[str, ServerState] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    """Of a trial: connections that each server refused because it had too many."""
    usage: dict[str, Usage] = field(default_factory=dict)
    """Resources that each node used during the measured window."""
    sampler: Sampler | None = None
    answered: dict[str, int] | None = None
    absences: list[Absence] = field(default_factory=list)
    """Of a load on all members of a cluster: when some were away."""
    starts: dict[str, str] = field(default_factory=dict)
    """When each container had started last, before such a load."""
    broken: set[str] = field(default_factory=set)
    """Nodes that something was written down to be broken on, when a load had lost them."""
    host_load: HostLoad = field(default_factory=HostLoad)
    environment: Environment = field(default_factory=Environment)
    """The machine's fingerprint; a run that gets one does not take it again."""
    files: dict[str, str] = field(default_factory=dict)
    trial: TrialRecord | None = None
    """This one and the next four: of a run in which something breaks."""
    timeline: Timeline = field(default_factory=Timeline)
    breaking: Breaking | None = None
    probe: RunningProbe | None = None
    load: LoadAlongside | None = None
    closing: ExitStack = field(default_factory=ExitStack)
    """What the steps have started beside the stack; it ends with the run, the latest first."""

    @property
    def workload(self) -> Workload:
        """What its request asks for."""
        return self.request.workload.workload

    @property
    def writers_at_start(self) -> int:
        """How many servers behind the entry point took writes when the run began."""
        return sum(self.roles.get(node.name) == "writer" for node in servers_of_group(self))

    @property
    def live_servers(self) -> list[StackNode]:
        """Database servers of the whole stack that ran when the run opened."""
        return [node for node in self.live_nodes if node.is_server]

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


def open_stack(stack: RunningStack, request: BenchRequest, on_event: Callable[[Event], None]) -> Opening:
    """Where the load goes and where it comes from.

    What is random in a trial is drawn from the run's seed.

    Raises SandboxError: exit 2 for an invalid ``VIA=`` or ``SEED=``, or a workload or target that needs another stack;
    exit 4 for a stack that cannot take a load.
    """
    seed, series = _seed(request.seed), list[Second]()
    request = replace(request, trial=request.trial.drawn(seed)) if request.trial else request
    nodes, roles, down = stack.nodes(), stack.roles(), stack.dead_nodes()
    entry = _in_schema(stack.entry_point(request.via, roles), request.schema)
    named, kinds = request.workload, {node.kind for node in nodes if node.group_index == entry.group_index}
    refuse_unfit(named.workload, named.name, kinds, f"stack {stack.name} ({stack.profile})")
    for step in request.trial.schedule.steps if request.trial else ():
        if step.target != SAME:
            refuse_impossible(step.name, step.target, nodes, entry.group_index)
    client = next((node.name for node in nodes if node.kind == "client"), None)
    if client is None or client in down:
        what = f"stack {stack.name} has no running client node"
        raise MachineError(what, "the load runs in the client node", "try: make ps")
    servers = [
        node for node in nodes if node.is_server and node.group_index == entry.group_index and node.name not in down
    ]
    writer = writer_for(entry, servers, roles, stack.name)
    # A server that neither writes nor follows the writer never gets the load's writes.
    servers = [server for server in servers if server.kind == "external" or roles.get(server.name) in AT_WORK]

    def keep_series(event: Event) -> None:
        if isinstance(event, Second):
            series.append(event)
        on_event(event)

    session = Session(stack, client, entry, writer, servers, request.parameters, seed, keep_series)
    return Opening(request, session, tuple(nodes), dict(roles), dict(down), series)


def open_run(opening: Opening, result: ResultFolder, cell: str, block: int, started_utc: datetime) -> Run:
    """The run before its first step, with its folder in the result."""
    return Run(
        **vars(opening),
        folder=result.start_run(cell, block),
        run_id=f"{result.path.name}/{cell}.{block}",
        cell=cell,
        block=block,
        started_utc=started_utc,
        secrets=opening.stack.secrets(),
    )


def _in_schema(entry: EntryPoint, schema: str | None) -> EntryPoint:
    """The entry point with SCHEMA= in place of the schema of EXTERNAL=. Raises SandboxError (exit 2)."""
    if schema is None:
        return entry
    if entry.via != "external":
        known = f"{entry.via} is a sandbox server, where the load uses the schema {entry.schema}"
        raise SandboxError(f"SCHEMA={schema} applies only to an external server", known, "try: make bench")
    if not re.fullmatch(r"[A-Za-z0-9_$]{1,64}", schema):
        known = "a schema name has 1 to 64 letters, digits, _ or $"
        raise SandboxError(f"SCHEMA={schema} is not valid", known, "try: make bench SCHEMA=sbtest2")
    return replace(entry, schema=schema)


def _seed(asked: int | None) -> int:
    if asked is None:
        return random.SystemRandom().randint(1, LARGEST_SEED)
    if not 1 <= asked <= LARGEST_SEED:
        what = f"SEED={asked} is not valid"
        raise SandboxError(what, f"a seed is a number from 1 to {LARGEST_SEED}", "try: make bench SEED=1")
    return asked


def writer_for(
    entry: EntryPoint, servers: Sequence[StackNode], roles: Mapping[str, ServerRole | None], stack: str
) -> EntryPoint:
    """The entry point itself where it is a writer, else the first writer among servers of its group.

    Raises SandboxError (exit 4) where none of them is. ``stack``: its name.
    """
    # An external server is not asked for its role: it accepts writes or returns an error.
    writers = [server for server in servers if roles.get(server.name) == "writer" or server.kind == "external"]
    chosen = next((server for server in writers if server.name == entry.node), next(iter(writers), None))
    if chosen is None or chosen.port is None:
        text = ", ".join(f"{server.name} {roles.get(server.name) or 'no role'}" for server in servers)
        what = f"group {entry.group_index} of stack {stack} has no writer"
        raise MachineError(what, text or "none of its servers is running", "try: make ps")
    entry = replace(entry, node=chosen.name, host=chosen.host, port=chosen.port, others=())
    return replace(entry, via="writer", multiplexes=False)


def servers_of_group(run: Run) -> list[StackNode]:
    """The servers behind the entry point of the run."""
    return [node for node in run.nodes if node.is_server and node.group_index == run.session.entry.group_index]


def idle_servers(servers: Sequence[StackNode], roles: Mapping[str, ServerRole | None]) -> dict[str, str]:
    """Servers of ours that neither write nor follow a writer, each with its role."""
    ours = (node.name for node in servers if node.is_server and node.has_container)
    return {name: roles.get(name) or "no role" for name in ours if roles.get(name) not in AT_WORK}


def prove_settings(run: Run) -> None:
    """Asks the live servers whether every setting is in effect; without one, the run would measure something else."""
    check = settings_in_effect(run.stack.prove_settings())
    run.checks.append(check)
    if check.verdict == "fail":
        raise RunEndedError("failed", f"setting not in effect: {check.detail}")
