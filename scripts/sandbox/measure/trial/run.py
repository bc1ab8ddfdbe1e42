"""A trial: its request, where its prober works, what happens in it, what its steps find."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sandbox.core.errors import SandboxError
from sandbox.failure.breaker import Breaking
from sandbox.failure.targets import refuse_impossible
from sandbox.load.common.workload import refuse_as_companion
from sandbox.measure.run import Run, RunRequest
from sandbox.measure.trial.driver_client import DriverClient, DriverPlan
from sandbox.measure.trial.drivers import DriverChoice
from sandbox.measure.trial.ledger_on_servers import schema_of
from sandbox.measure.trial.prober import Prober, ProberPlan, ProberRates
from sandbox.measure.trial.scenario import Scenario
from sandbox.measure.trial.schedule import SAME, Schedule, Step
from sandbox.profile.names import MEMBERS
from sandbox.record.record import Record
from sandbox.record.trial import Lasted, TrialRecord
from sandbox.stack.protocol import EntryPoint, RunningStack, ServerRole, StackNode


@dataclass(frozen=True)
class TrialRequest(RunRequest):
    """The request of a trial.

    ``loaded``: beside the prober, the workload at half of what the stack reaches.

    ``transaction``: each write of the prober is BEGIN, INSERT and COMMIT; else it commits itself.

    ``redundancy_limit_s``: how long the stack may take to be whole again after the last heal.
    """

    scenario: Scenario = field(kw_only=True)
    loaded: bool = False
    rates: ProberRates = field(default_factory=ProberRates)
    timeout_s: float = 2.0
    transaction: bool = False
    redundancy_limit_s: float = 180.0
    driver: DriverChoice | None = None
    """The driver that writes and reads beside the prober; None: the prober alone."""

    def __post_init__(self) -> None:
        """Raises SandboxError (exit 2) for an entry point or a workload that no trial can have."""
        if self.via == MEMBERS:
            what = f"a trial does not go through VIA={MEMBERS}"
            known = (
                "without a proxy its prober knows every server; a load on all members would end"
                " with the first of them"
            )
            raise SandboxError(what, known, "try: make trial VIA=writer")
        refuse_as_companion(self.workload.workload, self.workload.name, self.parameters)
        super().__post_init__()

    @property
    def name(self) -> str:
        """The same name for every trial: its load is not what it is about."""
        return "trial"

    @property
    def schedule(self) -> Schedule:
        """The faults and actions in time; random steps as the seed draws them, or seed 1 where it
        has none.
        """
        return self.scenario.schedule() if self.seed is None else self.scenario.schedule(self.seed)

    @property
    def has_load(self) -> bool:
        """Whether the workload runs beside the prober; else it is there for its data alone."""
        return self.loaded

    @property
    def uses(self) -> frozenset[str]:
        """Without a load only what its data depends on."""
        return super().uses if self.loaded else super().uses & {"tables", "rows_per_table"}

    @property
    def work_s(self) -> float | None:
        """None: its load lasts as long as the trial."""
        return None

    def refuse_stack(self, nodes: Sequence[StackNode], entry: EntryPoint, stack: str) -> None:
        """Raises SandboxError (exit 2) also for a step whose target the stack never has."""
        super().refuse_stack(nodes, entry, stack)
        for step in self.schedule.steps:
            if step.target != SAME:
                refuse_impossible(step.name, step.target, nodes, entry.group_index)
        if self.driver is not None:
            self.driver.refuse_unfit(nodes, entry)


@dataclass
class StepTimes:
    """A step of a schedule as it went, on the prober's clock, µs.

    ``ended_us``: of an action, when it was done.
    """

    step: Step
    nodes: list[str]
    began_us: float
    ended_us: float
    heal_began_us: float | None = None
    healed_us: float | None = None
    gave_up: bool = False
    """Whether it was healed because writes did not come back within the limit."""
    outcome: str | None = None
    """A sentence about an action: its deed, or why it was refused."""
    refused: bool = False
    undone: bool = False
    """Whether it was not done, which is no result of the setup: the trial is one of something
    else.
    """
    joined_s: list[Lasted] = field(default_factory=list)
    """Seconds until each server that an action started was ready; open: it was not, by then."""


@dataclass
class Timeline:
    """The events of a trial, on the prober's clock, µs."""

    steps: list[StepTimes] = field(default_factory=list)
    whole_us: float | None = None
    """When every node was ready again and had caught up; None: not within the limit."""
    watched_us: float | None = None
    """Until when it was watched whether they were."""
    end_us: float | None = None
    """When the prober was stopped."""
    clock_us: float | None = None
    """By how much these times can be wrong."""
    moved: dict[str, str] = field(default_factory=dict)
    """Nodes whose address has changed, each with the new one."""


class LoadAlongside(Protocol):
    """The load beside the prober: how often it was started, and its target rate, if it has one."""

    rate_per_s: int | None
    starts: int

    def stop(self) -> None:
        """Ends it; harmless when repeated."""

    def save(self, path: Path, prober_us: Callable[[int], float]) -> None:
        """Writes what it did in each second; ``prober_us``: our clock, ns, on the prober's, µs."""


@dataclass(kw_only=True)
class TrialRun(Run[TrialRequest]):
    """A trial and what its steps have found so far."""

    breaking: Breaking
    """Heals whatever is broken when the run is closed, and when this process is killed."""
    prober: Prober
    """The prober, with its plan from the beginning; a step starts it."""
    driver: DriverClient | None = None
    """The driver beside it, with its plan from the beginning; None in a trial without one."""
    load: LoadAlongside | None = None
    """None in an idle trial, and before its start."""
    timeline: Timeline = field(default_factory=Timeline)
    sampling: ExitStack = field(default_factory=ExitStack)
    """The sampling of the servers, which ends with the prober."""
    refused: dict[str, int] = field(default_factory=dict)
    """Connections that each server refused because it had too many."""
    judged: TrialRecord | None = None
    """The findings of the prober's log and the ledgers; None until they are judged."""

    def completed(self, record: Record) -> Record:
        """The record with what broke in the trial and what came of it."""
        return record.model_copy(update={"trial": self.judged})


def prober_plan(
    stack: RunningStack,
    entry: EntryPoint,
    nodes: Sequence[StackNode],
    roles: Mapping[str, ServerRole | None],
    trial: TrialRequest,
    seed: int,
) -> ProberPlan:
    """The plan of a prober: through a proxy, or as a client that knows every server of the group
    and tries the next.
    """
    servers = _servers_of(nodes, entry)
    direct = _entry_first(servers, entry)
    through_proxy = any(node.kind == "proxy" for node in nodes if node.name == entry.node)
    write = [(entry.node, entry.port)] if through_proxy else _ports(direct)
    readers = [node for node in servers if roles.get(node.name) == "reader"]
    own_port = _read_port(stack, entry) if through_proxy else []
    # Of a cluster whose every member takes writes, the others are read while the first one is
    # written to.
    others = [node for node in direct[1:] if node.topology not in (None, "single")]
    read = own_port or _ports(readers or others) or write
    schema = schema_of(entry)
    ours = [node for node in servers if node.has_container]
    return ProberPlan(
        write, read, ours, schema, trial.rates, trial.timeout_s, trial.transaction, seed=seed
    )


def driver_plan(
    entry: EntryPoint, nodes: Sequence[StackNode], trial: TrialRequest, seed: int
) -> DriverPlan | None:
    """The plan of the driver; None where none is asked for."""
    if trial.driver is None:
        return None
    servers = _entry_first(_servers_of(nodes, entry), entry)
    hosts = trial.driver.hosts(_ports(servers), entry)
    schema = schema_of(entry)
    return DriverPlan(trial.driver, hosts, schema, trial.timeout_s, trial.transaction, seed)


def _servers_of(nodes: Sequence[StackNode], entry: EntryPoint) -> list[StackNode]:
    """The servers behind an entry point."""
    return [
        node
        for node in nodes
        if node.is_server and node.group_index == entry.group_index and node.port
    ]


def _entry_first(servers: Sequence[StackNode], entry: EntryPoint) -> list[StackNode]:
    """Servers as a client lists them: the one that is the entry point itself comes first."""
    return sorted(servers, key=lambda node: node.name != entry.node)


def _ports(nodes: Sequence[StackNode]) -> list[tuple[str, int]]:
    return [(node.name, node.port) for node in nodes if node.port is not None]


def _read_port(stack: RunningStack, entry: EntryPoint) -> list[tuple[str, int]]:
    """The proxy's port for reads, where it has one."""
    with suppress(SandboxError):
        return [(entry.node, stack.entry_point(f"{entry.node}:ro").port)]
    return []
