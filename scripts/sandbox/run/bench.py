"""One measurement of a running stack, in its own result folder."""

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from sandbox import __version__
from sandbox.errors import ExitCode
from sandbox.places import CHECKOUT, IN_CHECKOUT
from sandbox.results.manifest import Manifest
from sandbox.results.record import Record, Status
from sandbox.results.store import ResultFolder, slug_of
from sandbox.run.state import BenchRequest, open_run, open_stack
from sandbox.run.steps import execute
from sandbox.stack.protocol import RunningStack
from sandbox.workloads.common.model import Event

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
    opening, started = open_stack(stack, request, on_event), now()
    manifest = Manifest(
        kind="bench",
        slug=slug_of(f"{stack.profile}-{request.workload.name}"),
        profile=stack.profile,
        command=list(request.command),
        started_utc=started,
        tool_commit=tool_commit(),
    )
    result = ResultFolder.create(results, manifest)
    run = open_run(opening, result, CELL, BLOCK, started)
    try:
        return execute(run, result), result
    finally:
        result.finish(now())


def now() -> datetime:
    """The time as records have it, UTC, in whole seconds."""
    return datetime.now(UTC).replace(microsecond=0)


def tool_commit(checkout: Path = CHECKOUT) -> str | None:
    """The version of this tool: ``9ada22637b1c``, or ``9ada22637b1c+`` with uncommitted changes.

    The version number where it is installed from a wheel; None where git does not answer.
    """
    if not IN_CHECKOUT:
        return __version__
    command = ["git", "-C", str(checkout), "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
