"""A run from its first step to its record and the files next to it, whatever happens."""

import csv
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Literal

from sandbox import __version__
from sandbox.core.errors import ExitCode, MachineError, SandboxError, states
from sandbox.core.paths import CHECKOUT, IN_CHECKOUT
from sandbox.load.common.workload import Event, Progress, Second, WorkloadError
from sandbox.measure.counters import status_delta
from sandbox.measure.machine import shared, take_fingerprint
from sandbox.measure.run import (
    NO_LOAD,
    AnyRequest,
    AnyRun,
    Opening,
    Run,
    RunEndedError,
    RunPlace,
    RunRequest,
    open_stack,
)
from sandbox.profile.library import Kind
from sandbox.record.manifest import Manifest, RepeatsPart
from sandbox.record.record import (
    CheckRecord,
    EntryRecord,
    Environment,
    Metrics,
    NodeRecord,
    NodeRole,
    Record,
    Status,
    WorkloadRecord,
)
from sandbox.record.redaction import mask, mask_variables
from sandbox.record.store import ResultFolder, slug_of
from sandbox.stack.protocol import RunningStack, StackNode

BLOCK = 1
SAVE = "save"
"""The last step of every run, by its name in events."""
EXIT_CODES: dict[Status, ExitCode] = {
    "ok": ExitCode.OK,
    "failed": ExitCode.FAILED,
    "infra_error": ExitCode.ENVIRONMENT,
    "skipped": ExitCode.UNKNOWN,
    "interrupted": ExitCode.INTERRUPTED,
}
_ROLE_OF_KIND: dict[Kind, NodeRole] = {
    "arbitrator": "arbitrator",
    "proxy": "proxy",
    "manager": "manager",
    "monitor": "monitor",
    "client": "client",
}


@dataclass(frozen=True, slots=True)
class Procedure(Generic[AnyRequest, AnyRun]):
    """How one kind of run goes.

    ``kind``: in a manifest, and the name of its cell where it is alone in a result.
    """

    kind: Literal["bench", "trial", "repro", "upgrade"]
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
    result = new_result(procedure, opening, results)
    run = procedure.begin(opening, RunPlace(result, procedure.kind, BLOCK, now()))
    try:
        return execute(run, procedure, result), result
    finally:
        result.finish(now())


def new_result(
    procedure: Procedure[AnyRequest, AnyRun],
    opening: Opening[AnyRequest],
    results: Path,
    repeats: RepeatsPart | None = None,
) -> ResultFolder:
    """The folder of a result that is not a matrix, under ``results``; it has no run yet."""
    request = opening.request
    manifest = Manifest(
        kind=procedure.kind,
        slug=slug_of(f"{opening.stack.profile}-{request.name}"),
        profile=opening.stack.profile,
        command=list(request.command),
        started_utc=now(),
        tool_commit=tool_commit(),
        repeats=repeats,
    )
    return ResultFolder.create(results, manifest)


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
        status = "interrupted"
        reason = _both(reason, "interrupted while the run was closed")
    except Exception as error:
        if not (isinstance(error, SandboxError) and error.exit_code is ExitCode.ENVIRONMENT):
            _leave(run, result, "failed", f"unexpected {type(error).__name__}: {error}")
            raise
        # Of what ends with the run: a fault that cannot be healed.
        status = "interrupted" if status == "interrupted" else "infra_error"
        text = f"{error.what}: {error.known}"
        if text not in (reason or ""):  # an interruption that healed has said it
            reason = _both(reason, text)
    return _leave(run, result, status, reason)


def _both(reason: str | None, more: str) -> str:
    """A reason, if there is one, and another after it."""
    return f"{reason}; {more}" if reason else more


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
        run.session.on_event(Progress(SAVE, "record, logs, samples"))
        collect(run)
    except KeyboardInterrupt:
        status = "interrupted"
        reason = reason or "interrupted while saving logs"
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


def collect(run: Run[Any]) -> None:
    """Saves everything available, however the run ended; each part that cannot be saved becomes a
    check.
    """
    _attempt(run, "series_saved", lambda: _save_series(run))
    _attempt(
        run,
        "logs_saved",
        lambda: save_logs(run.stack, run.logged_nodes, run.secrets, run.folder, run.files),
    )
    _attempt(run, "environment_known", lambda: _know_environment(run))
    for word, name in list(run.files.items()):
        path = run.folder / name
        if not path.exists() or not path.stat().st_size:  # registered by a step that never wrote it
            path.unlink(missing_ok=True)
            del run.files[word]
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if (masked := mask(text, run.secrets)) != text:
            path.write_text(masked, encoding="utf-8")


def _attempt(run: Run[Any], name: str, job: Callable[[], None]) -> None:
    try:
        job()
    except (SandboxError, TimeoutError, OSError) as error:
        run.checks.append(
            CheckRecord(name=name, verdict="unknown", detail=f"{type(error).__name__}: {error}")
        )


def _save_series(run: Run[Any]) -> None:
    with run.keep("series", "seconds.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Second)])
        writer.writeheader()
        writer.writerows(asdict(second) for second in run.series)


def save_logs(
    stack: RunningStack,
    nodes: Iterable[StackNode],
    secrets: frozenset[str],
    folder: Path,
    files: dict[str, str],
) -> None:
    """Saves the log of every node next to a record, and adds each to ``files``, the record's list
    of files.
    """
    for node in nodes:
        if node.has_container and node.kind != "client":
            text = mask(stack.log(node.name), secrets)
            name = f"logs/{node.name}.log"
            (folder / "logs").mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
            files[f"log_{node.name}"] = name


def _know_environment(run: Run[Any]) -> None:
    if run.environment == Environment():
        run.environment = take_fingerprint(
            run.stack, run.session.client, run.live_servers, run.before
        )
    run.environment = run.environment.model_copy(update={"during": run.host_load})


def compose_record(run: Run[Any], status: Status, reason: str | None) -> Record:
    """The record of a run, with passwords masked in all text from a server or a tool."""
    entry = EntryRecord(**shared(EntryRecord, run.session.entry))
    found = {"entry": entry, "preparation": run.preparation}
    record = Record(
        run_id=run.run_id,
        profile=run.stack.profile,
        stack=run.stack.name,
        started_utc=run.started_utc,
        seed=run.session.seed,
        cell=run.cell,
        block=run.block,
        status=status,
        reason=mask(reason, run.secrets) if reason else None,
        command=list(run.request.command),
        nodes=[_node(run, node) for node in run.nodes],
        workload=_asked(run.request).model_copy(update=found),
        metrics=run.metrics,
        status_delta={
            name: status_delta(first, run.after[name])
            for name, first in run.before.items()
            if name in run.after
        },
        variables={
            name: mask_variables(first.variables, run.secrets) for name, first in run.before.items()
        },
        environment=run.environment,
        checks=[
            check.model_copy(update={"detail": mask(check.detail, run.secrets)})
            for check in run.checks
        ],
        files=dict(run.files),
        consistency=run.consistency,
    )
    return run.completed(record)


def _node(run: Run[Any], node: StackNode) -> NodeRecord:
    before = run.before.get(node.name)
    return NodeRecord(
        role=run.roles.get(node.name) if node.is_server else _ROLE_OF_KIND.get(node.kind),
        server_version=before.version if before else None,
        **shared(NodeRecord, node),
    )


def _asked(asked: RunRequest) -> WorkloadRecord:
    """The workload as the record has it; of a run without a load only its data, which has no name
    or options.
    """
    workload = asked.workload.workload
    file = asked.workload.file if asked.has_load else None
    parameters = asked.parameters.model_dump()
    optional = ("tables", "rows_per_table", "distribution", "rate_per_s")
    return WorkloadRecord(
        name=asked.workload.name if asked.has_load else NO_LOAD,
        **{
            name: value if name not in optional or name in asked.uses else None
            for name, value in parameters.items()
        },
        options=workload.options() if asked.has_load else {},
        file_name=file.name if file else None,
        file_sha256=file.sha256 if file else None,
        entry=None,
    )


def record_without_stack(
    asked: RunRequest,
    result: str,
    cell: str,
    block: int,
    profile: str,
    reason: str,
    started_utc: datetime,
    files: dict[str, str],
) -> Record:
    """The record of a run that never started, because its stack was not available."""
    return Record(
        run_id=f"{result}/{cell}.{block}",
        profile=profile,
        stack="",
        started_utc=started_utc,
        seed=asked.seed or 0,
        cell=cell,
        block=block,
        status="infra_error",
        reason=reason,
        command=list(asked.command),
        nodes=[],
        workload=_asked(asked),
        metrics=Metrics(),
        status_delta={},
        variables={},
        environment=Environment(),
        checks=[],
        files=files,
    )
