"""A load that sysbench runs in the client node: its command, its data, its phases. A subclass names the script."""

import time
from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from sandbox.finder import OptionValue
from sandbox.results.record import PreparationRecord
from sandbox.stack.protocol import EntryPoint
from sandbox.workloads.common import prepared
from sandbox.workloads.common.in_client import run_load
from sandbox.workloads.common.load_output import LoadOutput
from sandbox.workloads.common.members import watched_members
from sandbox.workloads.common.model import Outcome, Phase, Progress, Session, Workload, WorkloadError

PREPARE_LIMIT_S = 24 * 3600
"""Limit of a preparation: large data takes hours, a hanging server takes forever."""


def sysbench_argv(script: str, entry: EntryPoint) -> list[str]:
    """``script``: a name that sysbench knows, or a path in the client node. The password is in its option file.

    Of several hosts, each connection goes to the next one.
    """
    return [
        *("sysbench", "--config-file=/sandbox/sysbench.cnf", script, "--db-driver=mysql"),
        *(f"--mysql-host={','.join(entry.hosts)}", f"--mysql-port={entry.port}"),
        *(f"--mysql-user={entry.user}", f"--mysql-db={entry.schema}"),
    ]


def as_option(name: str, value: OptionValue) -> str:
    """An option as sysbench takes it: ``range_size`` is ``--range-size``, a boolean on or off."""
    text = {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
    return f"--{name.replace('_', '-')}={text}"


class SysbenchLoad(Workload):
    """Its script has a ``run``, and ``commands`` that make its data, in order."""

    commands: ClassVar[tuple[str, ...]]
    output: ClassVar[type[LoadOutput]]
    """What reads the script's output."""

    @abstractmethod
    def prepare_argv(self, session: Session, command: str) -> list[str]:
        """A command that makes data, on the writer."""

    @abstractmethod
    def load_argv(self, session: Session) -> list[str]:
        """The beginning of the command of a load: the script, its options, its threads."""

    @abstractmethod
    def phase_options(self, session: Session, seed: int) -> list[str]:
        """What the command of a load has in addition to its duration; ``seed`` is that of the phase."""

    @abstractmethod
    def progress(self, line: str, seconds: float) -> str | None:
        """The progress that a line of a preparation reports, ``seconds`` after its start; None for any other line."""

    def fit(self, session: Session) -> bool:  # noqa: ARG002  (most have nothing to ask)
        """Whether existing data can be used again."""
        return True

    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:
        """Reuses the data of an earlier run where it is still valid, else makes it."""
        wanted = self.data_needed(session.parameters)
        if wanted is None:
            return None
        if not self.consumes_data and prepared.is_there(session, wanted) and self.fit(session):
            session.on_event(Progress("prepare", f"reusing data: {wanted.key}"))
            return wanted.record(None)
        began = time.monotonic()
        prepared.clear(session, wanted.prefix)
        self.make_data(session, log)
        if not self.consumes_data:
            prepared.mark(session, wanted)
        return wanted.record(round(time.monotonic() - began, 1))

    def make_data(self, session: Session, log: Path) -> None:
        """Runs the commands that make the data. Raises WorkloadError."""
        began = time.monotonic()
        for command in self.commands:
            output = self.output("warm-up")

            def read(line: str, output: LoadOutput = output) -> None:
                output.feed(line)
                if text := self.progress(line, time.monotonic() - began):
                    session.on_event(Progress("prepare", text))

            argv = self.prepare_argv(session, command)
            code = run_load(session.stack, session.client, argv, PREPARE_LIMIT_S, log, read)
            if code or output.first_error:
                reason = output.first_error or output.last_foreign or f"sysbench exit code {code}"
                raise WorkloadError(f"data could not be prepared: {reason}")

    def load(self, session: Session, phase: Phase, log: Path) -> Outcome:
        """Runs the script for the seconds of the phase."""
        seconds = session.parameters.seconds_of(phase)
        return self._run(session, phase, log, seconds, (f"--time={seconds}", "--events=0"))

    def load_events(self, session: Session, events: int, limit_s: int, log: Path) -> Outcome:
        """Runs the script for so many transactions instead; as a failure, where that takes longer than the limit."""
        return self._run(session, "measure", log, limit_s, ("--time=0", f"--events={events}"))

    def _run(self, session: Session, phase: Phase, log: Path, seconds: int, length: tuple[str, ...]) -> Outcome:
        # The warm-up draws different rows, or the run would find exactly its own rows warm.
        seed = session.seed + (phase == "warm-up")
        argv = [
            *self.load_argv(session),
            *(*length, "--report-interval=1"),
            *self.phase_options(session, seed),
            "run",
        ]
        output = self.output(phase)
        with watched_members(session) as members:

            def read(line: str) -> None:
                if members is not None:
                    members.feed(line)
                if second := output.feed(line):
                    session.on_event(second)

            code = run_load(session.stack, session.client, argv, seconds, log, read)
        absences = members.absences if members is not None else ()
        output.goes_on = bool(absences)
        return Outcome(tuple(argv), output.metrics(), output.failure(code), absences=absences)
