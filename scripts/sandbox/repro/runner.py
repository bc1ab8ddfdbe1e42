"""Carries out repros: the repeats of each version that have no record yet, one after the other."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from sandbox.core.errors import ExitCode, SandboxError, counted
from sandbox.load.common.workload import Event, Progress
from sandbox.matrix.cell import Cell, slug
from sandbox.measure.execute import execute, now, record_without_stack
from sandbox.measure.run import RunPlace, open_stack
from sandbox.measure.trial.repeats import seed_of
from sandbox.profile.compose import plan_hash
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.record.manifest import StartPart
from sandbox.record.record import Record
from sandbox.repro.definition import Repro
from sandbox.repro.result import Asked, opened_result, own_of, recorded
from sandbox.repro.run import REPRO, ReproRequest, ReproRun, request_of
from sandbox.repro.stacks import Lease, ReproStacks, Shows, WantedStack
from sandbox.repro.versions import VersionOfRepro
from sandbox.stack.beside import supply_beside
from sandbox.stack.engine import Docker

RESUMES = "resumes"
"""The step of the event that says so."""


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

    @cached_property
    def wanted(self) -> WantedStack:
        """The stack that it needs; of a cell that can run."""
        assert self.plan is not None  # noqa: S101  (one without a plan is not carried out)
        return WantedStack(self.plan, plan_hash(self.plan), self.name)

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
class ReproRunner:
    """Repros under way, in one result. ``repeat`` None: as each file says.

    As a context it removes every stack that it has started. A result that Ctrl-C or the environment
    has ended is left unfinished: the same command resumes it, and makes no repeat twice.
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
    key: str = ""
    """Identity of what is asked for, by which an unfinished result is found."""
    search: Literal["bisect", "shrink"] | None = None
    afresh: bool = False
    """Whether an unfinished result is left alone."""
    keeps_bases: bool = True
    patience_s: float | None = None
    """The most that any statement may take, whatever its own `within`; None: what that says."""
    enough: int | None = None
    """So many repeats that end at the same step without a verdict are enough; None: each is
    made.
    """
    repeats_s: list[float] = field(default_factory=list)
    """What each repeat took that was made now, with its reset and its record."""
    _open: ExitStack = field(default_factory=ExitStack)
    _known: dict[str, Record] = field(default_factory=dict)
    """Every repeat that is over, by the name of its run."""

    def __enter__(self) -> "ReproRunner":
        """Makes the result's folder, or finds the unfinished one."""
        asked = Asked(self.key, self.profile, self.slug, self.command, self.search, self.afresh)
        opened = opened_result(asked, self.results)
        self.result, is_resumed = self._open.enter_context(opened)
        if is_resumed:
            self._known = recorded(self.result)
            done = f"{counted(self.done, 'repeat')} done"
            text = f"{self.result.path.name}, {done} (NEW=1 starts from scratch)"
            self.on_event(Progress(RESUMES, text))
        self.stacks = self._new_stacks()
        return self

    def _new_stacks(self) -> ReproStacks:
        return ReproStacks(own_of(self.result), self.shows, self.docker, self.keeps_bases)

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            self.stacks.close()
            self.result.note_repro(repeat_s=self.repeat_s)
            if _is_final(error):
                self.result.finish(now())
        finally:
            self._open.close()

    @property
    def starts(self) -> list[StartPart]:
        """How long every stack took to start, also before the result was resumed."""
        part = self.result.manifest.repro
        return list(part.starts) if part else []

    @property
    def done(self) -> int:
        """How many repeats of the result are over."""
        return len(self._known)

    def carry_out(self, cells: Sequence[ReproCell]) -> list[Record]:
        """A record for each repeat of each cell, in order; one that says why where a stack does not
        start.

        Cells of the same plan share a stack, and the next plan's stack starts meanwhile. The last
        one stays up for further cells of its plan. A cell whose repeats are all recorded needs no
        stack.
        """
        made = {cell.name: self._recorded(cell) for cell in cells if not self.is_open(cell)}
        waiting = [cell for cell in cells if cell.name not in made and cell.plan is not None]
        self._supply_beside(waiting)
        ordered = [cell for group in _by_plan(waiting) for cell in group]
        for number, cell in enumerate(ordered, 1):
            made[cell.name] = self._repeats(cell, _next_stack(ordered[number:], cell))
        return [record for cell in cells for record in made.get(cell.name, [])]

    def is_open(self, cell: ReproCell) -> bool:
        """Whether a repeat of a cell is still to be made."""
        return not self._is_over(self._recorded(cell), cell)

    def _supply_beside(self, cells: Sequence[ReproCell]) -> None:
        """Images that steps run beside servers. Raises SandboxError (exit 4) where one cannot be
        had.
        """
        wanted = dict.fromkeys(image for cell in cells for image in _images_beside(cell))
        for image in wanted:
            with self.shows() as progress:
                supply_beside(image, progress, self.docker)

    def _recorded(self, cell: ReproCell) -> list[Record]:
        """The repeats of a cell that are over, up to the first one that is not."""
        records: list[Record] = []
        for block in self._blocks(cell):
            record = self._known.get(f"{cell.name}.{block}")
            if record is None or self._is_over(records, cell):
                break
            records.append(record)
        return records

    def _is_over(self, records: Sequence[Record], cell: ReproCell) -> bool:
        """Whether a cell needs no repeat after these."""
        if not records:
            return False
        is_shown = self.ends_when_shown and _shows_it(records[-1])
        is_hopeless = self.enough is not None and _end_alike(records, self.enough)
        return is_shown or is_hopeless or len(records) == len(self._blocks(cell))

    def _blocks(self, cell: ReproCell) -> range:
        return range(1, (self.repeat or cell.repro.repeat) + 1)

    def _repeats(self, cell: ReproCell, then: WantedStack | None) -> list[Record]:
        """The records of a cell; ``then``: the stack that is needed next."""
        records = self._recorded(cell)
        while not self._is_over(records, cell):
            record = self._made(cell, len(records) + 1, then)
            records.append(record)
            if record.status == "interrupted":
                raise KeyboardInterrupt
            if not record.nodes:  # its stack does not start
                break
        return records

    def _made(self, cell: ReproCell, block: int, then: WantedStack | None) -> Record:
        lease = self._stack_for(cell, then)
        began_s = time.monotonic()
        if isinstance(lease, Lease):
            lease = self.stacks.as_new(lease, self.fresh or cell.repro.fresh)
        if not isinstance(lease, Lease):
            return self._not_started(cell, block, lease)
        record = self._carried_out(lease, cell, block)
        lease.used = True
        self._note(f"{cell.name}.{block}", record, time.monotonic() - began_s)
        return record

    def _stack_for(self, cell: ReproCell, then: WantedStack | None) -> Lease | SandboxError:
        """A stack of the cell's plan; the next one starts beside it."""
        if not self.stacks.is_up(cell.wanted):
            self.on_event(Progress(cell.name, f"starting {cell.variant.profile}"))
        lease = self.stacks.lease(cell.wanted)
        if isinstance(lease, Lease) and lease.took is not None:
            self.result.note_repro(starts=[*self.starts, lease.took])
            lease.took = None
        if then is not None:
            self.stacks.begin(then)
        return lease

    def _note(self, run: str, record: Record, took_s: float) -> None:
        if record.status != "interrupted":
            self._known[run] = record
        if record.status == "ok":
            self.repeats_s.append(took_s)

    @property
    def repeat_s(self) -> float | None:
        """A repeat on a stack that is up: the median; None: none was made, now or before."""
        if self.repeats_s:
            return round(statistics.median(self.repeats_s), 3)
        part = self.result.manifest.repro
        return part.repeat_s if part else None

    def _carried_out(self, lease: Lease, cell: ReproCell, block: int) -> Record:
        self.on_event(Progress(cell.name, f"repeat {block}"))
        seed = None if self.seed is None else seed_of(self.seed, block)
        request: ReproRequest = request_of(cell.repro, seed, self.command)
        request = replace(
            request,
            shared=lease.shared,
            patience_s=self.patience_s,
            evidence=self.search is None,  # a search makes too many tries for that
        )
        opening = open_stack(lease.stack, request, self.on_event, lease.facts)
        run: ReproRun = REPRO.begin(opening, RunPlace(self.result, cell.name, block, now()))
        record = execute(run, REPRO, self.result)
        lease.shared.environment = record.environment
        if record.repro is not None:
            lease.shared.logged.add((cell.name, record.repro.verdict))
        return record

    def _not_started(self, cell: ReproCell, block: int, error: SandboxError) -> Record:
        result = self.result
        reason = f"{error.what}: {error.known}"
        request = request_of(cell.repro, self.seed, self.command)
        record = record_without_stack(
            request, result.path.name, cell.name, block, cell.variant.profile, reason, now(), {}
        )
        result.start_run(cell.name, block)
        result.save(record, frozenset())
        self.stacks.need_engine()
        return record


def _is_final(error: BaseException | None) -> bool:
    """Whether nothing more would come of a result: it is over, or was refused for what it is."""
    if error is None:
        return True
    return isinstance(error, SandboxError) and error.exit_code is ExitCode.BAD_INPUT


def _images_beside(cell: ReproCell) -> Iterator[str]:
    if cell.plan is not None:
        for group in cell.plan.groups:
            for server in group.servers[:1]:
                for step in cell.repro.steps:
                    yield from step.images_for(group.family, server.version)


def _shows_it(record: Record) -> bool:
    return record.repro is not None and record.repro.verdict == "reproduced"


def _end_alike(records: Sequence[Record], count: int) -> bool:
    """Whether all that was made, ``count`` at least, came no further than the same step: that is
    no race any more.
    """
    found = [each.repro for each in records if each.repro is not None]
    if len(found) < max(count, len(records)):
        return False
    has_verdict = any(each.verdict in ("reproduced", "fixed") for each in found)
    return not has_verdict and len({len(each.steps) for each in found}) == 1


def _next_stack(waiting: Sequence[ReproCell], cell: ReproCell) -> WantedStack | None:
    """The next stack but the cell's own that a cell waits for."""
    others = (each.wanted for each in waiting)
    return next((each for each in others if each.key != cell.wanted.key), None)


def _by_plan(cells: Sequence[ReproCell]) -> list[list[ReproCell]]:
    """The cells that can run, those of one plan together."""
    groups: dict[str, list[ReproCell]] = {}
    for cell in cells:
        if cell.plan is not None:
            groups.setdefault(cell.wanted.key, []).append(cell)
    return list(groups.values())
