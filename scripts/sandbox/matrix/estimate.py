"""How long a matrix takes, before it starts or resumes: its own schedule, added up from known durations."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sandbox.matrix.dataset import needs_kept
from sandbox.matrix.resolve import Resolved, StackSpec
from sandbox.matrix.result_folder import runs_done, unfinished
from sandbox.matrix.selection import ScheduledRun, schedule
from sandbox.measure.run import BenchRequest
from sandbox.measure.trial.trial import TypicalTimes, trial_s
from sandbox.record.manifest import Manifest
from sandbox.record.store import readable_results
from sandbox.stack.engine import Docker

# Measured on a two-core machine; the time that this host took for its last matrices corrects them (`known_pace`).
RUN_OVERHEAD_S = 0.6
"""Per run: settings proved, servers asked before and after, sampler and load started, record saved."""
THREAD_S = 0.006
"""Per thread and phase: connecting, and ending the transaction under way when the time is up."""
PROXIED_THREAD_S = 0.013
"""The same through a proxy: a second connection, often a second handshake."""
ROWS_PER_S = 70_000.0
HOST_CHECK_S = 1.0

_PACED_BY = 5
"""Matrices whose time corrects the estimate."""
_LEAST_PACE, _MOST_PACE = 0.1, 10.0


@dataclass(frozen=True)
class Typical:
    """Seconds that a topology takes. ``start_s``: per stack, from its data to ready, and its removal.

    ``cold_start_s``: the same from scratch; ``keep_data_s``: per dataset, the stack that it is made on, from scratch to
    ready, its removal, and the copy; ``trial``: of its faults.
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


@dataclass(frozen=True)
class Estimate:
    """The estimate for a matrix before it starts. ``seconds``: for the runs left.

    ``resumes``: the unfinished result that it resumes, and how many of the runs that can run here are done there.
    """

    seconds: float
    resumes: tuple[str, int] | None = None


def estimate(resolved: Resolved, results: Path, docker: Docker, note: Callable[[str], None]) -> Estimate:
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
    pace = known_pace((manifest for _, manifest in known), resolved.host_class, resolved.has_trials)
    beside_s = (data_s(resolved, docker) if left else 0.0) + overhead_s(resolved, left)
    seconds = load_s(resolved, left) + pace * beside_s
    done_here = len(runs_left(resolved, seed)) - len(left)
    return Estimate(seconds, (earlier.path.name, done_here) if earlier is not None else None)


def runs_left(resolved: Resolved, seed: int, done: Collection[str] = ()) -> list[ScheduledRun]:
    """The runs left, in order; ``done``: names of runs, ``<cell>.<block>``."""
    planned = schedule(resolved.experiment, resolved.blocks, seed, 0 if resolved.gate else 1)
    return [run for run in planned if run.of.name not in resolved.skipped and run.name not in done]


def data_s(resolved: Resolved, docker: Docker) -> float:
    """Seconds to make the data that this machine does not have yet."""
    stacks = {stack.dataset.key: stack for stack in resolved.runnable_stacks if stack.dataset}
    missing = [(stack, made) for stack in stacks.values() if (made := stack.dataset) and not made.is_here(docker)]
    return sum(keeping_s(made.loads, typical(stack)) for stack, made in missing)


def load_s(resolved: Resolved, left: Collection[ScheduledRun]) -> float:
    """Seconds of warm-up and measured load, as far as the clock ends them; a trial ends when its stack is whole."""
    matrix, loads = resolved.experiment.matrix, [resolved.cells[run.of.name].load for run in left]
    seconds = (matrix.warmup + (matrix.seconds if load.work_s is None else 0) for load in loads if not load.trial)
    return float(sum(seconds))


def overhead_s(resolved: Resolved, left: Sequence[ScheduledRun]) -> float:
    """Seconds of everything else: starting stacks with their data, the overhead of runs, work to be done, trials."""
    restarts = resolved.experiment.matrix.depth == "restart"
    loads: dict[str, list[BenchRequest]] = {}
    for run in left:
        loads.setdefault(run.stack, []).append(resolved.cells[run.of.name].load)
    kept = {stack: {need.prefix: need.key for need in needs_kept(benches)} for stack, benches in loads.items()}
    data: dict[str, dict[str, str]] = {}
    """By stack, the data that it has, by prefix."""
    seconds, started, checked = 0.0, "", 0
    for run in left:
        load, stack = resolved.cells[run.of.name].load, resolved.stacks.get(run.stack)
        key = f"{run.stack}.{run.block}" if restarts else run.stack
        if (key != started) if restarts else (run.stack not in data):
            cold = stack is not None and stack.dataset is None
            lasts = typical(stack)
            seconds, started = seconds + (lasts.cold_start_s if cold else lasts.start_s), key
            data[run.stack] = {} if cold else dict(kept[run.stack])
        seconds += _prepare_s(load, data[run.stack]) + (load.work_s or 0.0)
        seconds += trial_s(load.trial, typical(stack).trial) if load.trial else 0.0
        thread_s = PROXIED_THREAD_S if stack and stack.has_proxy else THREAD_S
        seconds += RUN_OVERHEAD_S + thread_s * load.parameters.threads * (2 if load.parameters.warmup_s else 1)
        seconds, checked = seconds + (HOST_CHECK_S if run.block != checked else 0), run.block
    return seconds


def typical(stack: StackSpec | None) -> Typical:
    """What a stack's topology takes."""
    topology, servers = stack.topology if stack else ("", 0)
    return TYPICAL.get(f"{topology}{servers}") or TYPICAL.get(topology, ELSE)


def keeping_s(benches: Iterable[BenchRequest], lasts: Typical) -> float:
    """Seconds to make and keep the data that these loads need of one stack."""
    return lasts.keep_data_s + sum(need.rows for need in needs_kept(benches)) / ROWS_PER_S


def _prepare_s(bench: BenchRequest, data: dict[str, str]) -> float:
    """Seconds to prepare the data: 0 if it is there already; once per phase if the load consumes it."""
    need = bench.data_need
    if need is None:
        return 0.0
    seconds, there = need.rows / ROWS_PER_S, data.pop(need.prefix, None) == need.key
    if bench.consumes_data:
        return seconds * (2 if bench.parameters.warmup_s else 1)
    data[need.prefix] = need.key
    return 0.0 if there else seconds


def known_pace(manifests: Iterable[Manifest], host_class: str, trials: bool) -> float:
    """The overhead of this host's newest complete matrices, as a multiple of the estimated one; 1: unknown.

    Added up over several, since one topology or fault takes more than its estimate and the next one less.
    ``manifests``: newest first; ``trials``: whether those of trials count, or those of benches. A figure of 0 or less
    is ignored: that matrix ended before all of its load.
    """
    parts = (manifest.matrix for manifest in manifests)
    ours = (part for part in parts if part and (part.host_class, part.trials) == (host_class, trials))
    figures = ((part.overhead_s or 0.0, part.estimated_overhead_s or 0.0) for part in ours)
    known = list(islice(((spent, estimated) for spent, estimated in figures if spent > 0 and estimated > 0), _PACED_BY))
    if not known:
        return 1.0
    spent_s, estimated_s = map(sum, zip(*known, strict=True))
    return min(max(spent_s / estimated_s, _LEAST_PACE), _MOST_PACE)
