"""How fast replicas apply what their source committed: appliers stopped, transactions committed,
appliers started.
"""

import time
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from sandbox.load.common.workload import (
    Event,
    Outcome,
    Parameters,
    Phase,
    PreparedData,
    Progress,
    Second,
    Session,
    Workload,
    WorkloadError,
    ask_writer,
)
from sandbox.load.replica_catch_up.replicas import Reading, StoppedAppliers
from sandbox.load.sysbench import Sysbench
from sandbox.profile.library import Kind
from sandbox.record.record import Metrics, PreparationRecord
from sandbox.stack.protocol import StackNode, followers

WRITES = Sysbench(script="oltp_write_only")
SLOWEST_TPS, LEAST_LIMIT_S = 5, 300
"""A server that commits or applies more slowly than this is given up, but never before
LEAST_LIMIT_S.
"""
COMMIT_TPS, APPLY_TPS, APPLY_TPS_READING = 2300.0, 3400.0, 450.0
"""Typical on a two-core machine, for the estimate: at the source; by a replica without and with
reads.
"""
OTHER_S = 2.0
"""Seconds until the relay log has everything, and the start of the reads."""


class ReplicaCatchUp(Workload):
    """THREADS commit on the writer; SECONDS does not matter, since the run ends when every replica
    has caught up.
    """

    needs: ClassVar[Kind | None] = "replica"
    transactions: int = Field(
        default=20_000,
        ge=100,
        le=100_000_000,
        description="transactions to commit while the appliers are stopped",
    )
    read_threads: int = Field(
        default=0,
        ge=0,
        le=10_000,
        description="threads that read at the replicas while these catch up",
    )

    @property
    def uses(self) -> frozenset[str]:
        """Parameters of the writes, which have no rate."""
        return frozenset({"tables", "rows_per_table", "distribution"})

    def data_needed(self, parameters: Parameters) -> PreparedData | None:
        """The data of the writes."""
        return WRITES.data_needed(parameters)

    def work_s(self, parameters: Parameters) -> float:  # noqa: ARG002  (the shape of a workload)
        """Committing, then applying."""
        apply_tps = APPLY_TPS_READING if self.read_threads else APPLY_TPS
        return self.transactions / COMMIT_TPS + self.transactions / apply_tps + OTHER_S

    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:
        """Prepares the data as for any write load."""
        return WRITES.prepare(session, log)

    def load(self, session: Session, phase: Phase, log: Path) -> Outcome:
        """The warm-up is a write load by the clock, with every applier running."""
        at_writer = replace(session, entry=session.writer)
        if phase == "warm-up":
            return WRITES.load(at_writer, phase, log)
        return self._measure(at_writer, log)

    def _measure(self, session: Session, log: Path) -> Outcome:
        replicas = _replicas(session)
        if not replicas:
            raise WorkloadError("no replica follows the writer now")
        began_s = time.monotonic()
        limit_s = max(LEAST_LIMIT_S, self.transactions // SLOWEST_TPS)
        with StoppedAppliers(session, replicas, log) as appliers:
            written = WRITES.load_events(
                _counted(session, self.transactions), self.transactions, limit_s, log
            )
            if written.failure:
                return written
            session.on_event(Progress("load", "waiting until every relay log has all of it"))
            appliers.wait_until_received(_held(session), limit_s)
            took, read = self._catch_up(session, appliers, log, limit_s)
        measured_s = round(time.monotonic() - began_s, 2)
        return Outcome(
            written.command, self._metrics(written.metrics, took, measured_s, read), None
        )

    def _catch_up(
        self, session: Session, appliers: StoppedAppliers, log: Path, limit_s: int
    ) -> tuple[dict[str, float], Metrics]:
        """Seconds by replica; and what was read meanwhile: transactions per second, statements."""

        def on_wait(node: str, seconds: float) -> None:
            session.on_event(Progress("load", f"{node} is catching up ({seconds:.0f} s)"))

        if not self.read_threads:
            return appliers.start(limit_s, on_wait), Metrics()
        parameters = session.parameters.model_copy(
            update={"threads": self.read_threads, "seconds": 2 * limit_s}
        )
        reading = Reading(replace(session, parameters=parameters), _replicas(session), log)
        try:
            reading.wait_for_first()
            began_s = time.monotonic()
            took = appliers.start(limit_s, on_wait)
            ended_s = time.monotonic()
        finally:
            reading.stop()
        return took, Metrics(tps=reading.tps(began_s, ended_s), queries=reading.queries)

    def _metrics(
        self, written: Metrics, took: dict[str, float], measured_s: float, read: Metrics
    ) -> Metrics:
        """Throughput and latency are those of the reads: how fast the source committed is not what
        is measured.
        """
        slowest_s = max(took.values())
        return Metrics(
            tps=read.tps,
            transactions=written.transactions,
            queries=(written.queries or 0) + (read.queries or 0),
            measured_s=measured_s,
            errors=written.errors,
            errors_by_code=written.errors_by_code,
            conflicts=written.conflicts,
            reconnects=written.reconnects,
            catch_up_s=slowest_s,
            catch_up_tps=round((written.transactions or 0) / slowest_s, 2),
            catch_up_s_by_replica=took,
        )


def _replicas(session: Session) -> list[StackNode]:
    """Servers that follow the writer now, such as a source whose place was taken."""
    others = [
        node
        for node in followers(session.servers, session.writer.node)
        if node.name != session.writer.node
    ]
    return [node for node in others if node.kind == "replica" or node.topology == "single"]


def _counted(session: Session, transactions: int) -> Session:
    """The session, with its seconds shown as progress: they are no result."""
    committed = 0.0

    def on_event(event: Event) -> None:
        nonlocal committed
        if isinstance(event, Second):
            committed += event.tps
            event = Progress(
                "load", f"about {committed:,.0f} of {transactions:,} transactions committed"
            )
        session.on_event(event)

    return replace(session, on_event=on_event)


def _held(session: Session) -> str:
    """The writer's GTID set or position. Raises WorkloadError."""
    writer = next(node for node in session.servers if node.name == session.writer.node)
    variable = (
        "@@GLOBAL.gtid_current_pos" if writer.family == "mariadb" else "@@GLOBAL.gtid_executed"
    )
    answer = ask_writer(session, f"SELECT {variable}")
    if answer.error or not answer.rows(0):
        raise WorkloadError(
            f"the writer does not say what it has committed: {answer.error or 'no answer'}"
        )
    return str(answer.rows(0)[0][0])
