"""The data of a matrix: made once, kept as a snapshot, and restored for every stack that the matrix starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sandbox.commands.matrix_line import MatrixLine
from sandbox.commands.matrix_request import ArmStack
from sandbox.commands.planning import planned, planned_bases
from sandbox.console import Progress as NodeProgress
from sandbox.errors import ExitCode, SandboxError
from sandbox.plan.basis import data_request
from sandbox.plan.compose import plan_hash
from sandbox.plan.model import Plan, PlanRequest
from sandbox.run.data import data_key, needing_data, prepare_data
from sandbox.run.predict import keeping_s
from sandbox.run.state import BenchRequest
from sandbox.stack.engine import Docker
from sandbox.stack.locks import locked
from sandbox.stack.remove import down
from sandbox.stack.snapshots.restore import usable
from sandbox.stack.snapshots.take import Wish, take_stopped
from sandbox.stack.up import UpOptions, up
from sandbox.workloads.common.prepared import ROWS_SEED


@dataclass(frozen=True, slots=True)
class ArmData:
    """What one arm's stack is restored from: the plan of the stack that it was made on, the loads that need it."""

    key: str
    plan: Plan
    benches: tuple[BenchRequest, ...]


def data_of_arms(arms: Mapping[ArmStack, Sequence[BenchRequest]]) -> dict[ArmStack, ArmData]:
    """What each arm's stack is restored from; without those that cannot be restored."""
    found = {stack: _arm_data(stack.request, benches) for stack, benches in arms.items()}
    return {stack: each for stack, each in found.items() if each}


def _arm_data(request: PlanRequest, benches: Sequence[BenchRequest]) -> ArmData | None:
    asked = data_request(planned(request))
    if asked is None:
        return None
    plan, needing = planned(asked), tuple(needing_data(benches))
    return ArmData(data_key(plan_hash(plan), needing), plan, needing)


def foreseen_s(found: Mapping[ArmStack, ArmData], docker: Docker) -> float:
    """Seconds that making the data takes which this machine does not have yet."""
    return sum(keeping_s(each.benches) for each in _by_key(found).values() if not _is_there(each, docker))


def _is_there(data: ArmData, docker: Docker) -> bool:
    return usable(docker, data.plan, data.key) is not None


def _by_key(found: Mapping[ArmStack, ArmData]) -> dict[str, ArmData]:
    """Each once, though several arms share it."""
    return {each.key: each for each in found.values()}


def first_start(name: str, bases: Mapping[str, Plan]) -> UpOptions:
    """A start from bases where this machine has them, never from a snapshot of the stack itself."""
    return UpOptions(name, restore=True, bases_only=True, bases=lambda: bases)


class DataMaker:
    """Makes what is not on the shelf, on a stack of its own (``name``) that is gone afterwards."""

    def __init__(self, name: str, line: MatrixLine, docker: Docker) -> None:
        self.name, self.line, self.docker = name, line, docker

    def make_all(self, found: Mapping[ArmStack, ArmData]) -> dict[ArmStack, str]:
        """Key of the data of every arm; empty where some cannot be made: every arm then makes its own."""
        try:
            for data in _by_key(found).values():
                self._ensure(data)
        except SandboxError as error:
            if error.exit_code is not ExitCode.ENVIRONMENT:
                raise
            self.line.line(f"every stack makes its own data: {error.what} ({error.known})")
            return {}
        return {stack: each.key for stack, each in found.items()}

    def _ensure(self, data: ArmData) -> None:
        wait = "another matrix makes the same data; waiting for it"
        with locked(f"snapshot-{data.key}", lambda: self.line.line(wait)):
            if not _is_there(data, self.docker):
                self.line.line(f"data on {data.plan.profile}: made once, kept, restored for every stack")
                self._down()  # what a matrix that was killed has left
                try:
                    self._make(data)
                finally:
                    self._down()

    def _make(self, data: ArmData) -> None:
        with NodeProgress("matrix") as progress:
            started = up(data.plan, first_start(self.name, planned_bases(data.plan)), progress, self.docker)
        prepare_data(started.stack, [replace(bench, via=None, seed=ROWS_SEED) for bench in data.benches], self.line)
        take_stopped(started.stack, Wish(data.key, started.uuid, fresh=False))

    def _down(self) -> None:
        down(self.name, lambda _: None, self.docker)
