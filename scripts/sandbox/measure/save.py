"""What a run leaves: its record, and the files next to it; passwords are masked."""

import csv
from collections.abc import Callable, Iterable
from dataclasses import asdict, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from sandbox.core.errors import SandboxError
from sandbox.load.common.workload import Second
from sandbox.measure.counters import status_delta
from sandbox.measure.machine import shared, take_fingerprint
from sandbox.measure.run import NO_LOAD, Run, RunRequest
from sandbox.profile.library import Kind
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
from sandbox.stack.protocol import RunningStack, StackNode

_ROLE_OF_KIND: dict[Kind, NodeRole] = {
    "proxy": "proxy",
    "manager": "manager",
    "monitor": "monitor",
    "client": "client",
}


def collect(run: Run[Any]) -> None:
    """Saves everything available, however the run ended; each part that cannot be saved becomes a
    check.
    """
    _attempt(run, "series_saved", lambda: _save_series(run))
    _attempt(
        run,
        "logs_saved",
        lambda: save_logs(run.stack, run.nodes, run.secrets, run.folder, run.files),
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
            text, name = mask(stack.log(node.name), secrets), f"logs/{node.name}.log"
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
    """Of a run without a load only the data: there is nothing whose name or options could stand
    here.
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
