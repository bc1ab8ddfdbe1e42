"""The request of a run: what a bench and a trial are both asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from sandbox.core.errors import SandboxError
from sandbox.load.common.registry import NamedWorkload
from sandbox.load.common.workload import Parameters, PreparedData, refuse_unfit
from sandbox.profile.names import MEMBERS
from sandbox.stack.protocol import EntryPoint, StackNode


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
        """What its result is named after, besides the profile."""
        return self.workload.name

    @property
    def has_load(self) -> bool:
        """Whether its workload runs; else the workload is there for its data alone."""
        return True

    @property
    def uses(self) -> frozenset[str]:
        """Which of TABLES, ROWS, DIST and RATE it uses, by the names of `Parameters`."""
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
