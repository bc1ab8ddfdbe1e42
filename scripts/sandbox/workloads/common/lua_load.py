"""A load of our own: the Lua of its folder, run by sysbench in the client node; `engine.lua` counts."""

import time
from abc import abstractmethod
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

from sandbox.results.record import PreparationRecord
from sandbox.stack.protocol import EntryPoint
from sandbox.workloads.common import prepared
from sandbox.workloads.common.execution import OVERTIME_S, TIMED_OUT, run_load
from sandbox.workloads.common.in_client import folder_of, ship
from sandbox.workloads.common.load_output import LoadOutput, parse_line
from sandbox.workloads.common.model import (
    DataNeed,
    OptionValue,
    Outcome,
    Parameters,
    Phase,
    Progress,
    Session,
    Workload,
    WorkloadError,
    phase_seconds,
)
from sandbox.workloads.common.sysbench_command import as_option, sysbench_argv

PREPARE_LIMIT_S = 24 * 3600
"""Limit of a preparation: large data takes hours, a hanging server takes forever."""

PREPARE_THREADS = 8
SCRIPT = "load.lua"
SHARED = ("engine.lua", "mysql.lua")


class LuaLoad(Workload):
    """A workload whose folder has a ``load.lua``: transactions, and the commands that make its data."""

    commands: ClassVar[tuple[str, ...]] = ("create",)
    """Commands of the script that make the data, in order; none for a workload without data."""

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

    def script_options(self, parameters: Parameters) -> Mapping[str, OptionValue]:  # noqa: ARG002  (some need them)
        """Options of the script: ``batch_rows`` becomes ``--batch-rows``."""
        return self.options()

    def scripts(self) -> dict[str, str]:
        """Path → text of what runs in the client node: the Lua of its folder, the engine and the connection."""
        folder = type(self).__module__.rpartition(".")[2]
        own = {
            file.name: file.read_text(encoding="utf-8")
            for file in files(type(self).__module__).iterdir()
            if file.name.endswith(".lua")
        }
        shared = files(__package__)
        texts = {name: shared.joinpath(name).read_text(encoding="utf-8") for name in SHARED}
        return texts | {f"{folder}/{name}": text for name, text in own.items()}

    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:
        """Ships the scripts to the client node; reuses the data of an earlier run where it is valid, or makes it."""
        ship(session.stack, session.client, self.scripts())
        wanted = self.wanted(session.parameters)
        if wanted is None:
            return None
        if not self.consumes_data and prepared.find(session, wanted.prefix) == wanted and self.fit(session):
            session.on_event(Progress("prepare", f"reusing data: {wanted}"))
            return wanted.record(None)
        began = time.monotonic()
        prepared.clear(session, wanted.prefix)
        for command in self.commands:
            self._make_data(session, command, log)
        if not self.consumes_data:
            prepared.mark(session, wanted)
        return wanted.record(round(time.monotonic() - began, 1))

    def fit(self, session: Session) -> bool:  # noqa: ARG002  (some have nothing to ask)
        """Whether existing data can be used again."""
        return True

    def load(self, session: Session, phase: Phase, log: Path) -> Outcome:
        """Runs the transactions for the seconds of the phase."""
        parameters, background = session.parameters, self.background_threads
        seconds = phase_seconds(parameters, phase)
        argv = [
            *self._argv(session, session.entry, parameters.threads + background),
            f"--background-threads={background}",
            f"--time={seconds}",
            "--events=0",
            "--report-interval=1",
            # The warm-up draws different rows, or the run would find exactly its own rows warm.
            f"--seed={session.seed + (phase == 'warm-up')}",
            *([f"--pace-per-s={parameters.rate_per_s}"] if parameters.rate_per_s else []),
            "run",
        ]
        output = LoadOutput(phase)

        def read(line: str) -> None:
            second = output.feed(line)
            if second:
                session.on_event(second)

        code = run_load(session.stack, session.client, argv, seconds, log, read)
        return Outcome(tuple(argv), output.metrics(), _failure(code, output))

    def _make_data(self, session: Session, command: str, log: Path) -> None:
        """Runs a command of the script on the writer. Raises WorkloadError."""
        output = LoadOutput("warm-up")

        def read(line: str) -> None:
            output.feed(line)
            if (parsed := parse_line(line)) and "progress" in parsed:
                session.on_event(Progress("prepare", str(parsed["progress"])))

        argv = [*self._argv(session, session.writer, PREPARE_THREADS), command]
        code = run_load(session.stack, session.client, argv, PREPARE_LIMIT_S, log, read)
        if code or output.first_error:
            reason = output.first_error or output.last_foreign or f"exit code {code}"
            raise WorkloadError(f"data could not be prepared: {reason}")

    def _argv(self, session: Session, entry: EntryPoint, threads: int) -> list[str]:
        """The command as it can be typed in the client node."""
        folder, workload = folder_of(self.scripts()), type(self).__module__.rpartition(".")[2]
        options = self.script_options(session.parameters).items()
        return [
            *("env", f"LUA_PATH={folder}/?.lua;;"),
            *sysbench_argv(f"{folder}/{workload}/{SCRIPT}", entry),
            f"--threads={threads}",
            *(as_option(name, value) for name, value in options),
        ]


def _failure(code: int, output: LoadOutput) -> str | None:
    """Why the load counts as failed; None when it does not."""
    if output.first_error:
        return output.first_error
    if code == TIMED_OUT:
        return f"the load was terminated: still running {OVERTIME_S} s after its time"
    if code or output.summary is None:
        return f"the load failed with exit code {code}: {output.last_foreign or 'no summary'}"
    return None
