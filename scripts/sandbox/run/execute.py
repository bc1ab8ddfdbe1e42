"""Executes one run: its steps in order, then a record, whatever their outcome."""

from collections.abc import Callable

from sandbox.errors import ExitCode, SandboxError
from sandbox.results.record import Record, Status
from sandbox.results.store import ResultFolder
from sandbox.run import steps
from sandbox.run.collect import collect
from sandbox.run.compose_record import compose_record
from sandbox.run.state import Run, RunEndedError
from sandbox.workloads.common.model import Progress, WorkloadError

STEPS: tuple[tuple[str, Callable[[Run], None]], ...] = (
    ("prove settings", steps.prove_settings),
    ("prepare", steps.prepare),
    ("warm up", steps.warm_up),
    ("catch up", steps.catch_up),
    ("measure", steps.measure),
)


def execute(run: Run, result: ResultFolder) -> Record:
    """Runs the steps and saves the record in ``result``. An unexpected error propagates once its record is saved.

    Raises SecretFoundError for a record that would contain a password.
    """
    try:
        status, reason = _take_steps(run)
    except Exception as error:
        _leave(run, result, "failed", f"unexpected {type(error).__name__}: {error}")
        raise
    return _leave(run, result, status, reason)


def _take_steps(run: Run) -> tuple[Status, str | None]:
    name = STEPS[0][0]
    try:
        for name, step in STEPS:
            run.session.on_event(Progress(name, "begins"))
            step(run)
    except RunEndedError as end:
        return _explained(run, end.status, end.reason)
    except WorkloadError as error:
        return _explained(run, "failed", str(error))
    except TimeoutError as error:
        return "infra_error", f"during {name}: {error}"
    except SandboxError as error:
        if error.exit_code is not ExitCode.ENVIRONMENT:
            raise
        return "infra_error", f"{error.what}: {error.known}"
    except KeyboardInterrupt:
        return "interrupted", f"interrupted during {name}"
    finally:
        if run.sampler is not None:
            run.sampler.close()
    return "ok", None


def _explained(run: Run, status: Status, reason: str) -> tuple[Status, str]:
    """A failure after a node's death, or after the engine stopped answering, is not the workload's."""
    try:
        dead = steps.died(run) if status == "failed" else {}
    except SandboxError as error:
        if error.exit_code is not ExitCode.ENVIRONMENT:
            raise
        return "infra_error", f"{error.what}: {error.known}; then: {reason}"
    if not dead:
        return status, reason
    states = "; ".join(f"{name}: {state}" for name, state in dead.items())
    return "infra_error", f"died during the run: {states}; then: {reason}"


def _leave(run: Run, result: ResultFolder, status: Status, reason: str | None) -> Record:
    try:
        run.session.on_event(Progress("save", "record, logs, samples"))
        collect(run)
    except KeyboardInterrupt:
        status, reason = "interrupted", reason or "interrupted while saving logs"
    record = compose_record(run, status, reason)
    result.save(record, run.secrets)
    return record
