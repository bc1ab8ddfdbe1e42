"""Carries out repros: a stack for each version, the next one started meanwhile, reset between
repeats.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.load.common.workload import Event, Progress
from sandbox.matrix.cell import Cell, slug
from sandbox.measure.execute import execute, now, record_without_stack, tool_commit
from sandbox.measure.run import RunPlace, open_stack
from sandbox.measure.trial.repeats import seed_of
from sandbox.profile.compose import plan_hash
from sandbox.profile.data_directory import base_requests
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.profile.reader import load_library
from sandbox.record.manifest import Manifest
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder
from sandbox.repro.definition import Repro
from sandbox.repro.reset import Appearance, is_reset, look_at
from sandbox.repro.run import REPRO, ReproRequest, ReproRun, request_of
from sandbox.repro.sessions import Sessions
from sandbox.repro.versions import VersionOfRepro
from sandbox.stack.engine import Docker
from sandbox.stack.lifecycle import down
from sandbox.stack.locks import locked_stack
from sandbox.stack.naming import identity
from sandbox.stack.planning import planned, planned_base_directories
from sandbox.stack.protocol import Note, OnEvent, RunningStack
from sandbox.stack.snapshots.restore import usable, usable_base_directories
from sandbox.stack.snapshots.take import ensure_base_directory
from sandbox.stack.supply import ensure_images, needs_supply
from sandbox.stack.up import UpOptions, up

Shows = Callable[[], AbstractContextManager[OnEvent]]
"""Shows a stack that starts."""


@dataclass(frozen=True)
class ReproCell:
    """A repro in one version: a row of the table. ``skipped``: why it cannot run here."""

    repro: Repro
    variant: VersionOfRepro
    plan: Plan | None = None
    skipped: str | None = None

    @property
    def name(self) -> str:
        """``sequence-twice.10-5``, valid as a folder's name."""
        return f"{slug(self.repro.name)}.{slug(self.variant.version)}"

    @property
    def request(self) -> PlanRequest:
        """The plan request of its stack."""
        change = self.repro.change.model_copy(update={"profile": self.variant.profile})
        return Cell({"repro": self.repro.name}, change).plan_request

    def with_plan(self, plan: Plan) -> "ReproCell":
        """The cell, which can run."""
        return replace(self, plan=plan)

    def without(self, why: str) -> "ReproCell":
        """The cell, which cannot."""
        return replace(self, skipped=why)


@dataclass
class _Lease:
    """A stack that is up for the cells of one plan."""

    name: str
    plan: Plan
    stack: RunningStack
    first: "Appearance"
    """What it was when it was new."""
    sessions: Sessions
    used: bool = False


@dataclass(frozen=True, slots=True)
class _StartingStack:
    """A stack that starts, maybe while another one is in use."""

    name: str
    lease: "Future[_Lease]"


@dataclass
class ReproRunner:
    """Repros under way, in one result. ``repeat`` None: as each file says.

    As a context it removes every stack that it has started, and finishes the result.
    """

    profile: str
    """What the result is of, for its manifest."""
    slug: str
    results: Path
    command: Sequence[str]
    on_event: Callable[[Event], None]
    shows: Shows
    docker: Docker
    repeat: int | None = None
    fresh: bool = False
    seed: int | None = None
    ends_when_shown: bool = False
    """Whether the first repeat that shows the bug is the last one of its version."""
    _removals: list[Future[None]] = field(default_factory=list)
    _names: list[str] = field(default_factory=list)
    _kept: _Lease | None = None
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> "ReproRunner":
        """Makes the result's folder."""
        manifest = Manifest(
            kind="repro",
            slug=slug(self.slug).lower(),
            profile=self.profile,
            command=list(self.command),
            started_utc=now(),
            tool_commit=tool_commit(),
        )
        self.result = ResultFolder.create(self.results, manifest)
        self._open.callback(lambda: self.result.finish(now()))
        self._open.callback(self._remove_all)
        self._beside = self._open.enter_context(ThreadPoolExecutor(max_workers=2))
        return self

    def __exit__(self, *_: object) -> None:
        if self._kept is not None:
            self._kept.sessions.close()
        self._beside.shutdown(wait=True, cancel_futures=True)
        self._open.close()

    def carry_out(self, cells: Sequence[ReproCell]) -> None:
        """A record for each repeat of each cell; one that says why where a stack does not start.

        Cells of the same plan share a stack, and the next plan's stack starts meanwhile. The last
        one stays up for further cells of its plan.
        """
        groups = _by_plan(cells)
        started: _StartingStack | None = None
        for number, group in enumerate(groups):
            lease = self._kept_for(group[0]) or self._new_lease(started, group[0])
            started = None
            if number + 1 < len(groups):
                started = self._begin(groups[number + 1][0], _shows_nothing)
            self._kept = self._run_all(lease, group)

    def _kept_for(self, cell: ReproCell) -> "_Lease | None":
        kept = self._kept
        if kept is not None and cell.plan and plan_hash(kept.plan) == plan_hash(cell.plan):
            return kept
        return None

    def _new_lease(
        self, started: _StartingStack | None, cell: ReproCell
    ) -> "_Lease | SandboxError":
        """The stack that starts already, or one that starts now; the one before it is removed."""
        self._give_up_kept()
        return self._lease(started or self._begin(cell, self.shows), cell)

    def _give_up_kept(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.sessions.close()
            self._removals.append(self._beside.submit(self._remove, kept.name))

    def _new_name(self) -> str:
        # Of its result alone: another command may have begun in the same second.
        own = hashlib.sha256(self.result.path.name.encode()).hexdigest()[:6]
        self._names.append(f"repro-{own}-{len(self._names)}")
        return self._names[-1]

    def _begin(self, cell: ReproCell, shows: Shows) -> _StartingStack:
        name = self._new_name()
        return _StartingStack(name, self._beside.submit(self._started, name, cell, shows))

    def _remove_all(self) -> None:
        for name in self._names:
            self._remove(name)

    def _lease(self, start: _StartingStack, cell: ReproCell) -> "_Lease | SandboxError":
        """The stack; where it did not start beside another one, it is tried again alone."""
        if not start.lease.done():
            self.on_event(Progress(cell.name, f"starting {cell.variant.profile}"))
        try:
            return start.lease.result()
        except SandboxError:
            for removal in self._removals:
                removal.result()
            self._remove(start.name)
        return self._started_or_not(start.name, cell)

    def _started_or_not(self, name: str, cell: ReproCell) -> "_Lease | SandboxError":
        """The stack, or why it does not start. Raises KeyboardInterrupt for Ctrl-C meanwhile."""
        try:
            return self._started(name, cell, self.shows)
        except SandboxError as error:
            if error.exit_code is ExitCode.INTERRUPTED:
                raise KeyboardInterrupt from None
            return error

    def _started(self, name: str, cell: ReproCell, shows: Shows) -> _Lease:
        plan = cell.plan
        assert plan is not None  # noqa: S101  (one without a plan is not started)
        options = UpOptions(
            name, restore=True, base_directories=partial(planned_base_directories, plan)
        )
        with shows() as progress:
            if needs_supply(plan):
                plan = ensure_images(plan, progress, self.docker)
            self._make_base_directories(name, plan, progress)
            stack = up(plan, options, progress, self.docker).stack
        client = next(node.name for node in stack.nodes() if node.kind == "client")
        return _Lease(name, plan, stack, look_at(stack), Sessions(stack, client))

    def _make_base_directories(self, name: str, plan: Plan, progress: OnEvent) -> None:
        """The first start of each server, once on this engine: every later stack begins after
        it. A stack that is in use is never snapshotted, since its repro changes it at once.
        """
        if usable(self.docker, plan) or usable_base_directories(
            self.docker, planned_base_directories(plan)
        ):
            return
        library = load_library()
        requests = dict.fromkeys(base_requests(plan, library).values())
        owner = identity(name)
        with locked_stack(owner.project, name, progress):
            for request in requests:
                base = planned(request, library, self.docker)
                progress(Note(f"{base.profile}: the first start of its server, kept"))
                ensure_base_directory(self.docker, base, owner)

    def _run_all(
        self, lease: "_Lease | SandboxError", cells: Sequence[ReproCell]
    ) -> "_Lease | None":
        """The stack as it is afterwards; None where it could not be started again."""
        for cell in cells:
            for block in range(1, (self.repeat or cell.repro.repeat) + 1):
                if not isinstance(lease, SandboxError):
                    lease = self._made_ready(lease, cell)
                if isinstance(lease, SandboxError):
                    self._not_started(cell, block, lease)
                    break
                record = self._carried_out(lease, cell, block)
                lease.used = True
                if record.status == "interrupted":
                    raise KeyboardInterrupt
                if self.ends_when_shown and _shows_it(record):
                    break
        return None if isinstance(lease, SandboxError) else lease

    def _carried_out(self, lease: _Lease, cell: ReproCell, block: int) -> Record:
        self.on_event(Progress(cell.name, f"repeat {block}"))
        seed = None if self.seed is None else seed_of(self.seed, block)
        request: ReproRequest = request_of(cell.repro, seed, self.command)
        request = replace(request, sessions=lease.sessions)
        opening = open_stack(lease.stack, request, self.on_event)
        run: ReproRun = REPRO.begin(opening, RunPlace(self.result, cell.name, block, now()))
        return execute(run, REPRO, self.result)

    def _not_started(self, cell: ReproCell, block: int, error: SandboxError) -> None:
        result = self.result
        reason = f"{error.what}: {error.known}"
        request = request_of(cell.repro, self.seed, self.command)
        record = record_without_stack(
            request, result.path.name, cell.name, block, cell.variant.profile, reason, now(), {}
        )
        result.start_run(cell.name, block)
        result.save(record, frozenset())

    def _made_ready(self, lease: _Lease, cell: ReproCell) -> "_Lease | SandboxError":
        """The stack as new: it is reset if that is enough, else restored."""
        if not lease.used:
            return lease
        if not (self.fresh or cell.repro.fresh) and is_reset(lease.stack, lease.first):
            return lease
        lease.sessions.close()
        self._remove(lease.name)
        return self._started_or_not(lease.name, cell)

    def _remove(self, name: str) -> None:
        down(name, lambda _: None, self.docker)


def _shows_it(record: Record) -> bool:
    return record.repro is not None and record.repro.verdict == "reproduced"


@contextmanager
def _shows_nothing() -> Iterator[OnEvent]:
    """Of a stack that starts beside the one whose steps are shown."""
    yield lambda _: None


def _by_plan(cells: Sequence[ReproCell]) -> list[list[ReproCell]]:
    """The cells that can run, those of one plan together."""
    groups: dict[str, list[ReproCell]] = {}
    for cell in cells:
        if cell.plan is not None:
            groups.setdefault(plan_hash(cell.plan), []).append(cell)
    return list(groups.values())
