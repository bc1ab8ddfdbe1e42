"""A run in progress: its request, what it works with, and what its steps have found so far."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from sandbox.results.record import CheckRecord, Environment, HostLoad, Metrics, PreparationRecord, Status
from sandbox.run.condition import Condition
from sandbox.run.sampler import Sampler
from sandbox.run.snapshot import ServerState
from sandbox.run.usage import Usage
from sandbox.stack.protocol import RunningStack, ServerRole, StackNode
from sandbox.workloads.common.model import Parameters, Second, Session
from sandbox.workloads.common.registry import NamedWorkload


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


class RunEndedError(Exception):
    """A run cannot continue, or is invalid; carries the status and reason of its record."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass
class Run:
    """The fixed part is set when the run opens; steps fill in the rest."""

    stack: RunningStack
    request: BenchRequest
    folder: Path
    run_id: str
    cell: str
    block: int
    started_utc: datetime
    session: Session
    nodes: tuple[StackNode, ...]
    roles: dict[str, ServerRole | None]
    secrets: frozenset[str]
    down_at_start: dict[str, str]
    checks: list[CheckRecord] = field(default_factory=list)
    series: list[Second] = field(default_factory=list)
    preparation: PreparationRecord | None = None
    load_command: tuple[str, ...] | None = None
    metrics: Metrics = field(default_factory=Metrics)
    before: dict[str, ServerState] = field(default_factory=dict)
    after: dict[str, ServerState] = field(default_factory=dict)
    usage: dict[str, Usage] = field(default_factory=dict)
    """Resources that each node used during the measured window."""
    sampler: Sampler | None = None
    answered: dict[str, int] | None = None
    host_load: HostLoad = field(default_factory=HostLoad)
    environment: Environment = field(default_factory=Environment)
    """The machine's fingerprint; a run that gets one does not take it again."""
    files: dict[str, str] = field(default_factory=dict)

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
