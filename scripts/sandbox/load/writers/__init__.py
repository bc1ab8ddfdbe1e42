"""Writers that insert by autocommit, through every change of membership; a ledger on request."""

import json
import time
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from sandbox.load.common import prepared
from sandbox.load.common.load_output import EngineOutput
from sandbox.load.common.workload import (
    Outcome,
    Parameters,
    Phase,
    PreparedData,
    Session,
    Workload,
    WorkloadError,
    ask_writer,
)
from sandbox.load.writers.verdicts import CHECKS, caught_up, verdicts
from sandbox.record.record import CheckRecord, PreparationRecord
from sandbox.stack.client_python import (
    OVERTIME_S,
    TIMED_OUT,
    answer_of,
    folder_of,
    run_load,
    ship,
    targets_of,
)
from sandbox.stack.protocol import StackNode, followers

PREFIX = "writers_"
LEDGER = "/tmp/sandbox-writers"  # noqa: S108  (in a container of one purpose)
"""Folder in the client node: a file for each start of the load."""
READ_LIMIT_S = 300.0
_COLUMNS = (
    "id BIGINT AUTO_INCREMENT PRIMARY KEY, writer INT NOT NULL, op BIGINT NOT NULL, payload TEXT,"
    " at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)"
)
_SHIPPED = {
    __name__: ("in_client_writers.py", "in_client_ledger.py"),
    "sandbox.load.common": ("in_client_history.py", "in_client_conflicts.py"),
    "sandbox.stack.in_client": ("outcomes.py",),
}


class WritersOutput(EngineOutput):
    """The output of the writers, whose errors end nothing."""

    def failure(self, code: int) -> str | None:
        """Only a load of which no write was acknowledged has failed, or one that did not end."""
        if code == TIMED_OUT:
            return f"the load was terminated: still running {OVERTIME_S} s after its time"
        if code or self.summary is None:
            return f"the load failed with exit code {code}: {self.last_foreign or 'no summary'}"
        if not self.summary["kinds"]:
            return f"no write was acknowledged: {self.first_error or 'nobody answered'}"
        return None


class Writers(Workload):
    """THREADS writers insert by autocommit; one that loses its server reconnects, at the next entry
    where there are several.
    """

    table: Literal["own", "shared"] = Field(
        default="own", description="own: a table for each writer; shared: one for all"
    )
    placement: Literal["writer", "all"] = Field(
        default="writer",
        description="writer: all begin at the entry point; all: each at the next server",
    )
    row_bytes: int = Field(default=100, ge=0, le=60_000, description="size of each row's payload")
    ledger: bool = Field(
        default=False,
        description="acknowledged writes are compared with every server's rows after the run",
    )

    @property
    def uses(self) -> frozenset[str]:
        """A rate, which the writers share."""
        return frozenset({"rate_per_s"})

    @property
    def consumes_data(self) -> bool:
        """Each phase begins with empty tables, and an empty ledger."""
        return True

    @property
    def verdicts_of_ledger(self) -> tuple[str, ...]:
        """Names of the checks on its ledger, where it keeps one."""
        return CHECKS if self.ledger else ()

    def tables(self, threads: int) -> list[str]:
        """Names of the tables of so many writers."""
        if self.table == "shared":
            return [f"{PREFIX}all"]
        return [f"{PREFIX}{number}" for number in range(1, threads + 1)]

    def data_needed(self, parameters: Parameters) -> PreparedData:
        """Empty tables."""
        return PreparedData("writers", len(self.tables(parameters.threads)), 0, "", PREFIX)

    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:  # noqa: ARG002  (prints nothing)
        """New tables through the writer, the programs in the client node, no ledger."""
        ship(session.stack, session.client, programs())
        session.stack.run(session.client, ["rm", "-rf", LEDGER])
        began = time.monotonic()
        prepared.clear(session, PREFIX)
        statements = [
            f"CREATE TABLE `{table}` ({_COLUMNS}) ENGINE=InnoDB"
            for table in self.tables(session.parameters.threads)
        ]
        answer = ask_writer(session, *statements)
        if answer.error:
            raise WorkloadError(f"the tables could not be made: {answer.error}")
        return self.data_needed(session.parameters).record(round(time.monotonic() - began, 1))

    def load(self, session: Session, phase: Phase, log: Path) -> Outcome:
        """Runs the writers."""
        seconds = session.parameters.seconds_of(phase)
        program = f"{folder_of(programs())}/in_client_writers.py"
        argv = ("python3", program, json.dumps(self._request(session, seconds)))
        output = WritersOutput(phase)

        def read(line: str) -> None:
            if second := output.feed(line):
                session.on_event(second)

        code = run_load(session.stack, session.client, argv, seconds, log, read)
        return Outcome(argv, output.metrics(), output.failure(code))

    def _request(self, session: Session, seconds: int) -> dict[str, Any]:
        parameters = session.parameters
        return {
            "entries": entries_of(session),
            "spread": self.placement == "all",
            "schema": session.entry.schema,
            "tables": self.tables(parameters.threads),
            "writers": parameters.threads,
            "seconds": seconds,
            "rate_per_s": parameters.rate_per_s,
            "row_bytes": self.row_bytes,
            "ledger": LEDGER if self.ledger else None,
        }

    def judge_ledger(self, session: Session) -> Sequence[CheckRecord]:
        """What every server has of the writes that were acknowledged."""
        if not self.ledger:
            return ()
        servers = followers(session.servers, session.writer.node)
        behind = caught_up(session, servers)
        targets = targets_of(servers)
        request = {
            "ledger": LEDGER,
            "schema": session.entry.schema,
            "tables": self.tables(session.parameters.threads),
            "servers": [target.login for target in targets],
        }
        program = f"{folder_of(programs())}/in_client_ledger.py"
        argv = ["python3", program, json.dumps(request)]
        found = session.stack.run(session.client, argv, timeout_s=READ_LIMIT_S)
        answer: Mapping[str, Any] = answer_of(found, session.client, "in_client_ledger")
        return verdicts(answer, session.writer.node, behind)


def programs() -> dict[str, str]:
    """Name → text of what runs in the client node."""
    return {
        name: files(package).joinpath(name).read_text(encoding="utf-8")
        for package, names in _SHIPPED.items()
        for name in names
    }


def entries_of(session: Session) -> list[dict[str, Any]]:
    """Where a writer may connect, its entry point first: every server of the group, or every proxy
    of the same kind.
    """
    entry = session.entry
    first = {"name": entry.node, "host": entry.host, "port": entry.port}
    names = {server.name for server in session.servers}
    if entry.node in names:
        others = [(server, server.port) for server in session.servers]
    else:
        others = [(proxy, entry.port) for proxy in _proxies_like(session)]
    return [
        first,
        *(
            {"name": each.name, "host": each.host, "port": port}
            for each, port in others
            if each.name != entry.node and port is not None
        ),
    ]


def _proxies_like(session: Session) -> list[StackNode]:
    """Other proxies of the entry point's component and group; none behind an external address."""
    nodes = {node.name: node for node in session.stack.nodes()}
    own = nodes.get(session.entry.node)
    if own is None or own.kind != "proxy":
        return []
    kind = (own.component, own.group_index)
    return [node for node in nodes.values() if (node.component, node.group_index) == kind]
