"""The interface of a workload, whose fields are its options; its parameters, session, events and
outcome.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sandbox.core.errors import SandboxError, did_you_mean, expected
from sandbox.core.plugin_options import OptionValue
from sandbox.profile.library import Kind
from sandbox.record.record import Absence, CheckRecord, Metrics, PreparationRecord
from sandbox.stack.client_python import QueryResult, Statement, Target, ask
from sandbox.stack.protocol import EntryPoint, RunningStack, StackNode

Phase = Literal["warm-up", "measure"]
DISTRIBUTIONS = ("uniform", "gaussian", "special", "pareto", "zipfian")


class Parameters(BaseModel):
    """Parameters of every workload. ``rate_per_s`` null: unthrottled."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
    threads: int = Field(default=8, ge=1, le=10_000)
    seconds: int = Field(default=30, ge=1)
    warmup_s: int = Field(default=5, ge=0)
    tables: int = Field(default=4, ge=1, le=10_000)
    rows_per_table: int = Field(default=100_000, ge=1)
    distribution: str = "uniform"
    rate_per_s: int | None = Field(default=None, ge=1)

    def seconds_of(self, phase: Phase) -> int:
        """Length of a phase."""
        return self.warmup_s if phase == "warm-up" else self.seconds


_NOT_FOR_ALL = ("tables", "rows_per_table", "distribution", "rate_per_s")
_VARIABLES = {
    "warmup_s": "WARMUP",
    "rows_per_table": "ROWS",
    "distribution": "DIST",
    "rate_per_s": "RATE",
}


def refuse_unused(workload: "Workload", given: Iterable[str], name: str) -> None:
    """Raises SandboxError (exit 2) for a parameter that the workload does not support, by the names
    of `Parameters`.
    """
    for parameter in given:
        if parameter in _NOT_FOR_ALL and parameter not in workload.uses:
            variable = _VARIABLES.get(parameter, parameter.upper())
            options = [
                word for word, field in type(workload).model_fields.items() if field.description
            ]
            known = f"its own options: {', '.join(options)}" if options else "it has no options"
            raise SandboxError(
                f"the workload {name} does not support {variable}",
                known,
                f"try: make bench WORKLOAD={name}",
            )


def refuse_unfit(workload: "Workload", name: str, kinds: Collection[Kind], group: str) -> None:
    """Raises SandboxError (exit 2) for a workload that needs a node which the group does not have.

    ``kinds``: of the group's nodes; ``group``: what it is, for the message.
    """
    if workload.needs is not None and workload.needs not in kinds:
        what = f"the workload {name} needs a {workload.needs}"
        example = f"try: make up PROFILE=mysql+{workload.needs} && make bench WORKLOAD={name}"
        raise SandboxError(what, f"{group} has none", example)


def refuse_as_companion(workload: "Workload", name: str, parameters: Parameters) -> None:
    """Raises SandboxError (exit 2) for a workload that cannot run beside the prober of a trial."""
    known = workload.alone
    if workload.work_s(parameters) is not None:
        known = "it ends with its work; the load of a trial lasts as long as the trial"
    if known:
        what = f"the workload {name} cannot be the load of a trial"
        step = "FAULT=server-crash WORKLOAD=oltp_write_only"
        raise SandboxError(what, known, f"try: make trial {step}")


def make_parameters(**given: object) -> Parameters:
    """Parameters from values as typed. Raises SandboxError (exit 2) naming the variable and its
    valid values.
    """
    try:
        parameters = Parameters.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0])
        variable = _VARIABLES.get(field, field.upper())
        raise SandboxError(
            f"{variable}={first['input']} is not valid", expected(first), "try: make help"
        ) from error
    if parameters.distribution not in DISTRIBUTIONS:
        what = f"DIST={parameters.distribution} is not a valid key distribution"
        raise SandboxError(
            what,
            did_you_mean(parameters.distribution, DISTRIBUTIONS),
            "try: make bench DIST=uniform",
        )
    return parameters


@dataclass(frozen=True, slots=True)
class Progress:
    """A progress message while no load is measured; ``step`` names the step it belongs to."""

    step: str
    text: str


@dataclass(frozen=True, slots=True)
class MemberChange(Progress):
    """A member of a cluster that a load on all members has lost, or that takes its share again."""

    member: str
    is_lost: bool


@dataclass(frozen=True, slots=True)
class Second:
    """One second of load. ``p95_ms`` and rates are of that second; ``errors`` counts since the
    phase started.
    """

    phase: Phase
    second: int
    threads: int
    tps: float
    qps: float
    reads_per_s: float
    writes_per_s: float
    p95_ms: float | None
    """None for a second in which nothing completed."""
    conflicts_per_s: float
    reconnects_per_s: float
    errors: int


Event = Progress | Second


def second_ends(arrivals: Sequence[tuple[float, Second]]) -> list[float]:
    """When each second of one load ended, in s on the clock that their arrivals were read from.

    A line can come late, and several in a bunch, but none comes early: the least delayed one says
    when the load began.
    """
    began_s = min((at_s - second.second for at_s, second in arrivals), default=0.0)
    return [began_s + second.second for _, second in arrivals]


@dataclass(frozen=True)
class Session:
    """The stack and the entry point that a workload works with. ``servers`` are the database
    servers of the entry point's group.
    """

    stack: RunningStack
    client: str
    entry: EntryPoint
    writer: EntryPoint
    servers: Sequence[StackNode]
    parameters: Parameters
    seed: int
    on_event: Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class PreparedData:
    """The data a workload works on: the family of its tables, how many, rows in each (None: they
    differ).

    ``details``: what else distinguishes it. The names of its tables start with ``prefix``; data of
    another prefix can exist next to it.
    """

    tables: str
    table_count: int
    rows_per_table: int | None
    details: str = ""
    prefix: str = "sbtest"
    different_rows: int = 0
    """About how many rows a preparation makes where the tables differ."""

    @property
    def key(self) -> str:
        """Distinguishes it from other data of its prefix."""
        rows = f" of {self.rows_per_table} rows" if self.rows_per_table is not None else ""
        return ", ".join(
            filter(None, [self.tables, f"{self.table_count} tables{rows}", self.details])
        )

    @property
    def rows(self) -> int:
        """About how many rows a preparation makes."""
        return (
            self.table_count * self.rows_per_table
            if self.rows_per_table is not None
            else self.different_rows
        )

    def record(self, seconds: float | None) -> PreparationRecord:
        """The data as the record shows it; ``seconds``: time to make it, None where it was
        reused.
        """
        return PreparationRecord(
            tables=self.table_count,
            rows_per_table=self.rows_per_table,
            details=self.details or None,
            reused=seconds is None,
            seconds=seconds,
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a load ended. ``failure`` is None when it completed without an error.

    ``findings``: verdicts on what the load saw of the servers. One that fails is a result, and no
    failure of the run.
    """

    command: tuple[str, ...]
    metrics: Metrics
    failure: str | None
    findings: tuple[CheckRecord, ...] = ()
    absences: tuple[Absence, ...] = ()
    """Of a load on all members of a cluster: when some of them were away."""


class Workload(BaseModel, ABC):
    """A workload. A workload file defines one subclass; its fields are what a workload profile may
    set.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
    needs: ClassVar[Kind | None] = None
    """A kind of node that the group under load must have; None: any group will do."""
    alone: ClassVar[str | None] = None
    """Why it cannot be the load of a trial, whatever its parameters; None: it can."""

    @property
    def uses(self) -> frozenset[str]:
        """TABLES, ROWS, DIST and RATE as far as it uses them, by the names of `Parameters`."""
        return frozenset()

    def options(self) -> dict[str, OptionValue]:
        """Its option values, as the record shows them."""
        return self.model_dump()

    def with_options(self, given: Mapping[str, OptionValue]) -> "Workload":
        """The workload with some of its options changed. Raises SandboxError (exit 2)."""
        settable = [name for name, field in type(self).model_fields.items() if field.description]
        for name in given:
            if name not in settable:
                known = did_you_mean(name, settable) if settable else "it has no options"
                raise SandboxError(
                    f"OPTIONS: this workload has no option '{name}'", known, "try: make help"
                )
        now = {name: getattr(self, name) for name in type(self).model_fields}
        try:
            return type(self).model_validate({**now, **given})
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            text = f"{name}: {expected(first)} ({type(self).model_fields[name].description})"
            raise SandboxError(
                f"OPTIONS: {name}={first['input']} is not valid", text, "try: make help"
            ) from error

    def data_needed(self, parameters: Parameters) -> PreparedData | None:  # noqa: ARG002  (some need none)
        """Its data; None where it needs none."""
        return None

    def work_s(self, parameters: Parameters) -> float | None:  # noqa: ARG002  (most end by the clock)
        """About how long the measured load takes on a two-core machine if it ends with its work;
        None: by the clock.
        """
        return None

    @property
    def needs_members(self) -> bool:
        """Whether its load makes sense only at every member of a cluster at once
        (``VIA=members``).
        """
        return False

    @property
    def consumes_data(self) -> bool:
        """Whether a phase changes the data permanently, so that the next one needs new data."""
        return False

    @property
    def verdicts_of_ledger(self) -> tuple[str, ...]:
        """Names of the checks that `judge_ledger` gives; none where it keeps no ledger."""
        return ()

    @property
    def leaves(self) -> Mapping[str, str]:
        """Files that its measured load writes beside the log: label in the record → name."""
        return {}

    @abstractmethod
    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:
        """Makes or finds the data before the first phase, or before each if it is consumed; None
        where it needs none.

        Tool output goes to ``log``. Raises WorkloadError.
        """

    @abstractmethod
    def load(self, session: Session, phase: Phase, log: Path) -> Outcome:
        """Loads the entry point for the phase's seconds, reporting each one; raw output goes to
        ``log``.

        On KeyboardInterrupt it ends the load in the client node first.
        """

    def check(self, session: Session) -> Sequence[CheckRecord]:  # noqa: ARG002  (most have nothing to check)
        """Verdicts on the data after the measured load has ended."""
        return ()

    def judge_ledger(self, session: Session) -> Sequence[CheckRecord]:  # noqa: ARG002  (most keep none)
        """Verdicts on what the servers have of the writes that were acknowledged to the load, once
        it has ended.

        One that fails is a result, and no failure of the run. ``session``: with the servers that
        can be asked, and their writer now.
        """
        return ()


class WorkloadError(Exception):
    """A workload failed; the message says what and why, in one line."""


def ask_writer(
    session: Session, *statements: Statement, timeout_s: float = 120.0, in_schema: bool = True
) -> QueryResult:
    """The writer's answer to the application; ``in_schema`` False: the workload's schema may not
    exist yet.
    """
    entry = session.writer
    target = Target(entry.node, entry.host, entry.port, "app", entry.schema if in_schema else None)
    return ask(session.stack, session.client, [target], statements, timeout_s)[target.name]
