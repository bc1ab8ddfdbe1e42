"""One measurement of a running stack, in its own result folder."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from sandbox.errors import ExitCode
from sandbox.results.manifest import Manifest
from sandbox.results.record import Record, Status
from sandbox.results.store import ResultFolder, slug_of
from sandbox.run.execute import execute
from sandbox.run.open_run import open_run, open_stack
from sandbox.run.state import BenchRequest
from sandbox.run.tool_commit import tool_commit
from sandbox.stack.protocol import RunningStack
from sandbox.workloads.common.model import Event, Second

CELL, BLOCK = "bench", 1

EXIT_CODES: dict[Status, ExitCode] = {
    "ok": ExitCode.OK,
    "failed": ExitCode.FAILED,
    "infra_error": ExitCode.ENVIRONMENT,
    "skipped": ExitCode.UNKNOWN,
    "interrupted": ExitCode.INTERRUPTED,
}


def bench(
    stack: RunningStack, request: BenchRequest, results: Path, on_event: Callable[[Event], None]
) -> tuple[Record, ResultFolder]:
    """Measures a stack once; the record is on disk under ``results`` when this returns.

    ``on_event`` gets a Progress for each step and a Second for each second of load. Ctrl-C gives a record with status
    ``interrupted``. Raises SandboxError, before it writes anything, for a request that cannot be met; SecretFoundError
    for a record that would contain a password; any unexpected error once its record is written.
    """
    series: list[Second] = []

    def keep_series(event: Event) -> None:
        if isinstance(event, Second):
            series.append(event)
        on_event(event)

    opening = open_stack(stack, request, keep_series)
    started = datetime.now(UTC).replace(microsecond=0)
    slug = slug_of(f"{stack.profile}-{request.workload.name}")
    manifest = Manifest(
        kind="bench",
        slug=slug,
        profile=stack.profile,
        command=list(request.command),
        started_utc=started,
        tool_commit=tool_commit(),
    )
    result = ResultFolder.create(results, manifest)
    run = open_run(opening, request, result, CELL, BLOCK, started)
    run.series = series
    try:
        return execute(run, result), result
    finally:
        result.finish(datetime.now(UTC).replace(microsecond=0))
