"""How long a matrix takes, before it starts or resumes: its own schedule, added up from known
durations.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sandbox.failure.action import action_named
from sandbox.matrix.dataset import needs_kept
from sandbox.matrix.resolved import Estimate, ResolvedMatrix, ScheduledRun, StackSpec, schedule
from sandbox.matrix.result_folder import runs_done, unfinished
from sandbox.measure.run import RunRequest
from sandbox.measure.trial.conductor import BACK_S
from sandbox.measure.trial.load_beside import CAPACITY_S
from sandbox.measure.trial.run import TrialRequest
from sandbox.measure.trial.schedule import Step
from sandbox.measure.trial.trial import TAIL_S
from sandbox.record.manifest import Manifest, MatrixPart
from sandbox.record.store import readable_results
from sandbox.stack.engine import Docker

# Measured on a two-core machine; the time that this host took for its last matrices corrects them
# (`known_pace`).
RUN_OVERHEAD_S = 0.6
"""Per run: settings proved, servers asked before and after, sampler and load started, record
saved.
"""
THREAD_S = 0.006
"""Per thread and phase: connecting, and ending the transaction under way when the time is up."""
PROXIED_THREAD_S = 0.013
"""Per thread and phase through a proxy: a second connection, often a second handshake."""
ROWS_PER_S = 70_000.0
HOST_CHECK_S = 1.0
OTHER_S = 3.0
"""Of a trial: before its prober, and after it."""

_PACED_BY = 5
"""Matrices whose time corrects the estimate."""
_LEAST_PACE, _MOST_PACE = 0.1, 10.0


@dataclass(frozen=True, slots=True)
class TypicalTimes:
    """Seconds of an outage whose fault has no length, and from a heal until every node is ready
    again.
    """

    outage_s: float
    return_s: float


@dataclass(frozen=True)
class Typical:
    """Seconds that a topology takes. ``start_s``: per stack, from its data to ready, and its
    removal.

    ``cold_start_s``: the same from scratch; ``keep_data_s``: per dataset, the stack that it is made
    on, from scratch to ready, its removal, and the copy; ``trial``: of its faults.
    """

    start_s: float
    cold_start_s: float
    keep_data_s: float
    trial: TypicalTimes


TYPICAL = {
    "galera": Typical(6.0, 11.0, 12.0, TypicalTimes(2.7, 2.5)),
    "gr": Typical(10.0, 23.0, 27.0, TypicalTimes(6.9, 12.0)),
    "gr1": Typical(6.0, 13.0, 15.0, TypicalTimes(6.9, 12.0)),
}
"""By topology, and by one with so many servers; every other is an `ELSE`."""
ELSE = Typical(4.0, 9.0, 9.0, TypicalTimes(7.0, 8.5))


def estimate(
    resolved: ResolvedMatrix, results: Path, docker: Docker, note: Callable[[str], None]
) -> Estimate:
    """How long the runs left take on this host, and whether an unfinished result is resumed.

    ``note``: shows a line about a result that cannot be read.
    """
    known = readable_results(results, note)
    earlier = unfinished(resolved, known)
    done: set[str] = set()
    seed = resolved.seed or 1
    if earlier is not None and earlier.manifest.matrix is not None:
        done = runs_done(earlier.manifest)
        seed = earlier.manifest.matrix.seed
    left = runs_left(resolved, seed, done)
    manifests = (manifest for _, manifest in known)
    pace = known_pace(manifests, resolved.host_class, resolved.has_trials)
    beside_s = overhead_s(resolved, left)
    if left:
        beside_s += data_s(resolved, docker)
    seconds = load_s(resolved, left) + pace * beside_s
    if earlier is None:
        return Estimate(seconds)
    done_here = len(runs_left(resolved, seed)) - len(left)
    return Estimate(seconds, (earlier.path.name, done_here))


def trial_s(trial: TrialRequest, typical: TypicalTimes) -> float:
    """About how long a trial takes, without its stack's start: the schedule, the way back, the
    tail, the ledgers.
    """
    ends = [_whole_s(step, typical) for step in trial.schedule.steps]
    return max(ends, default=0.0) + TAIL_S + OTHER_S + (CAPACITY_S if trial.loaded else 0)


def _whole_s(step: Step, typical: TypicalTimes) -> float:
    """When the stack is whole again after a step."""
    if step.action is not None:
        return step.at_s + action_named(step.action, step.options).typical_s
    healed_s = step.at_s + typical.outage_s + BACK_S if step.end_s is None else step.end_s
    return healed_s + typical.return_s


def runs_left(
    resolved: ResolvedMatrix, seed: int, done: Collection[str] = (), blocks: int | None = None
) -> list[ScheduledRun]:
    """The runs left, in order.

    ``done``: names of runs, ``<cell>.<block>``; ``blocks`` None: as many as the matrix has.
    """
    first = 0 if resolved.gate else 1
    planned = schedule(resolved, blocks or resolved.blocks, seed, first)
    return [run for run in planned if not run.of.skipped and run.name not in done]


def data_s(resolved: ResolvedMatrix, docker: Docker) -> float:
    """Seconds to make the data that this machine does not have yet."""
    stacks = {stack.dataset.key: stack for stack in resolved.runnable_stacks if stack.dataset}
    seconds = 0.0
    for stack in stacks.values():
        if stack.dataset and not stack.dataset.is_here(docker):
            seconds += keeping_s(stack.dataset.loads, typical(stack))
    return seconds


def load_s(resolved: ResolvedMatrix, left: Iterable[ScheduledRun]) -> float:
    """Seconds of warm-up and measured load, as far as the clock ends them.

    A trial ends when its stack is whole, and some workloads when their work is done.
    """
    seconds = 0
    for run in left:
        load = run.of.load
        if isinstance(load, TrialRequest):
            continue
        seconds += resolved.matrix.warmup
        if load.work_s is None:
            seconds += resolved.matrix.seconds
    return float(seconds)


def overhead_s(resolved: ResolvedMatrix, left: Sequence[ScheduledRun]) -> float:
    """Seconds of everything else: starting stacks with their data, runs, work to be done,
    trials.
    """
    starts = _Starts(resolved, left)
    seconds = 0.0
    checked = 0
    for run in left:
        stack = resolved.stacks.get(run.stack)
        seconds += starts.start_s(run, stack)
        seconds += _prepare_s(run.of.load, starts.data[run.stack])
        seconds += _run_s(run.of.load, stack)
        if run.block != checked:
            seconds += HOST_CHECK_S
            checked = run.block
    return seconds


class _Starts:
    """The stacks that are up, with their data, while runs are gone through in order."""

    def __init__(self, resolved: ResolvedMatrix, left: Iterable[ScheduledRun]) -> None:
        self._restarts = resolved.matrix.depth == "restart"
        self._up = ""
        """At depth ``restart``: the stack and the block that it was started for."""
        loads: dict[str, list[RunRequest]] = {}
        for run in left:
            loads.setdefault(run.stack, []).append(run.of.load)
        self._kept = {
            stack: {need.prefix: need.key for need in needs_kept(of_stack)}
            for stack, of_stack in loads.items()
        }
        self.data: dict[str, dict[str, str]] = {}
        """By stack, the data that it has, by prefix."""

    def start_s(self, run: ScheduledRun, stack: StackSpec | None) -> float:
        """Seconds to start the stack of a run; 0 if it is up."""
        if self._is_up(run):
            return 0.0
        self._up = f"{run.stack}.{run.block}"
        takes = typical(stack)
        if stack is not None and stack.dataset is None:
            self.data[run.stack] = {}
            return takes.cold_start_s
        self.data[run.stack] = dict(self._kept[run.stack])
        return takes.start_s

    def _is_up(self, run: ScheduledRun) -> bool:
        if self._restarts:
            return self._up == f"{run.stack}.{run.block}"
        return run.stack in self.data


def _run_s(load: RunRequest, stack: StackSpec | None) -> float:
    """Seconds of one run beside its load and its data: work to be done, its trial, its threads."""
    seconds = load.work_s or 0.0
    if isinstance(load, TrialRequest):
        seconds += trial_s(load, typical(stack).trial)
    thread_s = PROXIED_THREAD_S if stack and stack.has_proxy else THREAD_S
    phases = 2 if load.parameters.warmup_s else 1
    return seconds + RUN_OVERHEAD_S + thread_s * load.parameters.threads * phases


def typical(stack: StackSpec | None) -> Typical:
    """The typical times of a stack's topology."""
    topology, servers = stack.topology if stack else ("", 0)
    return TYPICAL.get(f"{topology}{servers}") or TYPICAL.get(topology, ELSE)


def keeping_s(benches: Iterable[RunRequest], lasts: Typical) -> float:
    """Seconds to make and keep the data that these loads need of one stack."""
    return lasts.keep_data_s + sum(need.rows for need in needs_kept(benches)) / ROWS_PER_S


def _prepare_s(bench: RunRequest, data: dict[str, str]) -> float:
    """Seconds to prepare the data: 0 if it is there already; once per phase if the load consumes
    it.
    """
    need = bench.data_need
    if need is None:
        return 0.0
    seconds = need.rows / ROWS_PER_S
    there = data.pop(need.prefix, None) == need.key
    if bench.consumes_data:
        phases = 2 if bench.parameters.warmup_s else 1
        return seconds * phases
    data[need.prefix] = need.key
    return 0.0 if there else seconds


def known_pace(manifests: Iterable[Manifest], host_class: str, trials: bool) -> float:
    """The overhead of this host's newest complete matrices, as a multiple of the estimated one; 1:
    unknown.

    Added up over several, since one topology or fault takes more than its estimate and the next one
    less. ``manifests``: newest first; ``trials``: whether those of trials count, or those of
    benches. A figure of 0 or less is ignored: that matrix ended before all of its load.
    """
    ours = (part for part in _parts(manifests, host_class, trials) if _is_known(part))
    known = list(islice(ours, _PACED_BY))
    if not known:
        return 1.0
    spent_s = sum(part.overhead_s or 0.0 for part in known)
    estimated_s = sum(part.estimated_overhead_s or 0.0 for part in known)
    return min(max(spent_s / estimated_s, _LEAST_PACE), _MOST_PACE)


def _parts(manifests: Iterable[Manifest], host_class: str, trials: bool) -> Iterator[MatrixPart]:
    for manifest in manifests:
        part = manifest.matrix
        if part and (part.host_class, part.trials) == (host_class, trials):
            yield part


def _is_known(part: MatrixPart) -> bool:
    spent_s = part.overhead_s or 0.0
    estimated_s = part.estimated_overhead_s or 0.0
    return spent_s > 0 and estimated_s > 0
