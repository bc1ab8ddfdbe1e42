"""The record of a run, from what its steps found. Pure."""

from dataclasses import asdict
from datetime import datetime

from sandbox.plan.component import Kind
from sandbox.results.record import (
    EntryRecord,
    Environment,
    Metrics,
    NodeRecord,
    NodeRole,
    Record,
    Status,
    WorkloadRecord,
)
from sandbox.results.redaction import mask, mask_variables
from sandbox.run.snapshot import status_delta
from sandbox.run.state import BenchRequest, Run
from sandbox.stack.protocol import StackNode

_ROLE_OF_KIND: dict[Kind, NodeRole] = {
    "proxy": "proxy",
    "manager": "manager",
    "monitor": "monitor",
    "client": "client",
}


def compose_record(run: Run, status: Status, reason: str | None) -> Record:
    """The record, with passwords masked in all text from a server or a tool."""
    return Record(
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
        workload=_workload(run),
        metrics=run.metrics,
        status_delta={
            name: status_delta(first, run.after[name]) for name, first in run.before.items() if name in run.after
        },
        variables={name: mask_variables(first.variables, run.secrets) for name, first in run.before.items()},
        environment=run.environment,
        checks=[check.model_copy(update={"detail": mask(check.detail, run.secrets)}) for check in run.checks],
        files=dict(run.files),
    )


def _node(run: Run, node: StackNode) -> NodeRecord:
    before, usage = run.before.get(node.name), run.usage.get(node.name)
    return NodeRecord(
        name=node.name,
        term=node.term,
        role=run.roles.get(node.name) if node.is_server else _ROLE_OF_KIND.get(node.kind),
        image=node.image,
        image_id=node.image_id,
        image_source=node.image_source,
        digest=node.digest,
        package_version=node.package_version,
        server_version=before.version if before else None,
        **(asdict(usage) if usage else {}),
    )


def record_without_stack(
    asked: BenchRequest, result: str, cell: str, block: int, profile: str, reason: str, started_utc: datetime
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
        workload=_asked(asked, None),
        metrics=Metrics(),
        status_delta={},
        variables={},
        environment=Environment(),
        checks=[],
        files={},
    )


def _workload(run: Run) -> WorkloadRecord:
    entry = run.session.entry
    where = EntryRecord(
        via=entry.via,
        node=entry.node,
        host=entry.host,
        port=entry.port,
        multiplexes=entry.multiplexes,
        answered=run.answered,
    )
    command = list(run.load_command) if run.load_command else None
    return _asked(run.request, where).model_copy(update={"preparation": run.preparation, "load_command": command})


def _asked(asked: BenchRequest, entry: EntryRecord | None) -> WorkloadRecord:
    parameters, workload, file = asked.parameters, asked.workload.workload, asked.workload.file
    uses = workload.uses
    return WorkloadRecord(
        name=asked.workload.name,
        threads=parameters.threads,
        seconds=parameters.seconds,
        warmup_s=parameters.warmup_s,
        tables=parameters.tables if "tables" in uses else None,
        rows_per_table=parameters.rows_per_table if "rows_per_table" in uses else None,
        distribution=parameters.distribution if "distribution" in uses else None,
        rate_per_s=parameters.rate_per_s if "rate_per_s" in uses else None,
        options=workload.options(),
        file_name=file.name if file else None,
        file_sha256=file.sha256 if file else None,
        entry=entry,
    )
