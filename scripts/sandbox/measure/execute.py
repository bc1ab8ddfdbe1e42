"""A run from its first step to its record, whatever happens, whether a bench or a trial."""

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Literal

from sandbox import __version__
from sandbox.core.errors import ExitCode, MachineError, SandboxError, states
from sandbox.core.paths import CHECKOUT, IN_CHECKOUT
from sandbox.load.common.workload import Event, Progress, WorkloadError
from sandbox.measure.run import (
    AnyRequest,
    AnyRun,
    Opening,
    Run,
    RunEndedError,
    RunPlace,
    open_stack,
)
from sandbox.measure.save import collect, compose_record
from sandbox.record.manifest import Manifest
from sandbox.record.record import Record, Status
from sandbox.record.store import ResultFolder, slug_of
from sandbox.stack.protocol import RunningStack

BLOCK = 1
EXIT_CODES: dict[Status, ExitCode] = {
    "ok": ExitCode.OK,
    "failed": ExitCode.FAILED,
    "infra_error": ExitCode.ENVIRONMENT,
    "skipped": ExitCode.UNKNOWN,
    "interrupted": ExitCode.INTERRUPTED,
}


@dataclass(frozen=True, slots=True)
class Procedure(Generic[AnyRequest, AnyRun]):
    """How one kind of run goes.

    ``kind``: in a manifest, and the name of its cell where it is alone in a result.
    """

    kind: Literal["bench", "trial"]
    begin: Callable[[Opening[AnyRequest], RunPlace], AnyRun]
    steps: Mapping[str, Callable[[AnyRun], None]]
    died: Callable[[AnyRun], dict[str, str]]
    """Nodes whose end explains why the run failed, each with its state."""
    keep_figures: Callable[[AnyRun], list[str]]
    """Adds the figures so far to a run that was interrupted; what its reason says about them."""


def run_alone(
    procedure: Procedure[AnyRequest, AnyRun],
    stack: RunningStack,
    request: AnyRequest,
    results: Path,
    on_event: Callable[[Event], None],
) -> tuple[Record, ResultFolder]:
    """Runs once, in a result of its own; the record is on disk under ``results`` when this returns.

    ``on_event`` gets a Progress for each step and a Second for each second of load. Ctrl-C, like
    TERM, gives a record with status ``interrupted`` and the figures so far. Raises SandboxError,
    before it writes anything, for a request that cannot be met; SecretFoundError for a record that
    would contain a password; any unexpected error once its record is written.
    """
    opening = open_stack(stack, request, on_event)
    started = now()
    manifest = Manifest(
        kind=procedure.kind,
        slug=slug_of(f"{stack.profile}-{request.name}"),
        profile=stack.profile,
        command=list(request.command),
        started_utc=started,
        tool_commit=tool_commit(),
    )
    result = ResultFolder.create(results, manifest)
    run = procedure.begin(opening, RunPlace(result, procedure.kind, BLOCK, started))
    try:
        return execute(run, procedure, result), result
    finally:
        result.finish(now())


def execute(run: AnyRun, procedure: Procedure[Any, AnyRun], result: ResultFolder) -> Record:
    """Takes the steps and saves the record in ``result``.

    Raises SecretFoundError for a record that would contain a password; an unexpected error once
    its record is saved.
    """
    status: Status = "failed"
    reason: str | None = None
    try:
        with run.closing:
            status, reason = _take_steps(run, procedure)
    except KeyboardInterrupt:  # the second one, or one that came while something was healed
        status, reason = (
            "interrupted",
            "; ".join(filter(None, (reason, "interrupted while the run was closed"))),
        )
    except Exception as error:
        if not (isinstance(error, SandboxError) and error.exit_code is ExitCode.ENVIRONMENT):
            _leave(run, result, "failed", f"unexpected {type(error).__name__}: {error}")
            raise
        # Of what ends with the run: a fault that cannot be healed.
        status = "interrupted" if status == "interrupted" else "infra_error"
        text = f"{error.what}: {error.known}"
        if text not in (reason or ""):  # an interruption that healed has said it
            reason = "; ".join(filter(None, (reason, text)))
    return _leave(run, result, status, reason)


def _take_steps(run: AnyRun, procedure: Procedure[Any, AnyRun]) -> tuple[Status, str | None]:
    name = next(iter(procedure.steps))
    try:
        for name, step in procedure.steps.items():
            run.session.on_event(Progress(name, "begins"))
            step(run)
    except RunEndedError as end:
        return _explained(run, procedure, end.status, end.reason)
    except WorkloadError as error:
        return _explained(run, procedure, "failed", str(error))
    except TimeoutError as error:
        return "infra_error", f"during {name}: {error}"
    except MachineError as error:
        return "infra_error", f"{error.what}: {error.known}"
    except KeyboardInterrupt:
        kept = procedure.keep_figures(run)
        return "interrupted", "; ".join([f"interrupted during {name}", *kept])
    return "ok", None


def _explained(
    run: AnyRun,
    procedure: Procedure[Any, AnyRun],
    status: Status,
    reason: str,
) -> tuple[Status, str]:
    """A failure after a node's death, or after the engine's, is not the workload's."""
    if status != "failed":
        return status, reason
    try:
        dead = procedure.died(run)
    except MachineError as error:
        return "infra_error", f"{error.what}: {error.known}; then: {reason}"
    if dead:
        return "infra_error", f"died during the run: {states(dead)}; then: {reason}"
    return status, reason


def _leave(run: Run[Any], result: ResultFolder, status: Status, reason: str | None) -> Record:
    try:
        run.session.on_event(Progress("save", "record, logs, samples"))
        collect(run)
    except KeyboardInterrupt:
        status, reason = "interrupted", reason or "interrupted while saving logs"
    record = compose_record(run, status, reason)
    result.save(record, run.secrets)
    return record


def now() -> datetime:
    """The time as records have it, UTC, in whole seconds."""
    return datetime.now(UTC).replace(microsecond=0)


def tool_commit(checkout: Path = CHECKOUT) -> str | None:
    """The version of this tool: ``9ada22637b1c``, or ``9ada22637b1c+`` with uncommitted changes.

    The version number where it is installed from a wheel; None where git does not answer.
    """
    if not IN_CHECKOUT:
        return __version__
    command = [
        "git",
        "-C",
        str(checkout),
        "describe",
        "--always",
        "--abbrev=12",
        "--dirty=+",
        "--exclude=*",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
