"""A load that sysbench runs in the client node: a script, or the Lua of a workload's own folder."""

import re
import threading
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

from sandbox.core.errors import SandboxError
from sandbox.core.plugin_options import OptionValue
from sandbox.load.common import prepared
from sandbox.load.common.load_output import EngineOutput, LoadOutput, parse_line
from sandbox.load.common.workload import (
    MemberChange,
    Outcome,
    Parameters,
    Phase,
    Progress,
    Session,
    Workload,
    WorkloadError,
)
from sandbox.record.record import Absence, PreparationRecord
from sandbox.stack.client_python import folder_of, run_load, ship
from sandbox.stack.protocol import EntryPoint

RETURNS = "/tmp/sandbox-members"  # noqa: S108  (in a container of one purpose)
"""Folder in the client node: a file for each member that came back, with how often it did
(members.lua).
"""
LOOK_S = 1.0
_LOST = re.compile(r"member (\S+) lost at ([0-9.]+) s: (.+)$")
_BACK = re.compile(r"member (\S+) back at ([0-9.]+) s$")
PREPARE_LIMIT_S = 24 * 3600
"""Limit of a preparation: large data takes hours, a hanging server takes forever."""
PREPARE_THREADS = 8
SCRIPT = "load.lua"
SHARED = ("engine.lua", "mysql.lua")


class Members:
    """Reads what the load says of its members; looks whether one that is away takes writes
    again.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._away: dict[str, Absence] = {}
        self._ended: list[Absence] = []
        self._returns: dict[str, int] = {}
        self._over = threading.Event()
        self._looking: threading.Thread | None = None

    @property
    def absences(self) -> tuple[Absence, ...]:
        """Absences by the time at which they began; one that is away still has no end."""
        return tuple(sorted([*self._ended, *self._away.values()], key=lambda each: each.from_s))

    def feed(self, line: str) -> None:
        """A line of the load; each thread of a member says that it has lost it, the first one
        counts.
        """
        if lost := _LOST.match(line):
            self._lose(lost[1], float(lost[2]), lost[3])
        elif back := _BACK.match(line):
            self._regain(back[1], float(back[2]))

    def close(self) -> None:
        """Looks no more. Harmless when repeated."""
        self._over.set()
        if self._looking is not None:
            self._looking.join()

    def _lose(self, member: str, at_s: float, error: str) -> None:
        if member in self._away:
            return
        self._away[member] = Absence(member=member, from_s=at_s, until_s=None, error=error)
        text = f"{member} is gone since {at_s:.1f} s: {error}; the load goes on at the others"
        self._session.on_event(MemberChange("members", text, member, is_lost=True))
        if self._looking is None:
            self._looking = threading.Thread(target=self._look, name="members", daemon=True)
            self._looking.start()

    def _regain(self, member: str, at_s: float) -> None:
        absence = self._away.pop(member, None)
        if absence is None:
            return
        self._ended.append(absence.model_copy(update={"until_s": at_s}))
        text = f"{member} takes its share again since {at_s:.1f} s"
        self._session.on_event(MemberChange("members", text, member, is_lost=False))

    def _look(self) -> None:
        """Lets the threads of a member know that it is back, once for each time that it was
        away.
        """
        announced: dict[str, Absence] = {}
        while not self._over.wait(LOOK_S):
            waiting = {
                name: each for name, each in self._away.items() if announced.get(name) is not each
            }
            # An engine that does not answer is asked again.
            with suppress(SandboxError, TimeoutError):
                roles = self._session.stack.roles() if waiting else {}
                for name, absence in waiting.items():
                    if roles.get(name) == "writer":
                        self._announce(name)
                        announced[name] = absence

    def _announce(self, member: str) -> None:
        count = self._returns.get(member, 0) + 1
        script = 'mkdir -p "$0" && echo "$2" > "$0/$1.new" && mv "$0/$1.new" "$0/$1"'
        argv = ["sh", "-c", script, RETURNS, member, str(count)]
        self._session.stack.run(self._session.client, argv)
        self._returns[member] = count


@contextmanager
def watched_members(session: Session) -> Iterator[Members | None]:
    """Watches the members while a load on all of them runs; None where the load has one entry
    point.
    """
    if not session.entry.others:
        yield None
        return
    session.stack.run(session.client, ["rm", "-rf", RETURNS])
    members = Members(session)
    try:
        yield members
    finally:
        members.close()


def sysbench_argv(script: str, entry: EntryPoint) -> list[str]:
    """``script``: a name that sysbench knows, or a path in the client node. The password is in its
    option file.

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
    """The reader of the script's output."""

    @abstractmethod
    def prepare_argv(self, session: Session, command: str) -> list[str]:
        """A command that makes data, on the writer."""

    @abstractmethod
    def load_argv(self, session: Session) -> list[str]:
        """The beginning of the command of a load: the script, its options, its threads."""

    @abstractmethod
    def phase_options(self, session: Session, seed: int) -> list[str]:
        """Options that the command of a load has besides its duration; ``seed`` is that of the
        phase.
        """

    @abstractmethod
    def progress(self, line: str, seconds: float) -> str | None:
        """The progress that a line of a preparation reports, ``seconds`` after its start; None for
        any other line.
        """

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
        """Runs the script for so many transactions instead; as a failure, where that takes longer
        than the limit.
        """
        return self._run(session, "measure", log, limit_s, ("--time=0", f"--events={events}"))

    def _run(
        self, session: Session, phase: Phase, log: Path, seconds: int, length: tuple[str, ...]
    ) -> Outcome:
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


class LuaLoad(SysbenchLoad):
    """A workload whose folder has a ``load.lua``: transactions, and the commands that make its
    data.
    """

    commands: ClassVar[tuple[str, ...]] = ("create",)
    output: ClassVar[type[LoadOutput]] = EngineOutput

    @property
    def uses(self) -> frozenset[str]:
        """Each one supports a rate."""
        return frozenset({"rate_per_s"})

    @property
    def background_threads(self) -> int:
        """Additional threads, which accompany the load."""
        return 0

    def script_options(self, parameters: Parameters) -> Mapping[str, OptionValue]:  # noqa: ARG002  (some need them)
        """Options of the script: ``batch_rows`` becomes ``--batch-rows``."""
        return self.options()

    def scripts(self) -> dict[str, str]:
        """Path → text of what runs in the client node: the Lua of its folder, the engine and the
        connection.
        """
        own = [
            file for file in files(type(self).__module__).iterdir() if file.name.endswith(".lua")
        ]
        texts = {
            name: files(__package__).joinpath(name).read_text(encoding="utf-8") for name in SHARED
        }
        return texts | {
            f"{self._folder}/{file.name}": file.read_text(encoding="utf-8") for file in own
        }

    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:
        """Ships the scripts to the client node first."""
        ship(session.stack, session.client, self.scripts())
        return super().prepare(session, log)

    def prepare_argv(self, session: Session, command: str) -> list[str]:
        """A command of its script."""
        return [*self._argv(session, session.writer, PREPARE_THREADS), command]

    def load_argv(self, session: Session) -> list[str]:
        """With the threads that accompany the load."""
        background = self.background_threads
        argv = self._argv(session, session.entry, session.parameters.threads + background)
        return [*argv, f"--background-threads={background}"]

    def phase_options(self, session: Session, seed: int) -> list[str]:
        """The seed, and the rate if there is one."""
        rate = session.parameters.rate_per_s
        return [f"--seed={seed}", *([f"--pace-per-s={rate}"] if rate else [])]

    def progress(self, line: str, seconds: float) -> str | None:  # noqa: ARG002  (the script says what it counts)
        """The progress that the script reports itself."""
        parsed = parse_line(line) or {}
        return str(parsed["progress"]) if "progress" in parsed else None

    @property
    def _folder(self) -> str:
        return type(self).__module__.rpartition(".")[2]

    def _argv(self, session: Session, entry: EntryPoint, threads: int) -> list[str]:
        """The command as it can be typed in the client node."""
        folder = folder_of(self.scripts())
        options = self.script_options(session.parameters).items()
        return [
            *("env", f"LUA_PATH={folder}/?.lua;;"),
            *sysbench_argv(f"{folder}/{self._folder}/{SCRIPT}", entry),
            f"--threads={threads}",
            *(as_option(name, value) for name, value in options),
        ]
