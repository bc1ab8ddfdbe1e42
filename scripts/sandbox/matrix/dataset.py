"""The data of the stacks of a matrix: made once, kept as a snapshot, restored for every stack that
starts.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from sandbox.core.errors import MachineError
from sandbox.load.common.prepared import ROWS_SEED
from sandbox.load.common.workload import Event, PreparedData, WorkloadError
from sandbox.measure.bench import wait_until_applied
from sandbox.measure.run import RunEndedError, RunRequest, open_stack
from sandbox.profile.compose import plan_hash
from sandbox.profile.data_directory import data_request
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.stack.engine import Docker
from sandbox.stack.lifecycle import down
from sandbox.stack.locks import locked
from sandbox.stack.planning import planned_base_directories
from sandbox.stack.protocol import OnEvent, RunningStack
from sandbox.stack.snapshots.restore import usable
from sandbox.stack.snapshots.take import Wish, take_stopped
from sandbox.stack.up import UpOptions, up

_MADE = 2
"""Of the way in which data is made and kept: one more where what was kept before must be made
again.
"""


@dataclass(frozen=True, slots=True)
class Dataset:
    """The data that a stack is restored from: the plan of the stack it is made on, and the loads
    that need it.
    """

    key: str
    plan: Plan
    loads: tuple[RunRequest, ...]

    def is_here(self, docker: Docker) -> bool:
        """Whether this machine has it."""
        return usable(docker, self.plan, self.key) is not None


def dataset_of(
    plan: Plan, loads: Sequence[RunRequest], plans: Callable[[PlanRequest], Plan]
) -> Dataset | None:
    """The dataset for a stack of a plan with these loads; None if the stack cannot be restored."""
    request = data_request(plan)
    if request is None:
        return None
    made_on = plans(request)
    needing = tuple(needing_data(loads))
    return Dataset(data_key(plan_hash(made_on), needing), made_on, needing)


def needing_data(loads: Iterable[RunRequest]) -> list[RunRequest]:
    """One load for each piece of data that can be kept; if two need different data in one place,
    the first.

    Data that a load consumes is made again for each phase, so it is not kept.
    """
    chosen: dict[str, RunRequest] = {}
    for load in loads:
        if load.data_need and not load.consumes_data:
            chosen.setdefault(load.data_need.prefix, load)
    return list(chosen.values())


def needs_kept(loads: Iterable[RunRequest]) -> list[PreparedData]:
    """The data kept for these loads."""
    needs = (load.data_need for load in needing_data(loads))
    return [need for need in needs if need is not None]


def data_key(stack: str, loads: Sequence[RunRequest]) -> str:
    """Twelve hex digits that identify the data kept for these loads on a stack of a plan (its
    hash).
    """
    data = sorted(f"{need.prefix}/{need.key}" for need in needs_kept(loads))
    identity = [stack, _MADE, ROWS_SEED, *data]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:12]


def prepare_data(
    stack: RunningStack, loads: Sequence[RunRequest], on_event: Callable[[Event], None]
) -> None:
    """Makes the data of all these loads, and waits until every server of their groups has it.

    Raises MachineError if it cannot be made.
    """
    with tempfile.TemporaryDirectory(prefix="sandbox-data-") as folder:
        for load in loads:
            session = open_stack(stack, load, on_event).session
            try:
                load.workload.workload.prepare(session, Path(folder) / "prepare.log")
                wait_until_applied(session)
            except (WorkloadError, RunEndedError, TimeoutError) as problem:
                what = "the data of the matrix cannot be made"
                raise MachineError(what, str(problem), "try: make ps") from problem


def first_start(name: str, base_directories: Mapping[str, Plan]) -> UpOptions:
    """A start from base data directories if this machine has them, never from a snapshot of the
    stack itself.
    """
    return UpOptions(
        name, restore=True, base_directories_only=True, base_directories=lambda: base_directories
    )


@dataclass
class DatasetMaker:
    """Makes the datasets that this machine does not have, on a temporary stack (``name``).

    ``on_event``: takes that stack's events; ``note``: shows a line that stays; ``progress``: shows
    a stack that starts.
    """

    name: str
    on_event: Callable[[Event], None]
    note: Callable[[str], None]
    progress: Callable[[], AbstractContextManager[OnEvent]]
    docker: Docker

    def make_all(self, datasets: Iterable[Dataset]) -> bool:
        """Whether all datasets are here now; if one cannot be made, every stack has to make its own
        data.
        """
        by_key = {each.key: each for each in datasets}
        try:
            for dataset in by_key.values():
                self._ensure(dataset)
        except MachineError as error:
            self.note(f"every stack makes its own data: {error.what} ({error.known})")
            return False
        return True

    def _ensure(self, dataset: Dataset) -> None:
        wait = "another matrix is making the same data; waiting for it"
        with locked(f"snapshot-{dataset.key}", lambda: self.note(wait)):
            if dataset.is_here(self.docker):
                return
            self.note(f"data on {dataset.plan.profile}: made once, kept, restored for every stack")
            self._down()  # left by a killed matrix
            try:
                self._make(dataset)
            finally:
                self._down()

    def _make(self, dataset: Dataset) -> None:
        options = first_start(self.name, planned_base_directories(dataset.plan))
        with self.progress() as progress:
            started = up(dataset.plan, options, progress, self.docker)
        loads = [replace(load, via=None, seed=ROWS_SEED) for load in dataset.loads]
        prepare_data(started.stack, loads, self.on_event)
        take_stopped(started.stack, Wish(dataset.key, started.uuid, fresh=False))

    def _down(self) -> None:
        down(self.name, lambda _: None, self.docker)
