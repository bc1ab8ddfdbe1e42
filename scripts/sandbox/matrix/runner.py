"""Runs a resolved matrix: blocks in order, a record for each run as it ends; resumes where it
stopped.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.load.common.workload import Event, Progress
from sandbox.matrix.dataset import DatasetMaker
from sandbox.matrix.estimate import load_s, overhead_s, runs_left
from sandbox.matrix.resolved import Load, ResolvedMatrix, ScheduledRun, schedule
from sandbox.matrix.result_folder import (
    ConfigurationCheck,
    begin,
    part_of,
    resume,
    runs_done,
    unfinished,
)
from sandbox.matrix.stack_pool import (
    StackPool,
    StackStarter,
    dead_soon,
    death_message,
    is_broken,
    log_of_failed_start,
    logs_of,
)
from sandbox.measure.bench import BENCH
from sandbox.measure.execute import Procedure, execute, now, record_without_stack
from sandbox.measure.machine import check_host
from sandbox.measure.run import LARGEST_SEED, AnyRequest, AnyRun, RunPlace, open_stack
from sandbox.measure.trial.result import prober_was_late
from sandbox.measure.trial.run import TrialRequest
from sandbox.measure.trial.trial import TRIAL
from sandbox.record.record import Environment, Record
from sandbox.record.store import ResultFolder, readable_results
from sandbox.stack.engine import Docker
from sandbox.stack.locks import LOCK_PATIENCE_S, locked
from sandbox.stack.protocol import OnEvent, RunningStack
from sandbox.stack.readiness import NotReadyError
from sandbox.stack.snapshots.background import measuring


@dataclass(frozen=True, slots=True)
class Advance:
    """Progress of a matrix: runs done of all, the run that starts, seconds left at its own pace."""

    done: int
    runs: int
    blocks: int
    next: ScheduledRun
    left_s: float | None


@dataclass(frozen=True, slots=True)
class MoreBlocks:
    """An inconclusive gate adds blocks on the same stacks: blocks so far, blocks to come, and their
    seconds.
    """

    so_far: int
    more: int
    seconds: float


MatrixEvent = Event | Advance | MoreBlocks


def run_matrix(
    resolved: ResolvedMatrix,
    stacks: StackPool,
    results: Path,
    on_event: Callable[[MatrixEvent], None],
) -> ResultFolder:
    """The finished result. Resumes what an earlier start left unfinished, unless ``afresh``.

    Ctrl-C leaves it unfinished, its last record ``interrupted``. Raises SandboxError if nothing can
    run at all.
    """
    earlier = unfinished(resolved, readable_results(results, lambda _: None))
    result = resume(resolved, earlier) if earlier else begin(resolved, results)
    runner = _Runner(resolved, stacks, result, on_event)
    began = time.monotonic()
    stacks.clear()
    try:
        runner.run()
    finally:
        stacks.discard_all()
    runner.note_overhead(time.monotonic() - began)
    result.finish(now())
    return result


class _Runner:
    """One matrix under way."""

    def __init__(
        self,
        resolved: ResolvedMatrix,
        stacks: StackPool,
        result: ResultFolder,
        on_event: Callable[[MatrixEvent], None],
    ) -> None:
        self.resolved = resolved
        self.stacks = stacks
        self.result = result
        self.on_event = on_event
        self.part = part = part_of(result)
        self.runs = self._every_run()
        self.done = runs_done(result.manifest) & {run.name for run in self.runs}
        self.checked = {check.block for check in part.host_checks}
        self.configuration = ConfigurationCheck(resolved, result)
        self.machines: dict[str, Environment] = {}
        """By stack, the machine as it sees it, which does not change while the stack is up."""
        self.stack_of_block: tuple[str, int] | None = None
        self.paces: list[float] = []
        self.loaded = 0
        """Runs since this start that reached the end of their load."""

    def run(self) -> None:
        """Every run that has no record yet."""
        self.configuration.check_earlier()
        self._save_lost()
        left = [run for run in self.runs if run.name not in self.done]
        if self.resolved.matrix.depth == "slices" and not self._all_up(left):
            return
        while self._all_run(left):
            left = self._more()
            if not left:
                return

    def _save_lost(self) -> None:
        """A record for each missing run of a cell that ran at an earlier start and cannot now: the
        reason is in it.
        """
        skipped = self.resolved.skipped
        done = runs_done(self.result.manifest)
        begun = {cell.name for cell in self.part.cells if cell.name in skipped and not cell.skipped}
        for run in schedule(self.resolved, self.part.blocks, self.part.seed):
            if run.cell in begun and run.name not in done:
                what = "its cell cannot run here any more"
                error = MachineError(what, skipped[run.cell], "try: make images")
                self._without_stack(run, error, {}, None)

    def _all_run(self, left: Sequence[ScheduledRun]) -> bool:
        """False if the environment ends a gate. A trial that measured the host is repeated, last in
        its block.
        """
        ahead = list(left)
        again: set[str] = set()
        while ahead:
            run = ahead.pop(0)
            began = time.monotonic()
            left_s = (len(self.runs) - len(self.done)) * self._pace_s() or None
            self.on_event(Advance(len(self.done), len(self.runs), self.part.blocks, run, left_s))
            record = self._one(run)
            if record.status == "infra_error" and self.resolved.gate:
                return False
            if prober_was_late(record) and run.name not in again:
                self.on_event(Progress("repeat", f"{run.cell}, last in its block: {record.reason}"))
                again.add(run.name)
                ahead.insert(sum(each.block == run.block for each in ahead), run)
                continue
            self.done.add(run.name)
            self.paces.append(time.monotonic() - began)
        return True

    def _more(self) -> list[ScheduledRun]:
        """The runs of the blocks that a gate adds, on the stacks that are up."""
        if self.resolved.gate is None:
            return []
        more = self.resolved.gate(self.result)
        before = self.part.blocks
        self.part = self.result.note(blocks=before + more)
        self.runs = self._every_run()
        left = [run for run in self.runs if run.block > before]
        if left:
            self.on_event(MoreBlocks(before, more, len(left) * self._pace_s()))
        return left

    def _pace_s(self) -> float:
        """Seconds per run, averaged over the last ones."""
        recent = self.paces[-20:]
        return sum(recent) / len(recent) if recent else 0.0

    def _every_run(self) -> list[ScheduledRun]:
        """Every run of every block that can run here; more blocks only add to it."""
        return runs_left(self.resolved, self.part.seed, blocks=self.part.blocks)

    def note_overhead(self, wall_s: float) -> None:
        """Notes the overhead for the next estimate, only if this start has completed every run."""
        if not self.runs or self.loaded < len(self.runs):
            return
        spent_s = wall_s - load_s(self.resolved, self.runs)
        estimated_s = overhead_s(self.resolved, self.runs)
        self.result.note(overhead_s=round(spent_s, 1), estimated_overhead_s=round(estimated_s, 1))

    def _all_up(self, left: Sequence[ScheduledRun]) -> bool:
        """Starts all stacks before the first slice; one that fails is tried again by its runs, or
        ends a gate.
        """
        first_runs = {run.stack: run for run in reversed(left)}
        for stack in sorted(first_runs):
            self.on_event(Progress("start", stack))
            try:
                self.stacks.ready(stack)
            except MachineError as error:
                self.stacks.need_engine()
                self.on_event(Progress("start", f"{stack}: {error.what}"))
                if self.resolved.gate:
                    self._without_stack(first_runs[stack], error, {}, None)
                    return False
        return True

    def _one(self, run: ScheduledRun) -> Record:
        """A run that leaves a record, whatever its outcome; none if the engine is gone: the run is
        then repeated.
        """
        stack: RunningStack | None = None
        try:
            stack = self._ready(run)
            if run.block and run.block not in self.checked:
                self._check_host(run.block, stack)
            record = self.configuration.checked(run, self._measured(run, stack))
        except SandboxError as error:
            dead = dead_soon(stack) if stack else {}
            if not dead and not isinstance(error, MachineError):
                raise
            if stack is None:
                self.stacks.need_engine()
            record = self._without_stack(run, error, dead, stack)
        if record.status == "interrupted":
            raise KeyboardInterrupt
        if is_broken(record):
            self.stacks.discard(run.stack)
            self.machines.pop(run.stack, None)
        return record

    def _ready(self, run: ScheduledRun) -> RunningStack:
        """The run's stack. At depth ``restart`` it is the only one up, and was started for this
        block.
        """
        if self.resolved.matrix.depth == "restart" and self.stack_of_block != (
            run.stack,
            run.block,
        ):
            self.stacks.discard_all()
            self.stack_of_block = (run.stack, run.block)
        return self.stacks.ready(run.stack)

    def _without_stack(
        self,
        run: ScheduledRun,
        error: SandboxError,
        dead: Mapping[str, str],
        stack: RunningStack | None,
    ) -> Record:
        """The record of a run whose stack was unavailable, or had died before it; with the logs of
        what failed.
        """
        reason = death_message(dead) or f"{error.what}: {error.known}"
        folder = self.result.start_run(run.cell, run.block)
        files: dict[str, str] = {}
        if isinstance(error, NotReadyError):
            reason = error.what
            files = log_of_failed_start(error, folder)
        elif stack is not None:
            files = logs_of(stack, folder)
        record = record_without_stack(
            self._asked(run),
            self.result.path.name,
            run.cell,
            run.block,
            run.of.change.expression,
            reason,
            now(),
            files,
        )
        self.result.save(record, frozenset())
        return record

    def _check_host(self, block: int, stack: RunningStack) -> None:
        self.on_event(Progress("host check", f"block {block}"))
        check = check_host(stack, block)
        self.result.note(host_checks=[*part_of(self.result).host_checks, check])
        self.checked.add(block)

    def _measured(self, run: ScheduledRun, stack: RunningStack) -> Record:
        asked = self._asked(run)
        if isinstance(asked, TrialRequest):
            record = self._carried_out(run, stack, asked, TRIAL)
        else:
            record = self._carried_out(run, stack, asked, BENCH)
        self.machines[run.stack] = record.environment
        self.loaded += record.status == "ok"
        return record

    def _carried_out(
        self,
        run: ScheduledRun,
        stack: RunningStack,
        asked: AnyRequest,
        procedure: Procedure[AnyRequest, AnyRun],
    ) -> Record:
        opening = open_stack(stack, asked, self.on_event)
        if opening.down_at_start:
            raise MachineError(
                "its stack is incomplete", death_message(opening.down_at_start), "try: make doctor"
            )
        opened = procedure.begin(opening, RunPlace(self.result, run.cell, run.block, now()))
        opened.environment = self.machines.get(run.stack, opened.environment)
        return execute(opened, procedure, self.result)

    def _asked(self, run: ScheduledRun) -> Load:
        """Its load: every variant of a block draws the same rows, another block others."""
        seed = (self.part.seed + 7919 * run.block) % LARGEST_SEED + 1
        return replace(run.of.load, seed=seed)


@dataclass
class _MatrixProgress:
    """Passes events on, and keeps track of the matrix's progress."""

    on_event: Callable[[MatrixEvent], None]
    done: int = 0
    runs: int = 0

    def __call__(self, event: MatrixEvent) -> None:
        if isinstance(event, Advance):
            self.done = event.done
            self.runs = event.runs
        self.on_event(event)

    @property
    def interrupted(self) -> SandboxError:
        return SandboxError(
            (
                f"interrupted after {self.done} of {self.runs} runs"
                if self.runs
                else "interrupted before the first run"
            ),
            "every run that ended is saved, and every stack of the matrix is removed",
            "try: the same command again   (it resumes from there)",
            ExitCode.INTERRUPTED,
        )


def start(
    resolved: ResolvedMatrix,
    results: Path,
    on_event: Callable[[MatrixEvent], None],
    note: Callable[[str], None],
    progress: Callable[[], AbstractContextManager[OnEvent]],
) -> ResultFolder:
    """Runs the matrix on its own stacks. ``note``: shows a line that stays; ``progress``: shows a
    starting stack.

    Raises SandboxError: exit 130 on Ctrl-C, exit 4 if the environment ended it, with the number of
    saved runs.
    """
    docker = Docker()
    at = _MatrixProgress(on_event)
    prefix = f"matrix-{resolved.key[:6]}"
    starter = StackStarter(progress, docker)
    pool = StackPool(prefix, resolved.stacks, starter.up, starter.down)
    wait = "another command is running the same matrix; waiting for it"
    try:
        with (
            locked(f"matrix-{resolved.key}", lambda: note(wait), LOCK_PATIENCE_S),
            measuring(note),
        ):
            maker = DatasetMaker(f"{prefix}-data", at, note, progress, docker)
            starter.begin_alike(resolved.runnable_stacks, maker)
            starter.supply_driver(resolved.has_driver)
            return run_matrix(resolved, pool, results, at)
    except KeyboardInterrupt:
        raise at.interrupted from None
    except MachineError as error:
        if not at.runs:
            raise
        known = f"{error.known}; {at.done} of {at.runs} runs are saved"
        goes_on = "" if resolved.gate else " (it resumes from there)"
        raise MachineError(
            error.what, known, f"{error.next_step}; then the same command again{goes_on}"
        ) from error
    except SandboxError as error:
        if error.exit_code is not ExitCode.INTERRUPTED:
            raise
        # While a stack was starting, whose error knows only that stack.
        raise at.interrupted from None
