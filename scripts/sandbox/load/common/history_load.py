"""A load that records a history of its transactions in the client node, and what the history
shows.
"""

import json
import time
from abc import abstractmethod
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from sandbox.load.common import prepared
from sandbox.load.common.isolation.history import Anomaly, Txn, read_history
from sandbox.load.common.isolation.promises import counted, guarantees_of, verdicts
from sandbox.load.common.load_output import EngineOutput, parse_line
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
from sandbox.record.record import PreparationRecord
from sandbox.stack.client_python import folder_of, run_load, ship
from sandbox.stack.protocol import StackNode, followers

AGREE_LIMIT_S = 300
"""How long nodes may take to hold the same in the end, as the client program allows."""
HISTORY = "history.jsonl"
SHARED = ("in_client_history.py", "in_client_conflicts.py")


class HistoryOutput(EngineOutput):
    """The output of such a load between the events of its history."""

    servers: Mapping[str, Mapping[str, str]] | None = None
    """Node → variable → value, of the sessions of the load."""

    def feed(self, line: str) -> Any:
        """The summary also has the variables."""
        parsed = parse_line(line)
        if parsed is not None and "servers" in parsed:
            self.servers = parsed["servers"]
        return super().feed(line)


class HistoryLoad(Workload):
    """A workload whose folder has a client program, ``in_client_<folder>.py``."""

    alone: ClassVar[str | None] = "a lost connection ends it, and the history that it judges"
    prefix: ClassVar[str]
    """Beginning of the names of its tables."""
    placement: Literal["writer", "all"] = Field(
        default="writer",
        description=(
            "writer: all threads at the entry point; all: each at the next server, where it writes"
            " if it may"
        ),
    )
    isolation: Literal["server", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"] = Field(
        default="server", description="level of the sessions; server: as the server is configured"
    )

    @property
    @abstractmethod
    def statements(self) -> tuple[str, ...]:
        """Statements that make its tables."""

    @property
    @abstractmethod
    def overwrites(self) -> bool:
        """Whether the client writes values that it computed from what it had read."""

    @abstractmethod
    def client_options(self) -> dict[str, Any]:
        """The options that the client program takes."""

    @abstractmethod
    def anomalies(self, txns: list[Txn]) -> dict[str, Anomaly]:
        """The anomalies of a history, by the names of `promises.ANOMALIES`."""

    @property
    def consumes_data(self) -> bool:
        """Each phase has a history of its own, from the first transaction on."""
        return True

    @property
    def leaves(self) -> Mapping[str, str]:
        """The history of the measured load."""
        return {"history": HISTORY}

    def data_needed(self, parameters: Parameters) -> PreparedData:  # noqa: ARG002  (the shape of a workload)
        """Small tables."""
        return PreparedData(self.prefix.rstrip("_"), 1, 0, "", self.prefix)

    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:  # noqa: ARG002  (prints nothing)
        """New tables through the writer, and the program in the client node."""
        ship(session.stack, session.client, self.programs())
        began = time.monotonic()
        prepared.clear(session, self.prefix)
        answer = ask_writer(session, *self.statements)
        if answer.error:
            raise WorkloadError(f"the tables could not be made: {answer.error}")
        return self.data_needed(session.parameters).record(round(time.monotonic() - began, 1))

    def programs(self) -> dict[str, str]:
        """Name → text of what runs in the client node."""
        shared = {
            name: files(__package__).joinpath(name).read_text(encoding="utf-8") for name in SHARED
        }
        return {
            **shared,
            self._program: files(type(self).__module__).joinpath(self._program).read_text("utf-8"),
        }

    @property
    def _program(self) -> str:
        return f"in_client_{type(self).__module__.rpartition('.')[2]}.py"

    def load(self, session: Session, phase: Phase, log: Path) -> Outcome:
        """Runs the program; then judges the history, which stays beside the log of the measured
        load.
        """
        seconds = session.parameters.seconds_of(phase)
        argv = (
            "python3",
            f"{folder_of(self.programs())}/{self._program}",
            json.dumps(self._request(session, phase)),
        )
        output = HistoryOutput(phase)
        history = list[str]()

        def read(line: str) -> None:
            if _is_event(line):
                history.append(line)
            elif second := output.feed(line):
                session.on_event(second)

        limit_s = seconds + AGREE_LIMIT_S
        code = run_load(
            session.stack,
            session.client,
            argv,
            limit_s,
            log,
            read,
            lambda line: not _is_event(line),
        )
        if phase == "measure":
            log.with_name(HISTORY).write_text(
                "".join(f"{line}\n" for line in history), encoding="utf-8"
            )
        outcome = Outcome(argv, output.metrics(), output.failure(code))
        if phase == "warm-up" or outcome.failure or output.servers is None:
            return outcome
        return self._judged(outcome, session, history, output.servers)

    def _judged(
        self,
        outcome: Outcome,
        session: Session,
        history: list[str],
        servers: Mapping[str, Mapping[str, str]],
    ) -> Outcome:
        found = self.anomalies(read_history(history))
        topologies = {server.name: server.topology or "single" for server in _servers(session)}
        guarantees = guarantees_of(servers, topologies, self._spread(session), self.overwrites)
        findings = tuple(verdicts(found, guarantees))
        return Outcome(outcome.command, counted(outcome.metrics, found), None, findings)

    def _spread(self, session: Session) -> bool:
        """Whether reads may go to another node than writes; of a proxy it is not known."""
        anywhere = (
            self.placement == "all"
            or bool(session.entry.others)
            or session.entry.node != session.writer.node
        )
        return anywhere and len(_servers(session)) > 1

    def _request(self, session: Session, phase: Phase) -> dict[str, Any]:
        entry = session.entry
        parameters = session.parameters
        servers = [
            {"name": server.name, "host": server.host, "port": server.port}
            for server in _servers(session)
            if server.port is not None
        ]
        at_entry = [{"name": entry.node, "host": entry.host, "port": entry.port}]
        at_entry += [server for server in servers if server["name"] in entry.others]
        return {
            "nodes": servers if self.placement == "all" else at_entry,
            "servers": servers,
            "schema": entry.schema,
            "threads": parameters.threads,
            "seconds": parameters.seconds_of(phase),
            "seed": session.seed + (phase == "warm-up"),
            "isolation": None if self.isolation == "server" else self.isolation,
            "options": self.client_options(),
        }


def _servers(session: Session) -> list[StackNode]:
    """Servers that have, or get, the writer's writes; the writer comes first."""
    found = followers(session.servers, session.writer.node)
    return sorted(found, key=lambda server: server.name != session.writer.node)


def _is_event(line: str) -> bool:
    return line.startswith('{"index"')
