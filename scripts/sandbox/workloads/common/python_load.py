"""A load written in Python, run in the client node by several processes."""

import json
import time
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from sandbox.results.record import PreparationRecord
from sandbox.stack.protocol import EntryPoint
from sandbox.workloads.common import prepared
from sandbox.workloads.common.execution import OVERTIME_S, TIMED_OUT, run_load
from sandbox.workloads.common.load_output import LoadOutput, parse_line
from sandbox.workloads.common.model import (
    DataNeed,
    Outcome,
    Parameters,
    Phase,
    Progress,
    Session,
    Workload,
    WorkloadError,
    phase_seconds,
)
from sandbox.workloads.common.shipping import folder_of, load_program, ship

PREPARE_LIMIT_S = 24 * 3600
"""Limit of a preparation: large data takes hours, a hanging server takes forever."""


class PythonLoad(Workload):
    """``scenario``: the module of ``workloads/in_client/`` that makes the data and runs the transactions."""

    scenario: ClassVar[str]

    @property
    def uses(self) -> frozenset[str]:
        """Each one supports a rate."""
        return frozenset({"rate_per_s"})

    @property
    def background_threads(self) -> int:
        """Additional threads, which accompany the load."""
        return 0

    @abstractmethod
    def wanted(self, parameters: Parameters) -> prepared.Prepared | None:
        """The data that it needs; None where it needs none."""

    def rows_made(self) -> int:
        """About how many rows a preparation makes."""
        return 0

    def data_needed(self, parameters: Parameters) -> DataNeed | None:
        """The data of `wanted`."""
        wanted = self.wanted(parameters)
        return DataNeed(wanted.prefix, str(wanted), self.rows_made()) if wanted else None

    def scenario_options(self, session: Session) -> dict[str, Any]:  # noqa: ARG002  (some need the parameters)
        """The options that the scenario gets."""
        return self.options()

    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:
        """Ships the program to the client node; reuses the data of an earlier run where it is valid, or makes it."""
        ship(session.stack, session.client, load_program())
        wanted = self.wanted(session.parameters)
        if wanted is None:
            return None
        if not self.consumes_data and prepared.find(session, wanted.prefix) == wanted and self.fit(session):
            session.on_event(Progress("prepare", f"reusing data: {wanted}"))
            return wanted.record(None)
        began = time.monotonic()
        prepared.clear(session, wanted.prefix)
        self.make_data(session, log)
        if not self.consumes_data:
            prepared.mark(session, wanted)
        return wanted.record(round(time.monotonic() - began, 1))

    def fit(self, session: Session) -> bool:  # noqa: ARG002  (some have nothing to ask)
        """Whether existing data can be used again."""
        return True

    def make_data(self, session: Session, log: Path) -> None:
        """Makes the data from scratch, on the writer. Raises WorkloadError."""
        request = self._request(session, session.writer)
        output: list[str] = []

        def read(line: str) -> None:
            parsed = parse_line(line)
            if parsed and "progress" in parsed:
                session.on_event(Progress("prepare", str(parsed["progress"])))
            elif parsed and "error" in parsed:
                output.append(f"error {parsed['error']}: {parsed['message']}")
            else:
                output.append(line)

        code = run_load(session.stack, session.client, _argv("prepare", request), PREPARE_LIMIT_S, log, read)
        if code:
            raise WorkloadError(f"data could not be prepared: {output[-1] if output else f'exit code {code}'}")

    def load(self, session: Session, phase: Phase, log: Path) -> Outcome:
        """Runs the scenario for the seconds of the phase."""
        parameters = session.parameters
        seconds = phase_seconds(parameters, phase)
        request = {
            **self._request(session, session.entry),
            "threads": parameters.threads,
            "background": self.background_threads,
            "seconds": seconds,
            "rate_per_s": parameters.rate_per_s,
            # The warm-up draws different rows, or the run would find exactly its own rows warm.
            "seed": session.seed + (phase == "warm-up"),
        }
        output = LoadOutput(phase)

        def read(line: str) -> None:
            second = output.feed(line)
            if second:
                session.on_event(second)

        argv = _argv("load", request)
        code = run_load(session.stack, session.client, argv, seconds, log, read)
        return Outcome(tuple(argv), output.metrics(), _failure(code, output))

    def _request(self, session: Session, entry: EntryPoint) -> dict[str, Any]:
        return {
            "scenario": self.scenario,
            "host": entry.host,
            "port": entry.port,
            "user": entry.user,
            "schema": entry.schema,
            "credentials": "/sandbox/app.cnf",
            "options": self.scenario_options(session),
        }


def _argv(step: str, request: dict[str, Any]) -> list[str]:
    """The command as it can be typed in the client node."""
    folder = folder_of(load_program())
    program = ["env", f"PYTHONPATH={folder}", "python3", "-m", "sandbox.workloads.in_client.main"]
    return [*program, step, json.dumps(request)]


def _failure(code: int, output: LoadOutput) -> str | None:
    """Why the load counts as failed; None when it does not."""
    if output.first_error:
        return output.first_error
    if code == TIMED_OUT:
        return f"the load was terminated: still running {OVERTIME_S} s after its time"
    if code or output.summary is None:
        return f"the load failed with exit code {code}: {output.last_strange or 'no summary'}"
    return None
