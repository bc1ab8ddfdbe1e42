"""The data of the stacks of a matrix: which loads need what, and its preparation, once."""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from sandbox.errors import ExitCode, SandboxError
from sandbox.run.open_run import open_stack
from sandbox.run.state import BenchRequest, RunEndedError
from sandbox.run.steps import wait_until_applied
from sandbox.stack.protocol import RunningStack
from sandbox.workloads.common.model import DataNeed, Event, WorkloadError
from sandbox.workloads.common.prepared import ROWS_SEED


def needing_data(benches: Iterable[BenchRequest]) -> list[BenchRequest]:
    """One load for each piece of data that can be kept; where two want different data in one place, the first.

    What a load uses up is made anew for each phase, so nothing is kept of it.
    """
    chosen: dict[str, BenchRequest] = {}
    for bench in benches:
        workload = bench.workload.workload
        need = workload.data_needed(bench.parameters)
        if need is not None and not workload.consumes_data:
            chosen.setdefault(need.prefix, bench)
    return list(chosen.values())


def needs_kept(benches: Iterable[BenchRequest]) -> list[DataNeed]:
    """What is kept for these loads."""
    needs = [bench.workload.workload.data_needed(bench.parameters) for bench in needing_data(benches)]
    return [need for need in needs if need]


def data_key(stack: str, benches: Sequence[BenchRequest]) -> str:
    """Twelve hex digits of the data that is kept for these loads on a stack of a plan (its hash)."""
    told = [stack, ROWS_SEED, *sorted(f"{need.prefix}/{need.key}" for need in needs_kept(benches))]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]


def prepare_data(stack: RunningStack, benches: Sequence[BenchRequest], tell: Callable[[Event], None]) -> None:
    """Makes the data of all these loads, and waits until every server of their groups has it.

    Raises SandboxError (exit 4) where it cannot be made.
    """
    with tempfile.TemporaryDirectory(prefix="sandbox-data-") as folder:
        for bench in benches:
            session = open_stack(stack, bench, tell).session
            try:
                bench.workload.workload.prepare(session, Path(folder) / "prepare.log")
                wait_until_applied(session)
            except (WorkloadError, RunEndedError, TimeoutError) as problem:
                raise SandboxError(
                    "the data of the matrix cannot be made", str(problem), "try: make ps", ExitCode.ENVIRONMENT
                ) from problem
