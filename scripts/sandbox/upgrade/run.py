"""An upgrade check on a running stack: what is asked, and what its steps find."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from sandbox.load.common.registry import resolve_workload
from sandbox.load.common.workload import Parameters
from sandbox.measure.run import NO_LOAD, Opening, Run, RunPlace, RunRequest, open_run
from sandbox.record.record import Record
from sandbox.record.upgrade import (
    ProbedTransaction,
    ReplicationRecord,
    UpgradeFinding,
    UpgradeRecord,
)
from sandbox.stack.protocol import StackNode
from sandbox.upgrade.log_file import QueryLog
from sandbox.upgrade.option_file import FileOption
from sandbox.upgrade.pt_upgrade import PtReport
from sandbox.upgrade.questions import Answered
from sandbox.upgrade.replay import Replay, replay_of
from sandbox.upgrade.servers import BothServers
from sandbox.upgrade.sides import UpgradeSides

OUR_SCHEMA = "upgrade_check"
"""Where statements run of which the log does not say where, and a dump that names no schema."""
OF_SERVER = ("information_schema", "mysql", "performance_schema", "sys", "percona_schema")


@dataclass(frozen=True)
class GivenFile:
    """A file of the user's: its name, its text, its sha256."""

    name: str
    text: str
    sha256: str


@dataclass(frozen=True)
class UpgradeQuestion:
    """What is asked: two servers, a log, and what was given beside it."""

    sides: UpgradeSides
    log: QueryLog
    log_file: GivenFile
    dump: GivenFile | None = None
    options_file: GivenFile | None = None
    options: tuple[FileOption, ...] = ()


@dataclass(frozen=True)
class UpgradeRequest(RunRequest):
    """The request to check an upgrade."""

    question: UpgradeQuestion | None = None

    @property
    def name(self) -> str:
        return "upgrade-check"

    @property
    def has_load(self) -> bool:
        return False

    @property
    def asked(self) -> UpgradeQuestion:
        """Its question."""
        assert self.question is not None  # noqa: S101  (a request is made with one)
        return self.question


def upgrade_request(question: UpgradeQuestion, command: Sequence[str]) -> UpgradeRequest:
    """The request for a question; its load is pt-upgrade's."""
    old, _, _ = question.sides.nodes
    return UpgradeRequest(
        resolve_workload(NO_LOAD), Parameters(), old, None, tuple(command), question=question
    )


@dataclass
class UpgradeRun(Run[UpgradeRequest]):
    """An upgrade check in progress."""

    began_s: float = 0.0
    replay: Replay = field(default_factory=lambda: Replay((), {}))
    schemas: list[str] = field(default_factory=list)
    """Those that the log and the dump use."""
    report: PtReport = field(default_factory=lambda: PtReport((), {}))
    lost: frozenset[int] = frozenset()
    """Numbers of statements of which pt-upgrade could not print what it found."""
    answered: Answered = field(default_factory=Answered)
    found: list[UpgradeFinding] = field(default_factory=list)
    transactions: list[ProbedTransaction] = field(default_factory=list)
    replication: ReplicationRecord | None = None
    troubles: list[str] = field(default_factory=list)
    judged: UpgradeRecord | None = None

    @property
    def question(self) -> UpgradeQuestion:
        """What is asked."""
        return self.request.asked

    @property
    def servers(self) -> BothServers:
        """The two servers."""
        old, new, _ = self.question.sides.nodes
        return BothServers(self.stack, self.session.client, self._node(old), self._node(new))

    @property
    def replica(self) -> StackNode | None:
        """The replica of the newer version."""
        name = self.question.sides.nodes[2]
        return self._node(name) if name else None

    @property
    def schema(self) -> str:
        """Where statements run of which the log does not say where."""
        named = self.question.log.schemas
        return named[0] if named else OUR_SCHEMA

    def _node(self, name: str) -> StackNode:
        return next(node for node in self.nodes if node.name == name)

    def completed(self, record: Record) -> Record:
        return record.model_copy(update={"upgrade": self.judged})


def open_upgrade(opening: Opening[UpgradeRequest], place: RunPlace) -> UpgradeRun:
    """The check before its first step."""
    run = open_run(UpgradeRun, opening, place)
    run.began_s = time.monotonic()
    run.replay = replay_of(run.question.log.statements)
    return run
