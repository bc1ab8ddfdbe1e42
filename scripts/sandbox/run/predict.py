"""How long a matrix takes, before it starts or goes on: its own schedule, walked through with what things take."""

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from sandbox.plan.experiment import Experiment
from sandbox.plan.matrix import Cell
from sandbox.results.store import all_results
from sandbox.run.data import needs_kept
from sandbox.run.schedule import ScheduledRun, schedule
from sandbox.run.state import BenchRequest

# Measured on a two-core machine; what this host took for its last matrix corrects them (`known_pace`).
RUN_OVERHEAD_S = 0.6
"""Of a run: settings proved, servers asked before and after, sampler and load started, record saved."""
THREAD_S = 0.006
"""Of each thread and phase: connecting, and ending the transaction under way when the time is up."""
PROXIED_THREAD_S = 0.013
"""The same through a proxy: a second connection, often a second handshake."""
START_S = 4.0
"""Of a stack, from its data to ready, and its removal."""
COLD_START_S = 9.0
"""The same from nothing."""
KEEP_DATA_S = 9.0
"""Of data that is made once: the stack that it is made on, from nothing to ready, and its removal, and the copy."""
ROWS_PER_S = 70_000.0
HOST_CHECK_S = 1.0

_LEAST_PACE, _MOST_PACE = 0.1, 10.0


def runs_left(
    experiment: Experiment,
    blocks: int,
    seed: int,
    skipped: Collection[str],
    done: Collection[str] = (),
    first: int = 1,
) -> list[ScheduledRun]:
    """What is still to be run, in order; ``done``: names of runs, ``<cell>.<block>``; ``first``: the first block."""
    planned = schedule(experiment, blocks, seed, first)
    return [run for run in planned if run.of.name not in skipped and f"{run.cell}.{run.block}" not in done]


def load_s(experiment: Experiment, left: Collection[ScheduledRun]) -> float:
    """Seconds of warm-up and measured load."""
    return float(len(left) * (experiment.matrix.warmup + experiment.matrix.seconds))


def overhead_s(
    experiment: Experiment,
    left: Sequence[ScheduledRun],
    bench_of: Callable[[Cell], BenchRequest],
    proxied: Collection[str] = (),
    from_nothing: Collection[str] = (),
) -> float:
    """Seconds of everything else: stacks that start with their data, and what surrounds each run.

    ``proxied``: arms whose stack has a proxy; ``from_nothing``: arms whose stack cannot be restored.
    """
    restarts = experiment.matrix.depth == "restart"
    kept = _kept([(run.arm, bench_of(run.of)) for run in left])
    data: dict[str, dict[str, str]] = {}
    """By arm, the data that its stack holds, by prefix."""
    seconds, started, checked = 0.0, "", 0
    for run in left:
        bench = bench_of(run.of)
        key = f"{run.arm}.{run.block}" if restarts else run.arm
        if (key != started) if restarts else (run.arm not in data):
            cold = run.arm in from_nothing
            seconds, started = seconds + (COLD_START_S if cold else START_S), key
            data[run.arm] = {} if cold else dict(kept[run.arm])
        seconds += _prepare_s(bench, data[run.arm])
        thread_s = PROXIED_THREAD_S if run.arm in proxied else THREAD_S
        seconds += RUN_OVERHEAD_S + thread_s * bench.parameters.threads * (2 if bench.parameters.warmup_s else 1)
        seconds, checked = seconds + (HOST_CHECK_S if run.block != checked else 0), run.block
    return seconds


def keeping_s(benches: Iterable[BenchRequest]) -> float:
    """Seconds of the data that these loads need of one stack, where it has yet to be made and kept."""
    return KEEP_DATA_S + sum(need.rows for need in needs_kept(benches)) / ROWS_PER_S


def _kept(benches: Iterable[tuple[str, BenchRequest]]) -> dict[str, dict[str, str]]:
    """By arm, what its stack holds from its start, by prefix."""
    of_arm: dict[str, list[BenchRequest]] = {}
    for arm, bench in benches:
        of_arm.setdefault(arm, []).append(bench)
    return {arm: {need.prefix: need.key for need in needs_kept(each)} for arm, each in of_arm.items()}


def _prepare_s(bench: BenchRequest, data: dict[str, str]) -> float:
    """Of the data: nothing where it is there already; for each phase where a load uses it up."""
    need = bench.workload.workload.data_needed(bench.parameters)
    if need is None:
        return 0.0
    seconds = need.rows / ROWS_PER_S
    if bench.workload.workload.consumes_data:
        data.pop(need.prefix, None)
        return seconds * (2 if bench.parameters.warmup_s else 1)
    there = data.get(need.prefix) == need.key
    data[need.prefix] = need.key
    return 0.0 if there else seconds


def known_pace(results: Path, host_class: str) -> float:
    """What this host's newest whole matrix took beside its load, as a multiple of what was foreseen; 1: unknown.

    A figure of 0 or less is none: it was noted of a matrix that had ended before all of its load.
    """
    for result in reversed(all_results(results)):
        try:
            part = result.manifest.matrix
        except (ValidationError, OSError):  # of another version of this tool
            continue
        if part is None or part.host_class != host_class:
            continue
        spent_s, foreseen_s = part.overhead_s or 0.0, part.foreseen_overhead_s or 0.0
        if spent_s > 0 and foreseen_s > 0:
            return min(max(spent_s / foreseen_s, _LEAST_PACE), _MOST_PACE)
    return 1.0
